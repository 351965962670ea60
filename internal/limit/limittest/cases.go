package limittest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// testWait uses up small limits, which are kept exactly, and a high one, which is
// kept in slots, and trusts the wait.
func testWait(t *testing.T, l limit.Limiter, _ bool) {
	for _, w := range []posthouse.Limit{Per(1, 100*time.Millisecond), Per(18, 200*time.Millisecond), Per(1000, 300*time.Millisecond)} {
		var x tester
		var g limit.Grant
		for range 10 { // where a busy machine let the window pass between the two, they prove nothing
			x = newTester(t, l)
			first := x.take(w.Max-1, w)
			if first.N != w.Max-1 || first.Wait != 0 || first.Held != (posthouse.Limit{}) || first.Key != "" {
				t.Fatalf("%v: got %+v, want all granted", w, first)
			}
			if g = x.take(5, w); g.At.Sub(first.At) < w.Per.Std() {
				break
			}
		}
		longest := w.Per.Std() + w.Per.Std()/100 + time.Microsecond
		if g.N != 1 || g.Held != w || g.Key != x.key || g.Wait <= 0 || g.Wait > longest {
			t.Fatalf("%v: got %+v, want the last one and a wait of at most %v", w, g, longest)
		}
		Pause(t.Context(), g.Wait)
		if g := x.take(1, w); g.N != 1 {
			t.Fatalf("%v: after the wait got %+v, want 1 granted", w, g)
		}
	}
}

// testPhantom is the fault of checking windows one after another, each taking:
// what the last one refuses stays taken in the others.
func testPhantom(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	hour, day := Per(500, time.Hour), Per(100, 24*time.Hour)
	granted := 0
	for range 60 {
		granted += x.take(5, hour, day).N
	}
	if granted != 100 {
		t.Errorf("granted %d, want 100", granted)
	}
	if g := x.take(1, hour, day); g.Held != day {
		t.Errorf("held by %+v, want %+v", g.Held, day)
	}
	if free := x.peek(hour).N; free != 400 {
		t.Errorf("%d free in the hour, want 400", free)
	}
}

// testExact lets many takers saturate a key, asking for several at once. A
// virtual clock shows also that they get all there is.
func testExact(t *testing.T, l limit.Limiter, virtual bool) {
	for _, c := range []struct {
		windows []posthouse.Limit
		total   int
		ideally time.Duration // to get them all
	}{
		{[]posthouse.Limit{Per(10, 100*time.Millisecond), Per(30, 400*time.Millisecond)}, 90, 1000 * time.Millisecond},
		{[]posthouse.Limit{Per(40, 50*time.Millisecond), Per(300, 500*time.Millisecond)}, 900, 1350 * time.Millisecond},
		{[]posthouse.Limit{Per(150, 100*time.Millisecond)}, 1500, 900 * time.Millisecond},
	} {
		log := Saturate(t.Context(), t, l, "saturated/"+posthouse.NewID(), c.windows, c.total)
		CheckLog(t, c.windows, log)
		if took := duration(log, c.total); virtual && took > c.ideally*100/98 {
			t.Errorf("%+v: %d permits took %v, ideally %v", c.windows, c.total, took, c.ideally)
		}
	}
}

// duration is how long it took to be granted so many permits.
func duration(log []limit.Grant, total int) time.Duration {
	log = inOrder(log)
	for _, g := range log {
		if total -= g.N; total <= 0 {
			return g.At.Sub(log[0].At)
		}
	}
	return time.Hour
}

func testRefund(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	minute, hour := Per(10, time.Minute), Per(1000, time.Hour)
	first := x.take(4, minute, hour)
	g := x.take(6, minute, hour)
	for _, n := range []int{4, 0} {
		if err := x.Refund(t.Context(), g, n); err != nil {
			t.Fatal(err)
		}
	}
	if free := x.peek(minute, hour).N; free != 4 {
		t.Errorf("%d free after 4 came back, want 4", free)
	}
	if err := x.Refund(t.Context(), first, 99); err != nil {
		t.Fatal(err)
	}
	if free := x.peek(minute, hour).N; free != 8 {
		t.Errorf("%d free after 99 of a grant of 4 came back, want 8", free)
	}
	if free := x.peek(hour).N; free != 998 {
		t.Errorf("%d free in the hour, want 998", free)
	}
	g.Stamps[0].Key = "never seen"
	if err := x.Refund(t.Context(), g, 1); err != nil {
		t.Errorf("refund to a forgotten key: %v", err)
	}
}

func testKeys(t *testing.T, l limit.Limiter, _ bool) {
	w := Per(3, time.Hour)
	for range 3 {
		if g := newTester(t, l).take(5, w); g.N != 3 {
			t.Errorf("got %+v for a fresh key, want 3", g)
		}
	}
}

func testChanged(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	x.take(50, Per(500, time.Hour))
	for _, c := range []struct {
		windows []posthouse.Limit
		want    int
	}{
		{[]posthouse.Limit{Per(40, time.Hour)}, 0},                        // lowered below what is used
		{[]posthouse.Limit{Per(60, time.Hour), Per(9, time.Minute)}, 0},   // a shorter window is new
		{[]posthouse.Limit{Per(500, time.Minute), Per(52, time.Hour)}, 2}, // another order
		{[]posthouse.Limit{Per(60, 24*time.Hour)}, 8},                     // a longer window is new
		{[]posthouse.Limit{Per(1000, time.Hour)}, 100},
	} {
		if g := x.take(100, c.windows...); g.N != c.want {
			t.Errorf("got %d of %+v, want %d", g.N, c.windows, c.want)
		}
	}
}

func testWindows(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	if g := x.take(1_000_000); g.N != 1_000_000 || g.Wait != 0 {
		t.Errorf("got %+v without a window, want all", g)
	}
	for _, w := range []posthouse.Limit{Per(0, time.Second), Per(-1, time.Second), Per(1, 0), Per(1, 1000*24*time.Hour)} {
		g, err := x.Take(t.Context(), x.bound([]posthouse.Limit{Per(5, time.Second), w}), 1)
		if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), "[1].") || g.N != 0 {
			t.Errorf("%+v: got %+v and error %v, want an error of code invalid at [1]", w, g, err)
		}
	}
	if g := x.take(-5, Per(5, time.Hour)); g.N != 0 || x.peek(Per(5, time.Hour)).N != 5 {
		t.Errorf("got %+v for a want below zero, want nothing", g)
	}
}

func testPeek(t *testing.T, l limit.Limiter, _ bool) {
	x := newTester(t, l)
	second, hour := Per(100, time.Second), Per(3, time.Hour)
	for range 2 {
		if g := x.peek(second, hour); g.N != 3 || g.Wait != 0 {
			t.Errorf("got %+v, want 3 free", g)
		}
	}
	x.take(3, second, hour)
	g := x.peek(second, hour)
	if g.N != 0 || g.Held != hour || g.Wait < 59*time.Minute || g.Wait > time.Hour {
		t.Errorf("got %+v, want it held by %+v for an hour", g, hour)
	}
}

// Saturate has 16 takers draw on a key, each asking for 1 to 7 permits at once
// and waiting as long as it is told, until they hold the given number. It returns
// every grant, and fails the test on an error.
func Saturate(ctx context.Context, t *testing.T, l limit.Limiter, key string, windows []posthouse.Limit, total int) []limit.Grant {
	var mu sync.Mutex
	var log []limit.Grant
	held := 0
	taken := func(g limit.Grant) (enough bool) {
		mu.Lock()
		defer mu.Unlock()
		if g.N > 0 {
			log = append(log, g)
			held += g.N
		}
		return held >= total
	}
	var takers sync.WaitGroup
	for range 16 {
		takers.Go(func() {
			for {
				g, err := l.Take(ctx, []limit.Bound{{Key: key, Windows: windows}}, 1+rand.IntN(7))
				if err != nil {
					t.Error(err)
					return
				}
				if taken(g) || ctx.Err() != nil {
					return
				}
				Pause(ctx, g.Wait)
			}
		})
	}
	takers.Wait()
	return log
}
