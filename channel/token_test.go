package channel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/channel"
)

// mint gives out a new token each time, after a while.
type mint struct {
	fetches atomic.Int32
	takes   time.Duration
	lasts   time.Duration
}

func (m *mint) fetch(ctx context.Context) (string, time.Duration, error) {
	n := m.fetches.Add(1)
	select {
	case <-time.After(m.takes):
		return fmt.Sprintf("token-%d", n), m.lasts, nil
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
}

func TestManyCallersShareOneFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tokens channel.MemoryTokens
		m := &mint{takes: time.Second, lasts: 2 * time.Hour}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if got, err := tokens.Token(t.Context(), "a", "", m.fetch); got != "token-1" || err != nil {
					t.Errorf("got %q, %v, want token-1", got, err)
				}
			})
		}
		all.Wait()
		if n := m.fetches.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
	})
}

func TestATokenIsReplacedBeforeItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tokens channel.MemoryTokens
		m := &mint{lasts: 2 * time.Hour}
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{0, "token-1"}, {time.Hour, "token-1"}, {54 * time.Minute, "token-1"}, {2 * time.Minute, "token-2"}} {
			time.Sleep(step.after)
			if got, _ := tokens.Token(t.Context(), "a", "", m.fetch); got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		}
	})
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	var tokens channel.MemoryTokens
	m := &mint{lasts: time.Hour}
	first, _ := tokens.Token(t.Context(), "a", "", m.fetch)
	for range 3 { // three calls were refused with the same token
		if got, err := tokens.Token(t.Context(), "a", first, m.fetch); got != "token-2" || err != nil {
			t.Errorf("got %q, %v, want token-2", got, err)
		}
	}
	if n := m.fetches.Load(); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
}

func TestTokensAreKeptApartByName(t *testing.T) {
	t.Parallel()
	var tokens channel.MemoryTokens
	m := &mint{lasts: time.Hour}
	a, _ := tokens.Token(t.Context(), "a", "", m.fetch)
	b, _ := tokens.Token(t.Context(), "b", "", m.fetch)
	if a != "token-1" || b != "token-2" {
		t.Errorf("got %q and %q, want token-1 and token-2", a, b)
	}
}

func TestAProviderThatInsistsOnARefusedTokenIsAnError(t *testing.T) {
	t.Parallel()
	var tokens channel.MemoryTokens
	same := func(context.Context) (string, time.Duration, error) { return "t", time.Hour, nil }
	if _, err := tokens.Token(t.Context(), "a", "t", same); !errors.Is(err, channel.ErrStaleToken) {
		t.Errorf("got %v, want ErrStaleToken", err)
	}
}

func TestAFailedFetchIsNotKept(t *testing.T) {
	t.Parallel()
	var tokens channel.MemoryTokens
	m := &mint{lasts: time.Hour}
	down := errors.New("down")
	if _, err := tokens.Token(t.Context(), "a", "", func(context.Context) (string, time.Duration, error) { return "", 0, down }); !errors.Is(err, down) {
		t.Errorf("got %v, want %v", err, down)
	}
	if got, err := tokens.Token(t.Context(), "a", "", m.fetch); got != "token-1" || err != nil {
		t.Errorf("got %q, %v, want token-1", got, err)
	}
}

// A caller that leaves takes nobody along: another fetches then.
func TestAFetchThatWasGivenUpIsMadeByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tokens channel.MemoryTokens
		m := &mint{takes: time.Minute, lasts: time.Hour}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := tokens.Token(short, "a", "", m.fetch); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if got, err := tokens.Token(t.Context(), "a", "", m.fetch); got != "token-2" || err != nil {
				t.Errorf("got %q, %v, want token-2", got, err)
			}
		})
		all.Wait()
	})
}

func TestWhoWaitsForAFetchMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tokens channel.MemoryTokens
		m := &mint{takes: time.Minute, lasts: time.Hour}
		var all sync.WaitGroup
		all.Go(func() { _, _ = tokens.Token(t.Context(), "a", "", m.fetch) })
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := tokens.Token(short, "a", "", m.fetch); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		all.Wait()
	})
}
