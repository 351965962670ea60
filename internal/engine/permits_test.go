package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

// What waits for a window comes at its pace; what has waited and comes a moment early waits for that moment, and not behind
// those that have yet to come.
func TestTheLineOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPermits(nil, nil, nil, nil)
		began := time.Now()
		tiers := []state.Tier{{Reason: "limit_recipient", Bound: limit.Bound{Key: "k"}}}
		refused := limit.Grant{Key: "k", Held: per(1, time.Minute), Wait: time.Minute}
		come := func(wait time.Duration, waited string) time.Duration {
			refused.Wait = wait
			return (time.Since(began) + p.later(tiers, refused, waited).result.After).Round(time.Second)
		}
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute} {
			if got := come(time.Minute, ""); got != want {
				t.Errorf("the %dth comes after %s, want %s", i, got, want)
			}
		}
		time.Sleep(2*time.Minute + 2*time.Millisecond)
		if got := come(3*time.Second, "limit_recipient"); got != 2*time.Minute+3*time.Second {
			t.Errorf("one that came early comes after %s", got)
		}
		if got := come(3*time.Second, "limit_recipient"); got != 3*time.Minute+3*time.Second {
			t.Errorf("the next that came early comes after %s, want behind it", got)
		}
		if got := come(time.Minute, ""); got != 4*time.Minute {
			t.Errorf("a new one comes after %s, want behind all that wait", got)
		}
	})
}
