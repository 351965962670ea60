package rate

import (
	"math"
	"time"
)

// AtOnce learns how many calls a provider bears at the same time, of one that refuses more (WeCom's 45033). The zero AtOnce
// knows nothing, and bounds nothing. As a rate is, it is learned from refusals, and tried anew while nothing is refused; it
// reads no clock and holds no lock.
//
// Where refusals come back sooner than answers, what is still under way when one comes is what the provider bears, and a burst
// of far too many teaches the bound at one go. Where they come as late as answers, that is too little: up to where calls were
// refused last, one more is tried each time that all calls of a bound were accepted. Beyond it one more is tried seldom.
//
// Processes that share a provider need not know of each other: who has many calls under way is refused more often than who has
// few, and tries one more after more of them. One that is refused its only call rests before it calls again.
type AtOnce struct {
	most    int       // 0 where nothing was learned
	least   int       // below which the burst that is being refused does not push it
	refused int       // so many calls at once were too many, when that was seen last
	cut     time.Time // when the burst's first refusal came
	full    int       // calls under way when it was used up last, of which that many ends prove something
	good    int       // such ends that were accepted since the last change
	need    int       // of those, before one more is tried
	pause   time.Duration
	rests   time.Time // until when none is called
}

const (
	trialAfter = 200                    // accepted calls at the bound for one more: at most one refusal in 200
	rounds     = 20                     // or so many times the bound
	burst      = 500 * time.Millisecond // in which refusals belong together
	restFirst  = 100 * time.Millisecond // after an only call was refused, then twice that and so on
	restMost   = 2 * time.Second
)

// Most is how many calls may be under way, the largest number where nothing was learned; where none may, when to look again.
func (a *AtOnce) Most(now time.Time) (calls int, next time.Time) {
	switch {
	case a.most == 0:
		return math.MaxInt, time.Time{}
	case now.Before(a.rests):
		return 0, a.rests
	}
	return a.most, time.Time{}
}

// Refused notes that a call that took a time was refused since too many were under way, and how many still are.
func (a *AtOnce) Refused(now time.Time, took time.Duration, underWay int) {
	if a.cut.IsZero() || now.Sub(a.cut) > burst && now.Add(-took).After(a.cut) {
		a.cut, a.least, a.refused = now, max(1, a.most/2), underWay+1
	}
	if bears := max(underWay, a.least); a.most == 0 || bears < a.most {
		a.most = bears
	}
	a.full, a.good, a.need = 0, 0, max(trialAfter, rounds*a.most)
	if underWay == 0 {
		a.pause = min(max(restFirst, 2*a.pause), restMost)
		a.rests = now.Add(a.pause)
	}
}

// Began notes how many calls are under way since one began. A bound that is not used up proves nothing.
func (a *AtOnce) Began(underWay int) {
	if a.most > 0 && underWay >= a.most {
		a.full = underWay
	}
}

// Accepted notes a call that was accepted. The longer nothing is refused at the bound, the sooner one more is tried: a bound that
// was raised is found soon.
func (a *AtOnce) Accepted() {
	a.pause = 0
	if a.full == 0 {
		return
	}
	a.full--
	need := a.need
	if a.most+1 < a.refused {
		need = a.most
	}
	if a.good++; a.good >= need {
		a.most++
		a.good = 0
		if a.most >= a.refused {
			a.need = max(a.need/2, a.most)
		}
	}
}
