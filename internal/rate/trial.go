package rate

import (
	"math"
	"time"
)

// trial is how an account at its learned limit finds out whether more is allowed by now. It waits, then grows slowly, and
// the longer nothing is refused the faster: a limit that stands is passed by very little, and one that was raised fourfold is
// found within half a minute.
//
// Each trial costs a refusal or two. They are paid from a credit that accepted calls earn, so that trials alone never make
// more than thrift of the calls refused, and an account with few calls is tried less often.
type trial struct {
	at     time.Duration // how long the account has been at its limit with more waiting, the time for credit left out
	waited time.Duration // for credit
	from   float64       // the limit at which it began
	credit float64       // refusals that trials may cost
	failed int           // trials in a row that found no more
	wait   time.Duration // that the last refusal named, 0 for none
}

const (
	quiet   = 3 * time.Second // at the limit before more is tried, or longer where a refusal costs a wait
	waits   = 16              // times as long as that wait
	slowest = time.Minute     // at most
	first   = 0.0006          // growth in the first interval of a trial
	doubles = 2 * time.Second // in which that growth doubles

	thrift   = 0.006            // credit for each accepted call
	credits  = 4                // the most of it, and what there is at first
	debt     = 2                // the least of it
	patience = 10 * time.Second // the longest wait for credit, but earned calls of a slow account, and twice as long after each trial that found no more
	earned   = 150.0
	more     = 1.2             // of the limit at which a trial began: it has found more
	settled  = 5 * time.Second // since the last cut, before a refusal is one that a trial met
)

// pay notes what was earned and what it cost.
func (t *trial) pay(seen Seen) {
	if seen.Refused > 0 {
		t.wait = seen.Wait
	}
	t.credit = max(-debt, min(credits, t.credit+thrift*float64(seen.OK)-float64(seen.Refused+seen.Late)))
}

// goesOn counts an interval at the limit, and reports whether more is tried in it.
func (t *trial) goesOn(limit, rate float64, fallen bool) bool {
	switch {
	case t.at < t.quiet():
		t.at, t.from = t.at+Interval, limit
		return false
	case t.at == t.quiet() && t.credit < 0 && t.waited < t.patience(rate, fallen):
		t.waited += Interval
		return false
	}
	t.at += Interval
	return true
}

// running reports whether more is tried.
func (t *trial) running() bool { return t.at > t.quiet() }

// quiet is how long the account stays at its limit before more is tried. A refusal that names a wait costs all calls of that time, so
// that it is met less often.
func (t *trial) quiet() time.Duration {
	return max(quiet, min(waits*t.wait, slowest)).Truncate(Interval)
}

// patience is the longest wait for credit. An account that a spell of refusals has left at a fraction of what it had makes so few calls that it
// would earn none for minutes: it tries soon, and again later each time that it was for nothing.
func (t *trial) patience(rate float64, fallen bool) time.Duration {
	wait := max(patience, time.Duration(earned/rate*float64(time.Second)))
	if fallen {
		return min(wait, patience<<min(t.failed, 10))
	}
	return wait
}

// end begins anew, at the limit that was learned.
func (t *trial) end(limit float64, fallen bool) {
	switch {
	case !fallen || limit >= more*t.from:
		t.failed = 0
	case t.running():
		t.failed++
	}
	t.at, t.waited = 0, 0
}

// growth is that of an interval.
func (t *trial) growth() float64 {
	return min(first*math.Exp2(float64(t.at-t.quiet())/float64(doubles)), climb-1)
}
