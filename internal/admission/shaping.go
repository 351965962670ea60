package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// shaping has the tokens of a channel's priorities: what finds none stays in its lane, which is passed over until there will be some.
type shaping struct {
	c      *Channel
	shaper *Shaper // nil where nothing is shaped
	shut   map[posthouse.Priority]time.Time
}

func (s *shaping) scope() scope { return ofLane }

func (s *shaping) key(p posthouse.Priority) ShapeKey { return ShapeKey{s.c.Key.Tenant, p} }

// Free is Stage's.
func (s *shaping) Free(now time.Time, of Of) (Room, time.Time) {
	if until := s.shut[of.Lane.Priority]; s.shaper != nil && now.Before(until) {
		return Room{}, until
	}
	return everything, time.Time{}
}

// TakeUpTo is shared's: it closes a priority that has no tokens. A call that takes a batch of them is not cut.
func (s *shaping) TakeUpTo(now time.Time, of Of, n Room) Room {
	if s.shaper == nil {
		return n
	}
	p := of.Lane.Priority
	free, next := s.shaper.Take(now, s.key(p), s.c.Key.Channel, n.N, s.c.Settings.Batch)
	if free > 0 {
		delete(s.shut, p)
		return Room{free, n.Calls}
	}
	if _, waits := s.shut[p]; !waits {
		s.c.of.Shaped(p)
	}
	if s.shut == nil {
		s.shut = map[posthouse.Priority]time.Time{}
	}
	s.shut[p] = now.Add(min(next.Sub(now), lookAgain)) // what others took in advance may be back before
	return Room{}
}

// Take is Stage's.
func (s *shaping) Take(of Of, n Room) { s.shaper.spend(s.key(of.Lane.Priority), n.N) }

// Begin is Stage's.
func (s *shaping) Begin(time.Time, Of, Room, time.Duration) {}

// Return is Stage's.
func (s *shaping) Return(of Of, n Room) { s.shaper.Return(s.key(of.Lane.Priority), n.N) }

// End is Stage's: tokens of what was sent are spent, those of what was not come back.
func (s *shaping) End(_ time.Time, of Of, e Ended) {
	s.shaper.Return(s.key(of.Lane.Priority), e.Unsent)
}

// mostAhead bounds what is counted for one explanation.
const mostAhead = 100_000

// Why is Stage's: until those before it in its lane have had their tokens. What its tenant has of that priority on other channels
// makes it longer.
func (s *shaping) Why(now time.Time, q *Question) []Wait {
	key := s.key(q.Delivery.Priority)
	if !s.shaper.Shapes(key) || !q.Due {
		return nil
	}
	n := q.Ahead(mostAhead)
	delay, of := s.shaper.Delay(now, key, n)
	if delay == 0 {
		return nil
	}
	before := fmt.Sprint(n)
	if n >= mostAhead {
		before += " or more"
	}
	return []Wait{{"shape", fmt.Sprintf("%.6g a second of priority %s may begin, and %s that are due stand before it", of.Rate, key.Priority, before), now.Add(delay)}}
}
