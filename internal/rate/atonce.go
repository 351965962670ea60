package rate

import (
	"math"
	"time"
)

// AtOnce learns how many calls a provider bears at the same time, of one that refuses more (WeCom's 45033). The zero AtOnce
// knows nothing, and bounds nothing. As a rate is, it is learned from refusals, and tried anew while nothing is refused; it
// reads no clock and holds no lock.
//
// A refusal comes back sooner than what was accepted beside it. So what is still under way when it comes is what the
// provider bears, and a burst of far too many teaches the bound at one go.
type AtOnce struct {
	most  int       // 0 where nothing was learned
	least int       // below which the burst that is being refused does not push it
	cut   time.Time // when the burst's first refusal came
	full  int       // calls under way when it was used up last, of which that many ends prove something
	good  int       // such ends that were accepted since the last change
	need  int       // of those, before one more is tried
}

const (
	trialAfter = 200                    // accepted calls at the bound for one more: at most one refusal in 200
	burst      = 500 * time.Millisecond // in which refusals belong together
)

// Most is how many calls may be under way, the largest number where nothing was learned.
func (a *AtOnce) Most() int {
	if a.most == 0 {
		return math.MaxInt
	}
	return a.most
}

// Learned is how many calls may be under way, 0 where nothing was learned.
func (a *AtOnce) Learned() int { return a.most }

// Refused notes that a call was refused since too many were under way, and how many still are.
func (a *AtOnce) Refused(now time.Time, underWay int) {
	if a.cut.IsZero() || now.Sub(a.cut) > burst {
		a.cut, a.least = now, max(1, a.most/2)
	}
	a.full, a.good, a.need = 0, 0, trialAfter
	if now := max(underWay, a.least); a.most == 0 || now < a.most {
		a.most = now
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
	if a.full == 0 {
		return
	}
	a.full--
	if a.good++; a.good >= a.need {
		a.most, a.good, a.need = a.most+1, 0, max(a.need/2, a.most)
	}
}
