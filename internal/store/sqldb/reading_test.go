package sqldb

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

// What comes later is not dated before: readings are behind by their way here, each by another.
func TestReadingsNeverGoBackButWithTheClock(t *testing.T) {
	t.Parallel()
	start := time.Now()
	after := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var r reading
	r.read(1_000_000, start, start)
	if got := r.now(after(89)); got != 1_089_000 {
		t.Fatalf("the first reading gives %d, want 1089000", got)
	}
	r.read(1_010_000, after(10), after(90)) // 80 ms under way
	for _, c := range []struct{ ms, want int }{{134, 1_089_000}, {180, 1_100_000}} {
		if got := r.now(after(c.ms)); got != int64(c.want) {
			t.Errorf("the second gives %d after %d ms, want %d", got, c.ms, c.want)
		}
	}
	r.read(995_000, after(-5), after(181)) // the answer was here, and we stood still
	r.read(1_091_000, after(91), after(182))
	if got := r.now(after(183)); got != 1_100_000 {
		t.Errorf("after two slow readings it shows %d, want 1100000", got)
	}
	r.read(900_000, after(185), after(185)) // somebody has set it
	if got := r.now(after(186)); got != 901_000 {
		t.Errorf("the clock that was set back shows %d, want 901000", got)
	}
	r.read(2_000_000, after(187), after(400)) // too long under way to be kept, and yet it was two seconds then
	r.read(1_990_000, after(390), after(401))
	if got := r.now(after(402)); got != 2_000_000 {
		t.Errorf("after a reading of 2000000 it shows %d", got)
	}
}

func TestReadingIsNoneAtFirst(t *testing.T) {
	t.Parallel()
	var r reading
	if got := r.now(time.Now()); got != 0 {
		t.Errorf("the clock shows %d before it was read, want 0", got)
	}
}
