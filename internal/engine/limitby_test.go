package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// Section 6 of the document limits a robot to so many requests a minute, other providers count those who are told: what is
// sent in the first moment of a window of three, and how many calls that is.
func TestLimitsCountRecipientsOrCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by         posthouse.LimitBy
		recipients []int // of each message
		told       int
		calls      int
	}{
		"calls of large messages":     {posthouse.LimitByCalls, []int{10, 10, 10, 10}, 30, 3},
		"calls of small messages":     {posthouse.LimitByCalls, []int{1, 1, 1, 1, 1}, 3, 3},
		"calls of two by two":         {posthouse.LimitByCalls, []int{2, 2, 2, 2}, 6, 3},
		"calls of one larger message": {posthouse.LimitByCalls, []int{45}, 30, 3},
		"recipients":                  {posthouse.LimitByRecipients, []int{1, 1, 1, 1, 1}, 3, 3},
		"recipients unless it says":   {"", []int{3, 3}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				b := &batching{provider: r.provider}
				settings := posthouse.ChannelSettings{LimitBy: c.by, Limits: []posthouse.Limit{{Max: 3, Per: posthouse.Duration(time.Minute)}}}
				r.open("c", settings, state.Opened{Driver: b, MaxBatch: 10, Window: channel.Forever})
				for m, n := range c.recipients {
					var users []string
					for i := range n {
						users = append(users, fmt.Sprint(m, "-", i))
					}
					r.send(text("c", users...))
				}
				r.pass(30 * time.Second)
				told := 0
				for _, call := range b.calls {
					told += len(call)
				}
				single := len(r.provider.sent())
				if told+single != c.told || len(b.calls)+single != c.calls {
					r.Errorf("%d were told in %d calls, want %d in %d", told+single, len(b.calls)+single, c.told, c.calls)
				}
			})
		})
	}
}
