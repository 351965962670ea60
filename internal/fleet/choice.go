package fleet

import (
	"cmp"
	"container/heap"
	"time"
)

// Seat is an account that choices are made among.
type Seat struct {
	Name   string
	Pools  []string
	Weight int     // its share, 0 for 1
	Had    float64 // how much it was given, by its weight
	Full   bool    // a choice has found no free slot of it
}

// NewChoice is a choice among accounts.
func NewChoice(seats []*Seat) *Choice {
	c := &Choice{full: map[*Seat]bool{}}
	for _, s := range seats {
		c.open = append(c.open, standing{s, s.Had})
	}
	heap.Init(&c.open)
	return c
}

// Free lets an account be chosen again that had no free slot.
func (c *Choice) Free(s *Seat) {
	if c.full[s] {
		delete(c.full, s)
		c.Admit(s)
	}
}

// Choice are accounts that share what is due: those that may send, by what they have had of their share, and those that may
// not yet, and those without a free slot.
type Choice struct {
	open byShare
	shut Timed[*Seat]
	full map[*Seat]bool
	low  float64 // what the one had that was chosen last: who comes back has had no less
}

type standing struct {
	seat *Seat
	had  float64 // when it was put there
}

// Admit lets an account be chosen.
func (c *Choice) Admit(a *Seat) {
	a.Had = max(a.Had, c.low)
	heap.Push(&c.open, standing{a, a.Had})
}

// Pick is the account that has had the least of its share among those that can send, and how many it may be given. Where
// none can, until is when the first may, zero where that is not known.
func (c *Choice) Pick(now time.Time, may func(*Seat) (n int, until time.Time)) (a *Seat, n int, until time.Time) {
	for len(c.shut) > 0 && !now.Before(c.shut[0].Until) {
		c.Admit(heap.Pop(&c.shut).(At[*Seat]).What)
	}
	for len(c.open) > 0 {
		top := c.open[0]
		if top.had < top.seat.Had { // it was given something by another choice
			c.open[0].had = top.seat.Had
			heap.Fix(&c.open, 0)
			continue
		}
		n, until := may(top.seat)
		if n > 0 {
			c.low = top.had
			return top.seat, n, time.Time{}
		}
		heap.Pop(&c.open)
		if until.IsZero() {
			top.seat.Full, c.full[top.seat] = true, true
		} else {
			heap.Push(&c.shut, At[*Seat]{top.seat, until})
		}
	}
	if len(c.shut) > 0 {
		until = c.shut[0].Until
	}
	return nil, 0, until
}

type byShare []standing

func (s byShare) Len() int { return len(s) }
func (s byShare) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].had, s[j].had), cmp.Compare(s[i].seat.Name, s[j].seat.Name)) < 0
}
func (s byShare) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push is heap.Interface's.
func (s *byShare) Push(x any) { *s = append(*s, x.(standing)) }

// Pop is heap.Interface's.
func (s *byShare) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// At is something that has to wait until a time.
type At[T any] struct {
	What  T
	Until time.Time
}

// Timed is what has to wait, as a heap: what is over first is on top.
type Timed[T any] []At[T]

func (t Timed[T]) Len() int           { return len(t) }
func (t Timed[T]) Less(i, j int) bool { return t[i].Until.Before(t[j].Until) }
func (t Timed[T]) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push is heap.Interface's.
func (t *Timed[T]) Push(x any) { *t = append(*t, x.(At[T])) }

// Pop is heap.Interface's.
func (t *Timed[T]) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
