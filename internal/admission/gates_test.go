package admission

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// What another process says of a gate counts, but no two ends are exchanged for the sooner one.
func TestAGateEndsWhenOthersSaySo(t *testing.T) {
	t.Parallel()
	now := midnight
	ends := func(in time.Duration) work.Gate { return work.Gate{Account: "a", Until: now.Add(in)} }
	for name, c := range map[string]struct {
		told   time.Duration // when the others could know of ours, which ends in an hour; they were asked now
		stored []work.Gate
		want   time.Duration // 0 for none
	}{
		"gone":                      {-time.Second, nil, 0},
		"not known of":              {time.Second, nil, time.Hour},
		"ends later":                {-time.Second, []work.Gate{ends(2 * time.Hour)}, 2 * time.Hour},
		"ends sooner":               {-time.Second, []work.Gate{ends(time.Minute)}, time.Hour},
		"that of before ends later": {time.Second, []work.Gate{ends(2 * time.Hour)}, 2 * time.Hour},
		"that of before is over":    {time.Second, []work.Gate{ends(time.Minute)}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			woken := false
			ch := channelOf(nil)
			c2 := New(ch, Options{Wake: func() { woken = true }})
			c2.gates["a"] = gate{Gate: ends(time.Hour), told: now.Add(c.told)}
			stored := map[string]work.Gate{}
			for _, g := range c.stored {
				stored[g.Account] = g
			}
			c2.Merge(now, now, stored)
			got := time.Duration(0)
			if g, ok := c2.gates["a"]; ok {
				got = g.Until.Sub(now)
			}
			if got != c.want || woken != (c.want == 0) {
				t.Errorf("it ends in %s, and who waits was woken: %t; want %s, and woken where it is gone", got, woken, c.want)
			}
		})
	}
}
