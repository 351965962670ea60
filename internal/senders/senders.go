// Package senders finds out how many provider calls a process makes at once.
//
// A sender is a call under way: a goroutine that costs nothing while there is none. [State.Step] is a pure function from what
// was seen in the last moment to how many there may be in the next one. By Little's law the work that is there keeps
//
//	wanted = calls a second × seconds from the claim of a call to its end
//
// senders busy. The queue says what that cannot: where something waited because no sender was free, or a claim found all that
// its senders could send, more are wanted than were there, and their number doubles. It never leaves the bounds.
//
// How many calls one channel or account bears is not decided here: that is max_inflight's, and package rate's.
package senders

import (
	"math"
	"runtime"
	"time"
)

// Interval is how often a state is stepped at most.
const Interval = 100 * time.Millisecond

// The default bounds.
const (
	DefaultMin   = 4
	perProcessor = 4 * 64
)

// DefaultMax is the upper bound by default: 256 for each processor.
func DefaultMax() int { return perProcessor * runtime.GOMAXPROCS(0) }

const (
	headroom = 1.5 // of what Little's law wants: a burst need not wait until it has been seen
	blend    = 0.3 // how much an interval counts against those before
	decline  = 0.8 // what is left of the senders too many after an interval
)

// Settings bound the senders.
type Settings struct{ Min, Max int }

// Seen is what happened since the last step.
type Seen struct {
	Ended int           // calls
	Took  time.Duration // all of them together, with their claims
	Busy  int           // calls under way now
}

// State is how many senders there may be, and of what that follows.
type State struct {
	Senders int
	// Rate is the calls a second, Latency how long one takes; both are moving means.
	Rate    float64
	Latency time.Duration
	at      time.Time
}

// Begin is the state of a process that has sent nothing.
func Begin(now time.Time, c Settings) State { return State{Senders: c.Min, at: now} }

// Short is the state after something waited because no sender was free.
func (s State) Short(c Settings) State {
	s.Senders = min(2*s.Senders, c.Max)
	return s
}

// Step is the state after an interval in which something was seen, and the same before one has passed.
func (s State) Step(now time.Time, seen Seen, c Settings) (next State, stepped bool) {
	d := now.Sub(s.at)
	if d < Interval {
		return s, false
	}
	keep := math.Pow(1-blend, d.Seconds()/Interval.Seconds())
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
	if s.Senders > want { // a lull is not the end
		left := math.Pow(decline, d.Seconds()/Interval.Seconds())
		s.Senders = want + int(float64(s.Senders-want)*left)
	} else {
		s.Senders = want
	}
	return s, true
}

// Wanted is how many senders the work keeps busy, with some to spare.
func (s State) Wanted() int { return int(math.Ceil(s.Rate * s.Latency.Seconds() * headroom)) }
