package limit

import (
	"math"
	"time"
)

// take grants up to want permits of all bounds, one state a bound, or none where one
// window of one of them has no room, and notes them in all. Each state counts by its
// own reading of the clock: a neighbour that was set back hurries nobody.
func take(now time.Time, bounds []Bound, states []*State, want int) Grant {
	at, room := advance(now, bounds, states)
	g := Grant{N: max(0, min(want, room)), At: timeOf(at[0])}
	if g.N > 0 {
		g.Stamps = make([]Stamp, len(bounds))
		for i, s := range states {
			s.add(at[i], g.N)
			g.Stamps[i] = Stamp{bounds[i].Key, timeOf(at[i])}
		}
	}
	if g.N < want {
		g.hold(bounds, states, at)
	}
	return g
}

// peek tells how many permits are free in all bounds, and where none is, what holds.
func peek(now time.Time, bounds []Bound, states []*State) Grant {
	seen := make([]*State, len(states))
	for i, s := range states {
		seen[i] = s.clone()
	}
	at, room := advance(now, bounds, seen)
	g := Grant{N: max(0, room), At: timeOf(at[0])}
	if g.N == 0 {
		g.hold(bounds, seen, at)
	}
	return g
}

// advance brings each state to the given time. It returns the time that counts for
// each, and how many permits are free in all of them.
func advance(now time.Time, bounds []Bound, states []*State) (at []int64, room int) {
	at, room = make([]int64, len(states)), math.MaxInt
	for i, s := range states {
		at[i] = s.advance(now, bounds[i].Windows)
		room = min(room, s.room(bounds[i].Windows))
	}
	return at, room
}

// hold notes what holds the longest.
func (g *Grant) hold(bounds []Bound, states []*State, at []int64) {
	for i, s := range states {
		if wait, held := s.next(at[i], bounds[i].Windows); wait > g.Wait {
			g.Wait, g.Held, g.Key = wait, held, bounds[i].Key
		}
	}
}

func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }
