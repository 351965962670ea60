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

// run has an account call as often as it may, with all answered well.
func run(p *rate.Pace, from, until time.Time) (calls int) {
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

// What the database tells of a punishment that is known, each time with another end by some milliseconds, is no other one.
func TestAPunishmentIsHeardOfOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := rate.NewPace(now, rate.Settings{}, 40)
	run(p, now, now.Add(5*time.Second))
	now = now.Add(5 * time.Second)
	p.Saw(now, posthouse.ClassRate, 80*time.Millisecond, 10*time.Second)
	until, learned := now.Add(10*time.Second), p.Punished(now)
	if learned <= 0 { // of one refusal among hundreds of calls
		t.Fatalf("it learns nothing from the punishment: %+v", p.Factors(now))
	}
	for i := range 20 { // each is the latest so far
		now = now.Add(time.Second)
		run(p, now, now.Add(time.Second))
		p.Heard(now, until.Add(time.Duration(i)*3*time.Millisecond), learned)
	}
	if got := p.Punished(now); got != learned {
		t.Errorf("it goes %.2f a second after one punishment and its echoes, want %.2f", got, learned)
	}
	p.Heard(now, now.Add(10*time.Second), learned) // another process is punished once more
	if got := p.Punished(now); got >= learned {
		t.Errorf("it goes %.2f a second after the next punishment, want less than %.2f", got, learned)
	}
}
