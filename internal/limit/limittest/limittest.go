// Package limittest is the suite that every place of package limit must pass,
// on a virtual clock or a real one. It holds no limiter of its own.
package limittest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// Options say what is tested.
type Options struct {
	// Open makes the limiter for one case; keys are never used by two cases. On a
	// virtual clock it is called inside the case's bubble. Required.
	Open func(t *testing.T) limit.Limiter
	// Virtual runs each case in a testing/synctest bubble, for a limiter whose clock
	// is time.Now. Defaults to real time, in which the suite takes about 4 s.
	Virtual bool
}

// Run runs the suite.
func Run(t *testing.T, o Options) {
	for _, c := range []struct {
		name string
		test func(*testing.T, limit.Limiter, bool)
	}{
		{"grants up to the limit and then says how long to wait", testWait},
		{"takes nothing from any window if one refuses", testPhantom},
		{"never exceeds a window under many takers", testExact},
		{"gives refunded permits back", testRefund},
		{"keeps keys apart", testKeys},
		{"counts what was granted under other limits", testChanged},
		{"grants everything without a window and refuses impossible ones", testWindows},
		{"peeking takes nothing", testPeek},
		{"takes nothing of any key if one refuses", testPhantomKeys},
		{"gives permits of several keys back to each", testRefundKeys},
		{"never exceeds a window of any key in random schedules", testSchedules},
		{"decides on many requests in one step", testEach},
		{"keeps windowless keys out and refuses impossible calls", testBounds},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !o.Virtual {
				c.test(t, o.Open(t), false)
				return
			}
			synctest.Test(t, func(t *testing.T) { c.test(t, o.Open(t), true) })
		})
	}
}

// Per is a window, for literals: Per(10, time.Second) is ten a second.
func Per(most int, per time.Duration) posthouse.Limit {
	return posthouse.Limit{Max: most, Per: posthouse.Duration(per)}
}

// CheckLog fails the test where a half-open span as long as a window holds more
// permits than the window allows. The order of the grants does not matter.
func CheckLog(t *testing.T, windows []posthouse.Limit, log []limit.Grant) {
	t.Helper()
	log = inOrder(log)
	for _, w := range windows {
		sum, first := 0, 0
		for _, g := range log {
			sum += g.N
			for g.At.Sub(log[first].At) >= w.Per.Std() {
				sum -= log[first].N
				first++
			}
			if sum > w.Max {
				t.Fatalf("%d permits from %v to %v, want at most %d each %v",
					sum, log[first].At, g.At, w.Max, w.Per)
			}
		}
	}
}

func inOrder(log []limit.Grant) []limit.Grant {
	return slices.SortedFunc(slices.Values(log), func(a, b limit.Grant) int { return a.At.Compare(b.At) })
}

// Pause lets time pass on the clock of the test.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tester is a limiter and one key of it.
type tester struct {
	*testing.T
	limit.Limiter
	key string
}

func newTester(t *testing.T, l limit.Limiter) tester {
	return tester{t, l, "tenant/channel/" + posthouse.NewID()}
}

// bound is the tester's key under some windows.
func (t tester) bound(windows []posthouse.Limit) []limit.Bound {
	return []limit.Bound{{Key: t.key, Windows: windows}}
}

func (t tester) take(want int, windows ...posthouse.Limit) limit.Grant {
	t.Helper()
	g, err := t.Take(t.Context(), t.bound(windows), want)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (t tester) peek(windows ...posthouse.Limit) limit.Grant {
	t.Helper()
	g, err := t.Peek(t.Context(), t.bound(windows))
	if err != nil {
		t.Fatal(err)
	}
	return g
}
