package channel_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/channel"
)

// Of many wrong secrets at once no more are shown in a minute than a provider lets pass, and who is right is not held up by
// those that were right before.
func TestWrongCallsForTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls channel.TokenCalls
		var mu sync.Mutex
		shown, waits := 0, 0
		show := func(group string, wrong bool) {
			end, wait, err := calls.Begin(t.Context(), group)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case wait > 0:
				waits++
				if wait > time.Minute {
					t.Errorf("it is to wait %s, want a minute at most", wait)
				}
			default:
				shown++
				mu.Unlock()
				time.Sleep(80 * time.Millisecond) // the provider's
				mu.Lock()
				end(wrong)
			}
		}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { show("corp", true) })
		}
		for range 40 {
			all.Go(func() { show("another", false) })
		}
		all.Wait()
		if shown != 8+40 || waits != 32 {
			t.Errorf("%d calls were made and %d refused to begin, want 8 wrong and 40 right ones, and 32", shown, waits)
		}
		time.Sleep(time.Minute)
		shown = 0
		if show("corp", true); shown != 1 {
			t.Error("a minute later none may be made")
		}
	})
}

// permits are a place in which processes count, as a database is.
type permits struct {
	mu    sync.Mutex
	taken []time.Time
}

func (p *permits) Take(_ context.Context, _ string, most int, within time.Duration) (func(context.Context), time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.taken) > 0 && now.Sub(p.taken[0]) >= within {
		p.taken = p.taken[1:]
	}
	if len(p.taken) >= most {
		return nil, p.taken[0].Add(within).Sub(now), nil
	}
	p.taken = append(p.taken, now)
	return func(context.Context) {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.Index(p.taken, now)
		p.taken = slices.Delete(p.taken, i, i+1)
	}, 0, nil
}

// Processes that share a place show no more wrong secrets together than one may, nor does one that starts anew; those that are right wait for
// a moment only.
func TestWrongCallsForTokensAreBoundedOverProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared permits
		var mu sync.Mutex
		shown, waits := map[string]int{}, map[string]int{}
		show := func(calls *channel.TokenCalls, group string, wrong bool) {
			end, wait, err := calls.Begin(t.Context(), group)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			if wait > 0 {
				waits[group]++
			} else {
				shown[group]++
			}
			mu.Unlock()
			if wait == 0 {
				time.Sleep(80 * time.Millisecond) // the provider's
				end(wrong)
			}
		}
		one, two := channel.TokenCalls{Permits: &shared}, channel.TokenCalls{Permits: &shared}
		var all sync.WaitGroup
		for _, process := range []*channel.TokenCalls{&one, &two} {
			for range 40 {
				all.Go(func() { show(process, "right", false) })
			}
		}
		all.Wait()
		if shown["right"] != 80 || waits["right"] != 0 {
			t.Errorf("of 80 right calls %d were made", shown["right"])
		}
		for _, process := range []*channel.TokenCalls{&one, &two} {
			for range 40 {
				all.Go(func() { show(process, "corp", true) })
			}
		}
		all.Wait()
		restarted := channel.TokenCalls{Permits: &shared}
		show(&restarted, "corp", true)
		if shown["corp"] != 8 || waits["corp"] != 73 {
			t.Errorf("%d wrong calls were made and %d refused to begin, want 8 and 73", shown["corp"], waits["corp"])
		}
		time.Sleep(71 * time.Second)
		if show(&two, "corp", true); shown["corp"] != 9 {
			t.Error("a minute later none may be made")
		}
	})
}
