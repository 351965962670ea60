package state

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// Where a priority finds no room at many of its turns, as low does beside what is kept free of it, it has its share all the same.
func TestAPriorityThatWaitsForRoomSavesItsShare(t *testing.T) {
	c, got := Credits{}, map[posthouse.Priority]int{}
	all := func(posthouse.Priority) bool { return true }
	for turn := range 10_000 {
		open := func(p posthouse.Priority) bool { return p != posthouse.Low || turn%3 == 0 }
		got[c.Next(all, open)]++
	}
	for p, want := range map[posthouse.Priority]int{posthouse.High: 6000, posthouse.Normal: 3000, posthouse.Low: 1000} {
		if n := got[p]; n < want-10 || n > want+10 {
			t.Errorf("%s had %d of 10,000 turns, want %d", p, n, want)
		}
	}
}

// What a priority saves while it has no room is bounded: the others do not wait for long once there is.
func TestWhatAPrioritySavesIsBounded(t *testing.T) {
	c := Credits{}
	all := func(posthouse.Priority) bool { return true }
	for range 10_000 {
		c.Next(all, func(p posthouse.Priority) bool { return p != posthouse.Low })
	}
	turns := 0
	for c.Next(all, all) == posthouse.Low {
		turns++
	}
	if turns > 2 {
		t.Errorf("low had %d turns one after the other, want at most 2", turns)
	}
}
