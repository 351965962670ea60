package admission

import (
	"cmp"
	"container/heap"
	"time"
)

// newChoice is a choice among accounts.
func newChoice(accounts []*Account) *choice {
	c := &choice{full: map[*Account]bool{}}
	for _, s := range accounts {
		c.open = append(c.open, standing{s, s.had})
	}
	heap.Init(&c.open)
	return c
}

// free lets an account be chosen again that had no free slot.
func (c *choice) free(s *Account) {
	if c.full[s] {
		delete(c.full, s)
		c.admit(s)
	}
}

// choice are accounts that share what is due: those that may send, by what they have had of their share, and those that may
// not yet, and those without a free slot.
type choice struct {
	open byShare
	shut timed[*Account]
	full map[*Account]bool
	low  float64 // what the one had that was chosen last: who comes back has had no less
}

type standing struct {
	account *Account
	had     float64 // when it was put there
}

// admit lets an account be chosen.
func (c *choice) admit(a *Account) {
	a.had = max(a.had, c.low)
	heap.Push(&c.open, standing{a, a.had})
}

// pick is the account that has had the least of its share among those that can send, and how many it may be given. Where
// none can, until is when the first may, zero where that is not known.
func (c *choice) pick(now time.Time, may func(*Account) (room Room, bound Stage, until time.Time)) (a *Account, room Room, bound Stage, until time.Time) {
	for len(c.shut) > 0 && !now.Before(c.shut[0].Until) {
		c.admit(heap.Pop(&c.shut).(at[*Account]).What)
	}
	for len(c.open) > 0 {
		top := c.open[0]
		if top.had < top.account.had { // it was given something by another choice
			c.open[0].had = top.account.had
			heap.Fix(&c.open, 0)
			continue
		}
		room, bound, until := may(top.account)
		if !room.none() {
			c.low = top.had
			return top.account, room, bound, time.Time{}
		}
		heap.Pop(&c.open)
		if until.IsZero() {
			top.account.full, c.full[top.account] = true, true
		} else {
			heap.Push(&c.shut, at[*Account]{top.account, until})
		}
	}
	if len(c.shut) > 0 {
		until = c.shut[0].Until
	}
	return nil, Room{}, nil, until
}

type byShare []standing

func (s byShare) Len() int { return len(s) }
func (s byShare) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].had, s[j].had), cmp.Compare(s[i].account.Name, s[j].account.Name)) < 0
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
type at[T any] struct {
	What  T
	Until time.Time
}

// timed is what has to wait, as a heap: what is over first is on top.
type timed[T any] []at[T]

func (t timed[T]) Len() int           { return len(t) }
func (t timed[T]) Less(i, j int) bool { return t[i].Until.Before(t[j].Until) }
func (t timed[T]) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push is heap.Interface's.
func (t *timed[T]) Push(x any) { *t = append(*t, x.(at[T])) }

// Pop is heap.Interface's.
func (t *timed[T]) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}
