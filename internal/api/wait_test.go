package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A reader that waits gets the message once nothing of it waits or is being sent, and what there is when its time is over.
func TestAReaderWaitsUntilAMessageIsSettled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settles, wait, took time.Duration
		state               posthouse.State
	}{
		"it is sent":           {3 * time.Second, time.Minute, 3 * time.Second, posthouse.Sent},
		"it takes longer":      {time.Hour, 5 * time.Second, 5 * time.Second, posthouse.Sending},
		"a person is needed":   {time.Second, time.Minute, time.Second, posthouse.Unknown},
		"it is sent very soon": {time.Millisecond, time.Minute, firstLook, posthouse.Sent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				read := func(context.Context) (wire.Message, error) {
					state := posthouse.Sending
					if time.Since(began) >= c.settles {
						state = c.state
					}
					return wire.Message{Counts: wire.Counts{state: 1}}, nil
				}
				first, _ := read(t.Context())
				got, err := awaited(t.Context(), first, c.wait, read)
				if took := time.Since(began); err != nil || got.Counts[c.state] != 1 || took < c.took || took > c.took+lastLook {
					t.Errorf("got %v after %s, %v; want %s after %s", got.Counts, took, err, c.state, c.took)
				}
			})
		})
	}
}
