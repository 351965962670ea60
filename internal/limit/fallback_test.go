package limit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
)

var errDown = errors.New("connection refused")

// unsteady is a limiter that can be taken down, and made to forget.
type unsteady struct {
	mu sync.Mutex
	limit.Limiter
	down  bool
	calls int           // of Take
	slow  time.Duration // how long a Take takes
}

func (u *unsteady) set(down, forget bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = down
	if forget {
		u.Limiter = limit.NewMemory()
	}
}

func (u *unsteady) place() (limit.Limiter, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.down {
		return nil, errDown
	}
	return u.Limiter, nil
}

func (u *unsteady) Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error) {
	u.mu.Lock()
	u.calls++
	u.mu.Unlock()
	limittest.Pause(ctx, u.slow)
	l, err := u.place()
	if err != nil {
		return limit.Grant{}, err
	}
	return l.Take(ctx, bounds, want)
}

func (u *unsteady) Refund(ctx context.Context, g limit.Grant, n int) error {
	l, err := u.place()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return l.Refund(ctx, g, n)
}

func (u *unsteady) RefundEach(ctx context.Context, list []limit.Back) error {
	l, err := u.place()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return l.RefundEach(ctx, list)
}

// TestFallbackIsExactAcrossSwitches lets two processes share a Secondary while
// their Primary comes and goes for each of them on its own, forgetting at times.
func TestFallbackIsExactAcrossSwitches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		primary, shared := limit.NewMemory(), limit.SQL{Rows: new(rows)}
		processes := []*unsteady{{Limiter: primary}, {Limiter: primary}}
		windows := []posthouse.Limit{per(10, time.Second), per(300, time.Minute)}
		stop := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(1700 * time.Millisecond):
					processes[i%2].set(i%3 == 0, i%5 == 0)
				}
			}
		}()
		var mu sync.Mutex
		var log []limit.Grant
		var both sync.WaitGroup
		start := time.Now()
		for _, p := range processes {
			both.Go(func() {
				f := &limit.Fallback{Primary: p, Secondary: shared, Pause: 300 * time.Millisecond}
				got := limittest.Saturate(t.Context(), t, f, "key", windows, 450)
				mu.Lock()
				log = slices.Concat(log, got)
				mu.Unlock()
			})
		}
		both.Wait()
		close(stop)
		limittest.CheckLog(t, windows, log)
		if took := time.Since(start); took > 4*time.Minute {
			t.Errorf("900 permits took %v at 300 a minute, want about 3m", took)
		}
	})
}

func TestFallbackAsksABrokenPrimaryOnceAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		primary := &unsteady{Limiter: limit.NewMemory(), down: true}
		var reports []string
		f := &limit.Fallback{
			Primary: primary, Secondary: limit.NewMemory(), Pause: time.Minute,
			Report: func(err error) { reports = append(reports, fmt.Sprint(err)) },
		}
		for i := range 300 {
			if i == 200 {
				primary.set(false, false)
			}
			if g, err := f.Take(t.Context(), one("key", []posthouse.Limit{per(1000, time.Hour)}), 1); err != nil || g.N != 1 {
				t.Fatalf("got %+v, error %v, want 1 granted", g, err)
			}
			limittest.Pause(t.Context(), time.Second)
		}
		if want := []string{"connection refused", "<nil>"}; !slices.Equal(reports, want) {
			t.Errorf("reported %q, want %q", reports, want)
		}
		if want := 4 + 60; primary.calls != want { // at 0, 60, 120 and 180 s, then from 240 s on
			t.Errorf("asked Primary %d times, want %d", primary.calls, want)
		}
	})
}

func TestFallbackLetsOneCallTryABrokenPrimary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		primary := &unsteady{Limiter: limit.NewMemory(), down: true, slow: time.Second / 4}
		f := &limit.Fallback{Primary: primary, Secondary: limit.NewMemory()}
		take := func() {
			if _, err := f.Take(t.Context(), one("key", []posthouse.Limit{per(1000, time.Hour)}), 1); err != nil {
				t.Error(err)
			}
		}
		take()
		limittest.Pause(t.Context(), 2*time.Second)
		var takers sync.WaitGroup
		for range 20 {
			takers.Go(take)
		}
		takers.Wait()
		if primary.calls != 2 {
			t.Errorf("asked Primary %d times, want 2", primary.calls)
		}
	})
}

func TestFallbackGrantsNoMoreThanPrimary(t *testing.T) {
	t.Parallel()
	primary, windows := limit.NewMemory(), []posthouse.Limit{per(10, time.Hour)}
	if _, err := primary.Take(t.Context(), one("key", windows), 8); err != nil {
		t.Fatal(err)
	}
	f := &limit.Fallback{Primary: primary, Secondary: limit.NewMemory()}
	if g, err := f.Take(t.Context(), one("key", windows), 7); err != nil || g.N != 2 {
		t.Errorf("got %+v, error %v, want 2 granted", g, err)
	}
}

func TestFallbackSparesSecondaryWhatPrimaryRefuses(t *testing.T) {
	t.Parallel()
	secondary := &unsteady{Limiter: limit.NewMemory()}
	f := &limit.Fallback{Primary: limit.NewMemory(), Secondary: secondary}
	w := per(5, time.Hour)
	for i, want := range []int{5, 0, 0, 0} {
		g, err := f.Take(t.Context(), one("key", []posthouse.Limit{w}), 7)
		if err != nil || g.N != want || g.Held != w || g.Wait < 59*time.Minute {
			t.Errorf("take %d: got %+v, error %v, want %d granted and held by %+v", i, g, err, want, w)
		}
	}
	if secondary.calls != 1 {
		t.Errorf("asked Secondary %d times, want once", secondary.calls)
	}
}

func TestFallbackGivesBackWhatSecondaryRefuses(t *testing.T) {
	t.Parallel()
	primary, secondary := limit.NewMemory(), &unsteady{Limiter: limit.NewMemory()}
	f := &limit.Fallback{Primary: primary, Secondary: secondary}
	windows := []posthouse.Limit{per(10, time.Hour)}
	free := func() int {
		g, err := primary.Peek(t.Context(), one("key", windows))
		if err != nil {
			t.Fatal(err)
		}
		return g.N
	}
	secondary.down = true
	if g, err := f.Take(t.Context(), one("key", windows), 7); !errors.Is(err, errDown) || g.N != 0 || free() != 10 {
		t.Errorf("got %+v, error %v, %d free, want error %v and all 10 given back", g, err, free(), errDown)
	}
	secondary.down = false
	if _, err := secondary.Take(t.Context(), one("key", windows), 8); err != nil {
		t.Fatal(err)
	}
	g, err := f.Take(t.Context(), one("key", windows), 7)
	if err != nil || g.N != 2 || g.Held != windows[0] || free() != 8 {
		t.Errorf("got %+v, error %v, %d free, want 2 granted and 5 given back", g, err, free())
	}
	if err := f.Refund(t.Context(), g, 2); err != nil || free() != 10 {
		t.Errorf("error %v, %d free after the refund, want 10", err, free())
	}
	if g, err := f.Peek(t.Context(), one("key", windows)); err != nil || g.N != 2 {
		t.Errorf("got %+v, error %v, want 2 free", g, err)
	}
}

// canceller is a Secondary whose caller gives up while it is asked.
type canceller struct {
	limit.Limiter
	cancel context.CancelFunc
}

func (c canceller) Take(ctx context.Context, _ []limit.Bound, _ int) (limit.Grant, error) {
	c.cancel()
	return limit.Grant{}, ctx.Err()
}

func TestFallbackBlamesNobodyForACallerThatGaveUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	primary, windows := &unsteady{Limiter: limit.NewMemory()}, []posthouse.Limit{per(5, time.Hour)}
	f := &limit.Fallback{
		Primary: primary, Secondary: canceller{limit.NewMemory(), cancel},
		Report: func(err error) { t.Errorf("reported %v, want nothing", err) },
	}
	if g, err := f.Take(ctx, one("key", windows), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, error %v, want %v", g, err, context.Canceled)
	}
	if free, err := primary.Peek(t.Context(), one("key", windows)); err != nil || free.N != 5 {
		t.Errorf("%d free in Primary, error %v, want all 5 given back", free.N, err)
	}
	primary.set(true, false)
	if g, err := f.Take(ctx, one("key", windows), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, error %v, want %v", g, err, context.Canceled)
	}
}

// TestFallbackOverARealRedis kills the server, starts it empty, and stops it in
// its tracks, all while permits are drawn.
func TestFallbackOverARealRedis(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if s == nil {
		return
	}
	f := &limit.Fallback{
		Primary:   openRedis(t, limit.RedisOptions{URL: s.url(), Timeout: 50 * time.Millisecond}),
		Secondary: limit.SQL{Rows: new(rows)},
		Pause:     50 * time.Millisecond,
	}
	windows := []posthouse.Limit{per(10, 40*time.Millisecond), per(150, 500*time.Millisecond)}
	var log []limit.Grant
	draw := func() { log = append(log, limittest.Saturate(t.Context(), t, f, "key", windows, 150)...) }
	draw()
	s.stop()
	draw()
	s.start(t)
	draw()
	s.proc.Process.Signal(syscall.SIGSTOP)
	draw()
	s.proc.Process.Signal(syscall.SIGCONT)
	draw()
	limittest.CheckLog(t, windows, log)
}
