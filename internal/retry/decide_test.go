package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/retry"
)

// What was refused since too many were under way waits for another call to end, and not as after a refusal for the rate.
func TestTooManyAtOnceIsNoRate(t *testing.T) {
	t.Parallel()
	s := time.Second
	for profile, want := range map[string][]time.Duration{
		"wecom":   {2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 512 * s, 1024 * s},
		"default": {2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s},
	} {
		for before, wait := range want {
			d := retry.Decide(named(t, profile), posthouse.ClassRate, before, 2*s, 0)
			if got := d.AtOnce(before, 2*s, 0); got.Wait != wait || got.GiveUp != d.GiveUp || got.Burn != d.Burn {
				t.Errorf("%s: after %d failures it is %+v, want a wait of %s", profile, before, got, wait)
			}
			if d.AtOnce(before, 2*s, 1).Wait <= wait {
				t.Errorf("%s: after %d failures the wait is not spread", profile, before)
			}
		}
	}
	if last := retry.Decide(named(t, "wecom"), posthouse.ClassRate, 10, 2*s, 0); !last.AtOnce(10, 2*s, 0).GiveUp {
		t.Error("the tries do not end")
	}
}

func TestDecideTreatsEveryClass(t *testing.T) {
	t.Parallel()
	p := named(t, "default")
	for class, want := range map[posthouse.Class]retry.Decision{
		posthouse.ClassOK:        {},
		posthouse.ClassTransient: {Wait: m, Burn: true},
		posthouse.ClassUnknown:   {Wait: m, Burn: true},
		posthouse.ClassRate:      {Wait: 30 * s},
		posthouse.ClassAuth:      {Wait: 5 * m},
		posthouse.ClassAccount:   {Wait: 5 * m},
		posthouse.ClassLocal:     {Wait: s},
		posthouse.ClassRecipient: {GiveUp: true, Burn: true},
		posthouse.ClassContent:   {GiveUp: true, Burn: true},
		posthouse.ClassRequest:   {GiveUp: true, Burn: true},
		"":                       {Wait: m, Burn: true},
		"nonsense":               {Wait: m, Burn: true},
	} {
		if got := retry.Decide(p, class, 0, 0, 0); got != want {
			t.Errorf("%q: got %+v, want %+v", class, got, want)
		}
	}
}

func TestDecideWithoutANumberOfTriesNeverGivesUp(t *testing.T) {
	t.Parallel()
	if d := retry.Decide(retry.Profile{}, posthouse.ClassTransient, 1e6, 0, 0); d.GiveUp || !d.Burn {
		t.Errorf("got %+v, want another try", d)
	}
}

func TestMayResendOnlyWhileTheProviderRemembers(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	const timeout = 10 * s
	for name, c := range map[string]struct {
		now    time.Time
		first  time.Time
		window time.Duration
		want   bool
	}{
		"just begun":              {first.Add(s), first, 10 * m, true},
		"last moment":             {first.Add(8*m - timeout - 1), first, 10 * m, true},
		"a fifth before the end":  {first.Add(8*m - timeout), first, 10 * m, false},
		"long past":               {first.Add(h), first, 10 * m, false},
		"clock before the start":  {first.Add(-h), first, 10 * m, true},
		"no key":                  {first.Add(1000 * h), first, 0, true},
		"never forgets":           {first.Add(100 * 365 * 24 * h), first, math.MaxInt64, true},
		"nothing has started yet": {first, time.Time{}, 10 * m, true},
		"shorter than a time-out": {first, first, 10 * s, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retry.MayResend(c.now, c.first, c.window, timeout); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
