package crash

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// storm sends messages without a pause and strikes so many times while they pass: each time another
// part of them is accepted, at a random moment after. Strikes wait for load and load waits for
// strikes, so that none falls into silence. It returns the accepted ids.
func storm(t *testing.T, h *house.House, part, strikes int, strike func(n int)) map[int]string {
	t.Helper()
	return stormOf(t, h, nil, part, strikes, strike)
}

// stormOf is a storm of other messages than the usual ones.
func stormOf(t *testing.T, h *house.House, draft func(n int) posthouse.Draft, part, strikes int, strike func(n int)) map[int]string {
	t.Helper()
	var accepted map[int]string
	due := make(chan struct{})
	var load sync.WaitGroup
	t.Cleanup(load.Wait) // where a strike ends the test
	load.Go(func() {
		defer close(due)
		accepted = h.Produce(t, house.Load{Messages: part * (strikes + 1), Draft: draft, Each: func(done int) {
			if done%part != 0 || done/part > strikes {
				return
			}
			select {
			case due <- struct{}{}:
			case <-t.Context().Done():
			}
		}})
	})
	struck := 0
	for range due {
		house.Pause(t.Context(), rand.N(60*time.Millisecond))
		strike(struck)
		struck++
	}
	load.Wait()
	if struck != strikes || len(accepted) != part*(strikes+1) {
		t.Fatalf("%d strikes and %d accepted messages, want %d and %d", struck, len(accepted), strikes, part*(strikes+1))
	}
	return accepted
}

// busy makes the provider as slow as a real one is, so that every slot of a sender is under way when
// the strike comes: no call ends within the pause before it.
func busy(t *testing.T, h *house.House) {
	t.Helper()
	ms := posthouse.Duration(time.Millisecond)
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 100 * ms, Jitter: 35 * ms}}})
}
