package crash

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// tally is what a run came to, counted from the event log and the provider's journal: a second
// opinion beside package verify, which shares no code with it.
type tally struct {
	messages    int // that callers were told are accepted
	lost        int // of these, not in the log, or neither sent nor in a state that may stay
	extra       int // arrivals beyond a delivery's first
	unexplained int // of these, not after an unknown of their delivery
	unknown     int // times a delivery became unknown
	held        int // deliveries that are unknown in the end
	heldArrived int // of these, arrived all the same
	recovered   int // deliveries that no caller was told of
}

// record is a delivery as the event log tells it.
type record struct {
	last    posthouse.State
	unknown []time.Time // when it became unknown
	sends   int         // transitions into sent
}

// count reads the log and the journal and says on the test what is wrong with single deliveries. The
// given states may stay besides sent.
func count(t *testing.T, h *house.House, accepted map[int]string, stays ...posthouse.State) tally {
	t.Helper()
	log, keys := readLog(t, h), byKey(h.Provider.Arrivals(t))
	n := tally{messages: len(accepted), recovered: len(log)}
	for _, id := range accepted {
		r := log[posthouse.DeliveryID(id, 1)]
		if r != nil {
			n.recovered--
		}
		if r == nil || !slices.Contains(append(stays, posthouse.Sent), r.last) || r.last == posthouse.Sent && r.sends != 1 {
			n.lost++
			t.Errorf("message %s was accepted and is lost: %+v", id, r)
		}
	}
	for id, r := range log {
		n.unknown += len(r.unknown)
		n.add(t, id, r, keys[id])
		delete(keys, id)
	}
	for key, list := range keys {
		t.Errorf("%d arrivals with the key %q belong to no delivery", len(list), key)
	}
	return n
}

// add counts one delivery's arrivals.
func (n *tally) add(t *testing.T, id string, r *record, list []simulator.Arrival) {
	t.Helper()
	if r.last == posthouse.Sent && len(list) == 0 {
		n.lost++
		t.Errorf("delivery %s is sent and never arrived", id)
	}
	if r.last == posthouse.Unknown {
		n.held++
		n.heldArrived += min(len(list), 1)
	}
	for k, a := range list[min(1, len(list)):] {
		n.extra++
		if k >= len(r.unknown) || a.At.Before(r.unknown[k]) {
			n.unexplained++
			t.Errorf("arrival %d of delivery %s at %s follows no unknown: %v", k+2, id, a.At, r.unknown)
		}
	}
}

func byKey(arrivals []simulator.Arrival) map[string][]simulator.Arrival {
	keys := map[string][]simulator.Arrival{}
	for _, a := range arrivals {
		keys[a.Key] = append(keys[a.Key], a)
	}
	return keys
}

func readLog(t *testing.T, h *house.House) map[string]*record {
	t.Helper()
	log := map[string]*record{}
	_, err := h.Store(t).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		r := log[e.Delivery]
		if r == nil {
			r = &record{}
			log[e.Delivery] = r
		}
		if e.From != r.last || !transition.Legal(e.From, e.Type, e.To) {
			t.Errorf("delivery %s: %s from %s to %s does not follow %s", e.Delivery, e.Type, e.From, e.To, r.last)
		}
		if e.To == posthouse.Unknown {
			r.unknown = append(r.unknown, e.At)
		}
		if e.To == posthouse.Sent {
			r.sends++
		}
		r.last = e.To
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// per is a number for each of n, with one decimal.
func per(number, n int) string { return fmt.Sprintf("%.1f", float64(number)/float64(max(n, 1))) }
