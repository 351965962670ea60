package admission

import (
	"math"
	"runtime"
	"time"
)

// sendersStep is how often a state is stepped at most.
const sendersStep = 100 * time.Millisecond

// The default bounds.
const (
	DefaultMinSenders = 4
	perProcessor      = 4 * 64
)

// DefaultMaxSenders is the upper bound by default: 256 for each processor.
func DefaultMaxSenders() int { return perProcessor * runtime.GOMAXPROCS(0) }

const (
	spare   = 1.5 // of what Little's law wants: a burst need not wait until it has been seen
	blend   = 0.3 // how much an interval counts against those before
	decline = 0.8 // what is left of the senders too many after an interval
)

// Senders bound how many provider calls a process makes at once. A sender is a call under way: a goroutine that costs nothing while
// there is none. Their number is a pure function from what was seen in the last moment to how many there may be in the next one. By
// Little's law the work that is there keeps
//
//	wanted = calls a second × seconds from the claim of a call to its end
//
// senders busy. The queue says what that cannot: where something waited because no sender was free, or a claim found all that
// its senders could send, more are wanted than were there, and their number doubles. It never leaves the bounds.
type Senders struct{ Min, Max int }

// seenCalls is what happened since the last step.
type seenCalls struct {
	Ended int           // calls
	Took  time.Duration // all of them together, with their claims
	Busy  int           // calls under way now
}

// sendersState is how many senders there may be, and of what that follows.
type sendersState struct {
	Number int
	// Rate is the calls a second, Latency how long one takes; both are moving means.
	Rate    float64
	Latency time.Duration
	at      time.Time
}

// noSenders is the state of a process that has sent nothing.
func noSenders(now time.Time, c Senders) sendersState { return sendersState{Number: c.Min, at: now} }

// Short is the state after something waited because no sender was free.
func (s sendersState) Short(c Senders) sendersState {
	s.Number = min(2*s.Number, c.Max)
	return s
}

// Step is the state after an interval in which something was seen, and the same before one has passed.
func (s sendersState) Step(now time.Time, seen seenCalls, c Senders) (next sendersState, stepped bool) {
	d := now.Sub(s.at)
	if d < sendersStep {
		return s, false
	}
	keep := math.Pow(1-blend, d.Seconds()/sendersStep.Seconds())
	s.Rate = s.Rate*keep + float64(seen.Ended)/d.Seconds()*(1-keep)
	if seen.Ended > 0 {
		mean := float64(seen.Took) / float64(seen.Ended)
		if s.Latency == 0 {
			keep = 0
		}
		s.Latency = time.Duration(float64(s.Latency)*keep + mean*(1-keep))
	}
	s.at = now
	want := min(max(s.Wanted(), seen.Busy, c.Min), c.Max)
	if s.Number > want { // a lull is not the end
		left := math.Pow(decline, d.Seconds()/sendersStep.Seconds())
		s.Number = want + int(float64(s.Number-want)*left)
	} else {
		s.Number = want
	}
	return s, true
}

// Wanted is how many senders the work keeps busy, with some to spare.
func (s sendersState) Wanted() int { return int(math.Ceil(s.Rate * s.Latency.Seconds() * spare)) }
