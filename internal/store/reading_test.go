package store

import (
	"testing"
	"time"
)

func TestReadingOfTheDatabasesClock(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	for _, c := range []struct {
		name        string
		under, then time.Duration // the way there and back, and the time since
		want        int64         // microseconds, 0 for none
	}{
		{"goes on by our own clock", time.Millisecond, 30 * time.Millisecond, 1_030_000},
		{"holds for a moment only", time.Millisecond, readingHolds, 0},
		{"is not kept when it was long under way", readingHolds, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r reading
			answered := asked.Add(c.under)
			r.read(1_000_000, asked, answered)
			if got := r.now(answered.Add(c.then)); got != c.want {
				t.Errorf("the clock shows %d, want %d", got, c.want)
			}
		})
	}
}

func TestReadingIsNoneAtFirst(t *testing.T) {
	t.Parallel()
	var r reading
	if got := r.now(time.Now()); got != 0 {
		t.Errorf("the clock shows %d before it was read, want 0", got)
	}
}
