package life_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

func TestALifeRefusesWhatAnotherPlaceOrANewerProgramHasToDo(t *testing.T) {
	l := life.New()
	if err := l.Refusal(); err != nil {
		t.Errorf("a life that has begun: %v", err)
	}
	away := errors.New("try there")
	l.Elsewhere(func() error { return away })
	if err := l.Refusal(); !errors.Is(err, away) {
		t.Errorf("elsewhere: %v", err)
	}
	l.Outdate()
	if err := l.Refusal(); !errors.Is(err, life.ErrOutdated) {
		t.Errorf("outdated: %v", err)
	}
}

// Looks for what any process may find are shared out among more than a few processes, and none becomes rarer than once in two seconds.
func TestLooksOfManyProcessesAreSharedOut(t *testing.T) {
	l := life.New()
	for _, c := range []struct {
		processes     int
		every, atBest time.Duration
	}{
		{0, 250 * time.Millisecond, 250 * time.Millisecond}, // nobody has counted
		{1, 250 * time.Millisecond, 250 * time.Millisecond},
		{8, 250 * time.Millisecond, 250 * time.Millisecond},
		{16, 250 * time.Millisecond, 500 * time.Millisecond},
		{64, 250 * time.Millisecond, 2 * time.Second},
		{200, 250 * time.Millisecond, 2 * time.Second},
		{math.MaxInt, time.Second, 2 * time.Second},
		{200, 5 * time.Second, 5 * time.Second}, // as it was set
	} {
		l.Share(c.processes)
		for range 100 {
			if got := l.Shared(c.every); got < c.atBest || got > c.atBest*6/5 {
				t.Errorf("of %d processes one that looks every %s looks after %s, want %s and up to a fifth more", c.processes, c.every, got, c.atBest)
			}
		}
	}
}
