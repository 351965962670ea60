package rate_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/rate"
)

// crowd drives calls of 80 ms at a provider that bears so many at once, with endless work, and counts what it refuses.
func crowd(a *rate.AtOnce, bears int, lasts time.Duration) (served, refused int) {
	begin := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	type ends struct {
		at       time.Duration
		accepted bool
	}
	var underWay []ends // in their order
	busy := 0
	for now := time.Duration(0); now < lasts; now += time.Millisecond {
		for len(underWay) > 0 && underWay[0].at <= now {
			if underWay[0].accepted {
				busy--
				served++
				a.Accepted()
				underWay = underWay[1:]
				continue
			}
			refused++
			underWay = underWay[1:]
			a.Refused(begin.Add(now), len(underWay))
		}
		var refusals, calls []ends
		for n := min(a.Most(), 64) - len(underWay); n > 0; n-- {
			if busy < bears {
				busy++
				calls = append(calls, ends{now + 80*time.Millisecond, true})
			} else {
				refusals = append(refusals, ends{now + time.Millisecond, false}) // which come back sooner
			}
		}
		underWay = append(append(refusals, underWay...), calls...)
		a.Began(len(underWay))
	}
	return served, refused
}

func TestHowManyCallsAProviderBearsAtOnceIsLearned(t *testing.T) {
	t.Parallel()
	var a rate.AtOnce
	if _, refused := crowd(&a, 10, time.Second); a.Learned() != 10 || refused != 54 {
		t.Errorf("learned %d after %d refusals, want 10 after the first 54", a.Learned(), refused)
	}
	if served, refused := crowd(&a, 10, 10*time.Minute); served < 70000 || refused > served/100 {
		t.Errorf("in ten minutes %d were served and %d refused, want nine tenths of 75,000 and one in a hundred", served, refused)
	}
	if crowd(&a, 40, 30*time.Second); a.Learned() < 36 {
		t.Errorf("30 s after it bore 40, %d were made at once", a.Learned())
	}
	if crowd(&a, 10, 5*time.Second); a.Learned() > 12 {
		t.Errorf("5 s after it bore 10 again, %d were made at once", a.Learned())
	}
}
