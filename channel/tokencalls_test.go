package channel_test

import (
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
