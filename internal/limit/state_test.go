package limit

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/posthouse/posthouse"
	"pgregory.net/rapid"
)

func per(most int, d time.Duration) posthouse.Limit {
	return posthouse.Limit{Max: most, Per: posthouse.Duration(d)}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// drawLimits draws one to four windows, small ones and ones kept in slots.
func drawLimits(t *rapid.T) []posthouse.Limit {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) posthouse.Limit {
		most := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(95, 105), rapid.IntRange(1, 3000)).Draw(t, "max")
		d := rapid.OneOf(
			rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, time.Minute, time.Hour, 24 * time.Hour}),
			rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.Int64Range(1000, 5_000_000).Draw(t, "µs")) * time.Microsecond
			}),
		).Draw(t, "per")
		return per(most, d)
	}), 1, 4, func(l posthouse.Limit) posthouse.Duration { return l.Per }).Draw(t, "limits")
}

// drawStep draws how far time moves: not at all, a little, just about a window, a lot.
func drawStep(t *rapid.T, limits []posthouse.Limit) time.Duration {
	window := rapid.SampledFrom(limits).Draw(t, "window").Per.Std()
	if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
		near := rapid.Int64Range(-1, window.Microseconds()/50).Draw(t, "past the window")
		return (window - window/100 + time.Duration(near)*time.Microsecond).Truncate(time.Microsecond)
	}
	most := rapid.SampledFrom([]time.Duration{0, time.Microsecond, window / 150, window / 20, window, 3 * window}).Draw(t, "scale")
	return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "step")) * time.Microsecond
}

// drawWant draws how many permits a call asks for: up to all there are.
func drawWant(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 400), rapid.Just(3000)).Draw(t, "want")
}

// ledger is the exact log that State is judged by.
type ledger []struct {
	at time.Time
	n  int
}

func (l *ledger) add(at time.Time, n int) {
	*l = append(*l, struct {
		at time.Time
		n  int
	}{at, n})
}

// after counts what was granted after from.
func (l ledger) after(from time.Time) (sum int) {
	for _, g := range slices.Backward(l) {
		if !g.at.After(from) {
			break
		}
		sum += g.n
	}
	return sum
}

// TestStateIsExact judges every grant against the exact log: no sliding window
// that ends with a grant holds more than its limit, and what is refused had no
// room but for the rounding of one slot.
func TestStateIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var log ledger
		now, limits := noon, drawLimits(t)
		for range rapid.IntRange(1, 120).Draw(t, "calls") {
			now = now.Add(drawStep(t, limits))
			want := drawWant(t)
			g := s.Take(now, limits, want)
			log.add(now, g.N)
			for _, l := range limits {
				if sum := log.after(now.Add(-l.Per.Std())); g.N > 0 && sum > l.Max {
					t.Fatalf("%d within %v, want at most %d", sum, l.Per, l.Max)
				}
			}
			if g.N < want {
				checkRefusal(t, &s, log, now, limits, g)
			} else if g.Wait != 0 || g.Held != (posthouse.Limit{}) {
				t.Fatalf("got %+v, want no wait where all was granted", g)
			}
			if give := rapid.IntRange(0, g.N).Draw(t, "refund"); rapid.Bool().Draw(t, "refunds") {
				s.Refund(g.At, give)
				log[len(log)-1].n -= give
			}
		}
	})
}

// checkRefusal proves that a limit really held, and that the wait is neither too
// short nor longer than needed.
func checkRefusal(t *rapid.T, s *State, log ledger, now time.Time, limits []posthouse.Limit, g Grant) {
	full := false
	for _, l := range limits {
		_, step := grid(l)
		reach := l.Per.Std() + time.Duration(step)*time.Microsecond
		full = full || log.after(now.Add(-reach)) >= l.Max
	}
	if !full {
		t.Fatalf("got %+v though every window has room", g)
	}
	if early := s.Peek(now.Add(g.Wait-time.Microsecond), limits); early.N > 0 {
		t.Fatalf("told to wait %v, but %d are free before", g.Wait, early.N)
	}
	if then := s.Peek(now.Add(g.Wait), limits); then.N == 0 {
		t.Fatalf("after the wait of %v nothing is free", g.Wait)
	}
}

// TestStateIsExactWhenTheClockStepsBack lets the observed clock fall behind the
// true one, by jitter and by being set back for hours. True time is the judge.
func TestStateIsExactWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var log ledger
		now, behind, limits := noon, time.Duration(0), drawLimits(t)
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = now.Add(drawStep(t, limits))
			behind += rapid.SampledFrom([]time.Duration{0, 0, 0, time.Microsecond, time.Second, 50 * time.Second, time.Hour}).Draw(t, "back")
			g := s.Take(now.Add(-behind), limits, drawWant(t))
			log.add(now, g.N)
			for _, l := range limits {
				if sum := log.after(now.Add(-l.Per.Std())); g.N > 0 && sum > l.Max {
					t.Fatalf("%d within %v, want at most %d", sum, l.Per, l.Max)
				}
			}
		}
	})
}

// TestStateIsExactOverSkewedClocks alternates between clocks that disagree by
// less than a minute: by the times it granted at, no window is exceeded.
func TestStateIsExactOverSkewedClocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var log ledger
		now, limits := noon, drawLimits(t)
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = now.Add(drawStep(t, limits))
			skew := time.Duration(rapid.Int64Range(-5_000_000, 5_000_000).Draw(t, "skew µs")) * time.Microsecond
			g := s.Take(now.Add(skew), limits, drawWant(t))
			log.add(g.At, g.N)
			for _, l := range limits {
				if sum := log.after(g.At.Add(-l.Per.Std())); g.N > 0 && sum > l.Max {
					t.Fatalf("%d within %v, want at most %d", sum, l.Per, l.Max)
				}
			}
		}
	})
}

// TestStateIsExactWhenLimitsChange replaces the limits at random. A window is
// judged over the time that the state can know of: since it exists, and before
// that as far as the window it was made from reaches.
func TestStateIsExactWhenLimitsChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		var log ledger
		now, limits := noon, drawLimits(t)
		known := map[posthouse.Duration]time.Time{}
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = now.Add(drawStep(t, limits))
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				fresh := drawLimits(t)
				known = knownAfter(known, limits, fresh, now)
				limits = fresh
			}
			g := s.Take(now, limits, drawWant(t))
			log.add(now, g.N)
			for _, l := range limits {
				from := now.Add(-l.Per.Std())
				if k := known[l.Per]; k.After(from) {
					from = k
				}
				if sum := log.after(from); g.N > 0 && sum > l.Max {
					t.Fatalf("%d within %v, want at most %d", sum, now.Sub(from), l.Max)
				}
			}
			for i, w := range s.windows {
				if len(w.runs) > 2*slots+2 {
					t.Fatalf("window %d has %d runs", i, len(w.runs))
				}
			}
		}
	})
}

// knownAfter says since when each fresh window knows all grants.
func knownAfter(known map[posthouse.Duration]time.Time, old, fresh []posthouse.Limit, now time.Time) map[posthouse.Duration]time.Time {
	old = slices.SortedFunc(slices.Values(old), func(a, b posthouse.Limit) int { return int(a.Per - b.Per) })
	after := map[posthouse.Duration]time.Time{}
	for _, f := range fresh {
		from := old[len(old)-1]
		if i := slices.IndexFunc(old, func(l posthouse.Limit) bool { return l.Per >= f.Per }); i >= 0 {
			from = old[i]
		}
		since := now.Add(-min(from.Per, f.Per).Std())
		if k := known[from.Per]; k.After(since) {
			since = k
		}
		after[f.Per] = since
	}
	return after
}

func TestStateUsesAtLeast98PercentUnderSaturation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits []posthouse.Limit
		every  time.Duration // between two requests
		want   int           // at once
	}{
		{[]posthouse.Limit{per(1, 3*time.Second)}, time.Millisecond, 1},
		{[]posthouse.Limit{per(18, time.Minute)}, 10 * time.Millisecond, 3},
		{[]posthouse.Limit{per(100, time.Second)}, time.Millisecond, 1},
		{[]posthouse.Limit{per(101, time.Second)}, time.Millisecond, 1},
		{[]posthouse.Limit{per(1000, time.Second)}, time.Millisecond / 2, 1},
		{[]posthouse.Limit{per(1000, time.Second)}, 997 * time.Microsecond, 7},
		{[]posthouse.Limit{per(100_000, time.Second)}, 100 * time.Microsecond, 1000},
		{[]posthouse.Limit{per(1000, time.Second), per(6000, 10*time.Second)}, time.Millisecond, 7},
		{[]posthouse.Limit{per(10, time.Second), per(300, time.Minute), per(5000, time.Hour)}, 50 * time.Millisecond, 1},
	} {
		t.Run(fmt.Sprint(c.limits, c.want), func(t *testing.T) {
			t.Parallel()
			var s State
			binding := c.limits[len(c.limits)-1]
			granted, windows := 0, 20
			if binding.Per.Std() >= time.Hour {
				windows = 4
			}
			for now, end := noon, noon.Add(time.Duration(windows)*binding.Per.Std()); now.Before(end); now = now.Add(c.every) {
				granted += s.Take(now, c.limits, c.want).N
			}
			if used := float64(granted) / float64(windows*binding.Max); used < 0.98 || used > 1 {
				t.Errorf("used %.4f of the limit, want 0.98 to 1", used)
			}
		})
	}
}

func TestStateOfSmallLimitsIsExactToTheMicrosecond(t *testing.T) {
	t.Parallel()
	var s State
	limits := []posthouse.Limit{per(1, 3*time.Second)}
	now := noon.Add(123456 * time.Microsecond)
	for range 5 {
		if g := s.Take(now, limits, 1); g.N != 1 {
			t.Fatalf("got %+v, want 1 granted", g)
		}
		if g := s.Take(now.Add(3*time.Second-time.Microsecond), limits, 1); g.N != 0 || g.Wait != time.Microsecond {
			t.Fatalf("got %+v, want to wait 1µs", g)
		}
		now = now.Add(3 * time.Second)
	}
}

func TestStateSetBackByHoursGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	var s State
	limits := []posthouse.Limit{per(2, time.Minute), per(500, time.Hour)}
	s.Take(noon.Add(1000*time.Hour), limits, 2)
	g := s.Take(noon, limits, 1)
	if g.N != 0 || g.Wait > time.Minute {
		t.Errorf("got %+v, want a wait of at most a minute", g)
	}
	if g := s.Take(noon.Add(time.Minute), limits, 3); g.N != 2 {
		t.Errorf("got %+v after a minute, want 2", g)
	}
}

func TestStateHoldsANewWindowNoLongerThanItself(t *testing.T) {
	t.Parallel()
	var s State
	day, second := per(100_000, 24*time.Hour), per(10, time.Second)
	now := noon.Add(time.Second) // at the beginning of one of the day's slots of 14 minutes
	s.Take(now, []posthouse.Limit{day}, 50)
	if g := s.Take(now, []posthouse.Limit{day, second}, 1); g.N != 0 || g.Wait != time.Second {
		t.Errorf("got %+v, want to wait 1s", g)
	}
}

func TestStateTakesNoRefundFromTheFuture(t *testing.T) {
	t.Parallel()
	var s State
	limits := []posthouse.Limit{per(1000, 24*time.Hour)}
	g := s.Take(noon.Add(time.Second), limits, 900)
	s.Refund(g.At.Add(time.Microsecond), 900)
	if free := s.Peek(noon.Add(time.Second), limits).N; free != 100 {
		t.Errorf("%d free, want 100", free)
	}
}

func TestStateRefundsNoMoreThanWasTakenThen(t *testing.T) {
	t.Parallel()
	var s State
	limits := []posthouse.Limit{per(10, time.Hour)}
	s.Take(noon, limits, 2)
	s.Take(noon.Add(time.Second), limits, 3)
	s.Refund(noon.Add(time.Second/2), 1) // nothing was taken then
	s.Refund(noon, 9)
	if free := s.Peek(noon.Add(time.Second), limits).N; free != 7 {
		t.Errorf("%d free, want 7", free)
	}
}

func TestStateKeepsNoTraceOfRefundedGrants(t *testing.T) {
	t.Parallel()
	var s State
	limits := []posthouse.Limit{per(100, 24*time.Hour)}
	now := noon
	for range 1000 {
		now = now.Add(time.Millisecond)
		s.Refund(s.Take(now, limits, 3).At, 3)
	}
	if runs := len(s.windows[0].runs); runs != 0 || !s.Idle(now) {
		t.Errorf("%d runs are left, want none", runs)
	}
}

func TestStateIdleOnceTheLongestWindowHasPassed(t *testing.T) {
	t.Parallel()
	var s State
	s.Take(noon, []posthouse.Limit{per(5, time.Second), per(7, time.Hour)}, 1)
	got := []bool{new(State).Idle(noon), s.Idle(noon), s.Idle(noon.Add(time.Hour - 1)), s.Idle(noon.Add(time.Hour))}
	if diff := cmp.Diff([]bool{true, false, false, true}, got); diff != "" {
		t.Error(diff)
	}
}
