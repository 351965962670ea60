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

const (
	// mostRest is after how many claims at the latest a lane is asked for more again: what such claims bring in vain is then less than two in
	// a hundred.
	mostRest = 256
	// deep is how many messages a call are asked for at times: of several texts that take turns, two of one are seen only among many.
	// A lane of which claims show already that neighbours share nothing is asked so after firstRest claims, one of single messages after
	// shallow claims for two.
	deep, firstRest, shallow = 4, 16, 2
	// mostVain is how many messages may go back for each that finds a call, where calls are filled by that.
	mostVain = 3
)

// messages is how many a claim of so many calls brings.
func (s *sharing) messages(calls int) int {
	if s == nil {
		return calls
	}
	return int(math.Ceil(float64(calls) * s.factor))
}

// idle reports whether there is nothing to remember.
func (s *sharing) idle() bool { return s.factor == 1 && s.failed == 0 && s.rest == 0 }

// saw learns from a claim of so many calls: what it brought, and whether there may be more.
func (s *sharing) saw(b Brought, calls int, more bool) {
	mean := float64(b.Messages) / float64(b.Calls)
	switch {
	case b.Calls > calls && (b.Carried < 2*calls || b.Messages-b.Carried > mostVain*b.Carried):
		s.failed++
		s.factor, s.rest = mean, 1<<min(s.failed, 16)
		if b.Accounts < calls {
			s.rest *= firstRest
		}
		s.rest = min(s.rest, mostRest)
	case b.Calls > calls: // several texts take turns, and calls are filled by what is claimed beyond them
		s.failed, s.rest = 0, 0
		s.factor = float64(b.Messages) / float64(calls)
		if b.Carried < b.Most*calls {
			s.factor *= 1.5
		} else { // fewer fill them too
			s.factor *= 0.9
		}
	case !more: // the lane is empty, and what comes next may be something else
		s.factor = max(1, min(s.factor/2, mean))
	case s.rest > 1 && mean < 2:
		s.rest--
	case mean > 1:
		s.failed, s.rest = 0, 0
		s.factor = max(1, 2*mean)
	case b.Messages <= b.Accounts: // single messages say nothing of whether they could share
		s.rest, s.factor = 0, 2
		if s.failed%16 == shallow {
			s.factor = deep
		}
	case s.rest == 0: // they share nothing with their neighbours, and perhaps with those behind them
		s.rest, s.factor = firstRest, 1
	default:
		s.rest, s.factor = 0, deep
	}
	s.factor = min(s.factor, max(1, float64(b.Most)*float64(max(b.Calls, calls))/float64(calls)))
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
