package rate_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/rate"
)

// FLEET-5: of a punishment that another process met, each process takes its part: one that sent of late goes slower than it
// did, one that has not begun no faster than the other may, and neither tries more within the hour.
func TestAPunishmentOfAnotherProcessIsHeeded(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	run := func(p *rate.Pace, from, until time.Time) (calls int) {
		for now := from; now.Before(until); {
			n, next := p.Free(now)
			if n == 0 {
				p.Short()
				now = next
				continue
			}
			p.Spend(n)
			for range n {
				p.Saw(now, posthouse.ClassOK, 20*time.Millisecond, 0)
			}
			calls += n
		}
		return calls
	}
	busy := rate.NewPace(begin, rate.Settings{}, 0)
	run(busy, begin, begin.Add(10*time.Second))
	told := begin.Add(10 * time.Second)
	had := busy.Factors(told).Rate
	for name, c := range map[string]struct {
		pace *rate.Pace
		most float64 // calls a second
	}{
		"one that sent":      {busy, had},
		"one that starts":    {rate.NewPace(told, rate.Settings{}, 0), 2.5},
		"and knows its best": {rate.NewPace(told, rate.Settings{}, 100), 2.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			until := told.Add(time.Minute)
			c.pace.Heard(told, until, 2.5)
			if n := run(c.pace, told, until); n > 1 {
				t.Errorf("%d calls within the punishment", n)
			}
			hour := time.Hour
			if n := run(c.pace, until, until.Add(hour)); float64(n) > c.most*hour.Seconds() || n < int(hour.Seconds()) {
				t.Errorf("%d calls in the hour after it, want at most %.1f a second, and more than one", n, c.most)
			}
		})
	}
}

// FLEET-5: a slow account is asked for room once a call, and still climbs by every interval that it waited.
func TestASlowAccountClimbsByTheClock(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := rate.NewPace(begin, rate.Settings{}, 0)
	now := begin
	for now.Before(begin.Add(8 * time.Second)) {
		calls, next := p.Free(now)
		if calls == 0 {
			p.Short()
			now = next
			continue
		}
		p.Spend(calls)
		for range calls {
			p.Saw(now, posthouse.ClassOK, 20*time.Millisecond, 0)
		}
	}
	if f := p.Factors(now); f.Rate < 10 {
		t.Errorf("after 8 s it may make %.1f calls a second, want more than 10", f.Rate)
	}
}
