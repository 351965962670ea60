package rate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/rate"
)

// provider is one with a hidden limit: so many calls in any span of a length.
type provider struct {
	limit  int
	per    time.Duration
	lock   time.Duration // the punishment for one call too many, 0 for a refusal alone
	drift  func(at time.Duration) float64
	ill    func(at time.Duration) bool          // answers 5xx
	delay  func(at time.Duration) time.Duration // beyond 20 ms
	lies   float64                              // share of refusals without a reason
	dice   *rand.Rand
	taken  []time.Duration // when calls were accepted, of the last span
	locked time.Duration

	punished []time.Duration
}

func (p *provider) allowed(at time.Duration) float64 {
	limit := float64(p.limit)
	if p.drift != nil {
		limit *= p.drift(at)
	}
	return limit
}

// call is a call at a time: whether it was accepted, refused (with a wait) or failed.
func (p *provider) call(at time.Duration, seen *rate.Seen) {
	seen.Called++
	for len(p.taken) > 0 && at-p.taken[0] >= p.per {
		p.taken = p.taken[1:]
	}
	switch {
	case p.ill != nil && p.ill(at):
		seen.Failed++
	case at < p.locked:
		seen.Refused++
		seen.Wait = max(seen.Wait, p.locked-at)
	case p.lies > 0 && p.dice.Float64() < p.lies:
		seen.Refused++
	case float64(len(p.taken)+1) > p.allowed(at):
		seen.Refused++
		if p.lock > 0 {
			p.locked = at + p.lock
			p.punished = append(p.punished, at)
			seen.Wait = p.lock
		}
	default:
		p.taken = append(p.taken, at)
		seen.OK++
		seen.Latency = 20 * time.Millisecond
		if p.delay != nil {
			seen.Latency += p.delay(at)
		}
	}
}

// figures are what became of a drive in a stretch of it.
type figures struct {
	used    float64 // accepted, as a share of what was allowed
	refused float64 // as a share of the calls
}

// drive lets an account with endless work send for a time, paced by its rate, and measures what it does from a time on.
func drive(p *provider, c rate.Settings, from, until time.Duration) figures {
	begin := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p.dice = rand.New(rand.NewPCG(1, 2))
	var s rate.State
	var seen rate.Seen
	var sum struct{ called, ok, refused, allowed float64 }
	due := 0.0
	for at := time.Duration(0); at < until; at += rate.Interval {
		seen.Short = true
		s = s.Step(begin.Add(at), seen, c)
		if at > from {
			sum.called += float64(seen.Called)
			sum.ok += float64(seen.OK)
			sum.refused += float64(seen.Refused)
			sum.allowed += p.allowed(at) * rate.Interval.Seconds() / p.per.Seconds()
		}
		seen = rate.Seen{}
		due += s.Factors(begin.Add(at), c, rate.Surroundings{}).Rate * rate.Interval.Seconds()
		n := int(due)
		due -= float64(n)
		for i := range n {
			p.call(at+rate.Interval*time.Duration(i)/time.Duration(n), &seen)
		}
	}
	return figures{sum.ok / sum.allowed, sum.refused / max(sum.called, 1)}
}

// The bars: nine tenths of a hidden limit within 30 s, one refusal in a hundred in a steady state, and never two
// punishments in an hour.
func TestAHiddenLimitIsFoundAndKept(t *testing.T) {
	t.Parallel()
	const second, minute = time.Second, time.Minute
	step := func(when time.Duration, to float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at >= when {
				return to
			}
			return 1
		}
	}
	for _, c := range []struct {
		name        string
		provider    provider
		base        float64
		from, until time.Duration
		used        float64 // at least
		refused     float64 // at most
	}{
		{name: "5 a second", provider: provider{limit: 5, per: second}, from: 30 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "50 a second", provider: provider{limit: 50, per: second}, from: 30 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "500 a second", provider: provider{limit: 500, per: second}, from: 30 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "2000 a second", provider: provider{limit: 2000, per: second}, from: 30 * second, until: 3 * minute, used: 0.9, refused: 0.01},
		{name: "base above it", provider: provider{limit: 50, per: second}, base: 200, from: 30 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "base below it", provider: provider{limit: 50, per: second}, base: 20, from: 30 * second, until: 10 * minute, used: 0.39, refused: 0},
		{name: "in ten seconds", provider: provider{limit: 500, per: 10 * second}, from: 30 * second, until: 10 * minute, used: 0.88, refused: 0.01},
		{name: "doubles", provider: provider{limit: 50, per: second, drift: step(2*minute, 2)}, from: 15 * minute, until: 20 * minute, used: 0.9, refused: 0.01},
		{name: "halves", provider: provider{limit: 100, per: second, drift: step(2*minute, 0.5)}, from: 130 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "lies, one in 500", provider: provider{limit: 100, per: second, lies: 0.002}, from: 30 * second, until: 10 * minute, used: 0.85, refused: 0.01},
		{name: "brown-out", provider: provider{limit: 100, per: second, ill: func(at time.Duration) bool { return at > minute && at < 80*second }}, from: 90 * second, until: 10 * minute, used: 0.9, refused: 0.01},
		{name: "slow for a time", provider: provider{limit: 100, per: second, delay: func(at time.Duration) time.Duration {
			if at > minute && at < 70*second {
				return second
			}
			return 0
		}}, from: 90 * second, until: 10 * minute, used: 0.9, refused: 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := drive(&c.provider, rate.Settings{Base: c.base}, c.from, c.until)
			t.Logf("%.1f %% of the limit is used, %.2f %% of the calls are refused", 100*got.used, 100*got.refused)
			if got.used < c.used || got.refused > c.refused {
				t.Errorf("got %+v; want at least %v used, at most %v refused", got, c.used, c.refused)
			}
		})
	}
}

func TestNoAccountIsPunishedTwiceInAnHour(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*provider{
		"a minute for one beyond 50 a second":        {limit: 50, per: time.Second, lock: time.Minute},
		"an hour":                                    {limit: 50, per: time.Second, lock: time.Hour},
		"a minute for one beyond 5 a second":         {limit: 5, per: time.Second, lock: time.Minute},
		"a minute, and bursts within 200 ms as well": {limit: 10, per: 200 * time.Millisecond, lock: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := drive(p, rate.Settings{}, 2*time.Minute, 6*time.Hour)
			t.Logf("%d punishments in 6 hours, %.1f %% used, %.3f %% refused", len(p.punished), 100*got.used, 100*got.refused)
			if len(p.punished) == 0 {
				t.Error("the provider never punished: nothing is proved")
			}
			for i := 1; i < len(p.punished); i++ {
				if p.punished[i]-p.punished[i-1] < time.Hour {
					t.Errorf("punished at %s and again at %s", p.punished[i-1], p.punished[i])
				}
			}
		})
	}
}

// One punishment does not tell how long the provider's window is. An account that is punished again takes it for a long one.
func TestALongWindowIsLearnedByItsPunishments(t *testing.T) {
	t.Parallel()
	p := &provider{limit: 500, per: 10 * time.Second, lock: 10 * time.Minute}
	drive(p, rate.Settings{}, 2*time.Minute, 12*time.Hour)
	late := 0
	for i := 1; i < len(p.punished); i++ {
		if p.punished[i] > time.Hour && p.punished[i]-p.punished[i-1] < time.Hour {
			late++
		}
	}
	if len(p.punished) == 0 || late > 0 {
		t.Errorf("punished at %v: want at most once an hour after the first one", p.punished)
	}
}

func TestFactorsAreShownWithTheirProduct(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := rate.State{}.Step(now, rate.Seen{}, rate.Settings{Base: 40})
	f := s.Factors(now, rate.Settings{Base: 40}, rate.Surroundings{
		Hour: rate.Ends{Good: 90, Bad: 10}, Recent: rate.Ends{Good: 50, Bad: 50}, InFlight: 7, Room: 8, Time: 0.5,
	})
	if want := 40 * 1 * 0.5 * 0.5 * 0.5; f.Rate != want || f.Base != 40 || f.Health != 1 || f.Success != 0.5 || f.Load != 0.5 || f.Time != 0.5 {
		t.Errorf("got %+v, want a rate of %v", f, want)
	}
	s = s.Step(now.Add(rate.Interval), rate.Seen{Called: 1, Refused: 1, Wait: time.Minute}, rate.Settings{Base: 40})
	f = s.Factors(now.Add(rate.Interval), rate.Settings{Base: 40}, rate.Surroundings{})
	if f.Rate != 0 || f.Health != 0 || f.Reason != rate.Punished || !f.Parked.Equal(now.Add(rate.Interval+time.Minute)) {
		t.Errorf("after a punishment: %+v", f)
	}
}

// A rate that nobody uses up is no proof that it may be had.
func TestAnIdleAccountDoesNotGrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	var s rate.State
	for range 1000 {
		s = s.Step(now, rate.Seen{Called: 1, OK: 1, Latency: time.Millisecond}, rate.Settings{})
		now = now.Add(rate.Interval)
	}
	if s.Allowed != 1 {
		t.Errorf("the rate grew to %v", s.Allowed)
	}
}
