package admission

import (
	"cmp"
	"math"
)

// Where a driver sends messages that say the same in one call, a claim brings more messages than it has calls: what shares a call is
// known only when it was read. How many more is learned of each lane from what its claims brought. Messages that found no call go back
// to the queue, so a lane that shares nothing is asked for more than its calls very rarely.

// sharing is what the last claims of a lane say of how many of its messages share a call.
type sharing struct {
	factor float64 // messages a call, at least 1
	failed int     // times in a row that asking for more brought more than the calls could carry
	rest   int     // claims until more is asked for again
}

// mostRest is after how many claims at the latest a lane is asked for more again: what one such claim brings in vain is then less than
// two in a hundred.
const mostRest = 64

// messages is how many a claim of so many calls brings.
func (s *sharing) messages(calls int) int {
	if s == nil {
		return calls
	}
	return int(math.Ceil(float64(calls) * s.factor))
}

// idle reports whether there is nothing to remember.
func (s *sharing) idle() bool { return s.factor == 1 && s.failed == 0 }

// saw learns from a claim of so many calls: what it brought, and whether there may be more.
func (s *sharing) saw(b Brought, calls int, more bool) {
	mean := float64(b.Messages) / float64(b.Calls)
	switch {
	case b.Calls > calls:
		s.failed++
		s.factor, s.rest = mean, min(1<<min(s.failed, 30), mostRest)
	case !more: // the lane is empty, and what comes next may be something else
		s.factor = max(1, min(s.factor/2, mean))
	case s.rest > 1:
		s.rest--
	default:
		if s.rest == 0 {
			s.failed = 0
		}
		s.rest = 0
		s.grow(b, mean)
	}
}

// grow asks for twice as many messages a call as there were: of single messages too, which say nothing of whether they could share.
func (s *sharing) grow(b Brought, mean float64) {
	switch {
	case mean > 1, b.Messages <= b.Accounts:
		s.factor = max(1, min(2*mean, float64(b.Most)))
	default:
		s.factor = 1
	}
}

// learn has a lane's sharing learn from what a claim was given. The channel is locked.
func (c *Channel) learn(l Lane, asked []Portion, given []Given, more bool) {
	var all Brought
	calls := 0
	for i := range given {
		all = all.and(given[i].Brought)
		calls += cmp.Or(asked[i].Calls, asked[i].Max)
	}
	if all.Calls == 0 { // nothing may share
		return
	}
	s := c.sharing[l]
	if s == nil {
		s = &sharing{factor: 1}
	}
	if s.saw(all, calls, more); s.idle() {
		delete(c.sharing, l)
	} else {
		c.sharing[l] = s
	}
}
