package admission

import (
	"fmt"
	"slices"
	"strings"
)

// State is what a channel holds in memory of what is reserved and under way: a plain value that can be copied, compared by its text, and put
// into another Channel of the same settings. Marks, gates and rates are no part of it: what they lose is found out again.
type State struct {
	Held, UnderWay int
	ByAccount      []int    // under way, by place
	Used           [][]Room // by stage that counts, in the order of the list
}

// rememberer is a stage that counts.
type rememberer interface {
	remembers() []Room
	remember([]Room)
}

func (c *counter) remembers() []Room    { return slices.Clone(c.used) }
func (c *counter) remember(used []Room) { copy(c.used, used) }

func (s *atOnce) remembers() []Room {
	list := slices.Clone(s.used)
	for _, n := range s.began {
		list = append(list, Room{0, n})
	}
	return list
}

func (s *atOnce) remember(used []Room) {
	n := copy(s.used, used)
	for i := range s.began {
		s.began[i] = used[n+i].Calls
	}
}

// everybody are the accounts by their places.
func (c *Channel) everybody() []*Account {
	list := make([]*Account, c.places())
	list[0] = c.only
	for _, a := range c.accounts {
		list[a.place] = a
	}
	return list
}

// State is what the channel holds now.
func (c *Channel) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Held: c.held, UnderWay: c.underWay}
	for _, a := range c.everybody() {
		s.ByAccount = append(s.ByAccount, a.underWay)
	}
	for _, stage := range c.list {
		if stage, counts := stage.(rememberer); counts {
			s.Used = append(s.Used, stage.remembers())
		}
	}
	return s
}

// Restore gives a channel that has begun nothing the state of another moment, in which nothing was reserved that had not begun.
func (c *Channel) Restore(s State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.underWay = s.Held, s.UnderWay
	if s.Used == nil {
		return // the zero State is of a channel that has begun nothing
	}
	for i, a := range c.everybody() {
		a.underWay = s.ByAccount[i]
	}
	i := 0
	for _, stage := range c.list {
		if stage, counts := stage.(rememberer); counts {
			stage.remember(s.Used[i])
			i++
		}
	}
}

// Resume is the seat of a call that is under way in a state that was restored.
func (c *Channel) Resume(l Lane, account string, n int) *Seat {
	return &Seat{c: c, of: Of{c.account(account), l}, n: n}
}

// Text tells states apart; it is empty where nothing is reserved or under way.
func (s State) Text() string {
	var b strings.Builder
	if s.Held != 0 || s.UnderWay != 0 {
		fmt.Fprintf(&b, "%d %d", s.Held, s.UnderWay)
	}
	for i, n := range s.ByAccount {
		if n != 0 {
			fmt.Fprintf(&b, " account %d: %d", i, n)
		}
	}
	for i, used := range s.Used {
		for place, u := range used {
			if u != (Room{}) {
				fmt.Fprintf(&b, " stage %d of %d: %v", i, place, u)
			}
		}
	}
	return b.String()
}
