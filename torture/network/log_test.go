package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// span is an attempt: from its start to the end of its lease.
type span struct{ from, until time.Time }

// record is a delivery as the event log tells it.
type record struct {
	state    posthouse.State
	token    int64
	starts   []span
	unknowns []time.Time
	tries    int
	sends    int // transitions into sent
	stale    int // writes of an older token, but for evidence
}

// readLog reads the event log, by delivery.
func readLog(t *testing.T, h *house.House) map[string]*record {
	t.Helper()
	log := map[string]*record{}
	_, err := h.Store(t).History.ExportEvents(context.WithoutCancel(t.Context()), "", "", func(e posthouse.Event) error {
		r := log[e.Delivery]
		if r == nil {
			r = &record{}
			log[e.Delivery] = r
		}
		if e.From != r.state || !transition.Legal(e.From, e.Type, e.To) {
			t.Errorf("delivery %s: %s from %s to %s does not follow %s", e.Delivery, e.Type, e.From, e.To, r.state)
		}
		r.take(e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func (r *record) take(e posthouse.Event) {
	if e.Token < r.token && e.Type != posthouse.EventEvidence {
		r.stale++
	}
	r.state, r.token, r.tries = e.To, max(r.token, e.Token), e.Tries
	switch {
	case e.Type == posthouse.EventStart:
		r.starts = append(r.starts, span{e.At, e.LeaseUntil})
	case e.To == posthouse.Unknown && e.From != posthouse.Unknown:
		r.unknowns = append(r.unknowns, e.At)
	case e.To == posthouse.Sent && e.From != posthouse.Sent:
		r.sends++
	}
}

// findings is what log and arrivals say together.
type findings struct {
	deliveries, arrivals int
	lost                 int // settled as sent and never arrived, or not settled as sent
	extra                int // arrivals beyond a delivery's first
	unexplained          int // of those, without an unknown before them
	outside              int // arrivals before a start or after the end of its lease
	unmarked             int // arrivals beyond the number of starts
	stale                int
	twice                int // deliveries that became sent twice
}

// compare holds arrivals against the log. Each delivery must be sent in the end.
func compare(t *testing.T, log map[string]*record, arrivals []simulator.Arrival) findings {
	t.Helper()
	f := findings{deliveries: len(log), arrivals: len(arrivals)}
	byKey := map[string][]simulator.Arrival{}
	for _, a := range arrivals {
		byKey[a.Key] = append(byKey[a.Key], a)
	}
	for id, r := range log {
		list := byKey[id]
		f.stale += r.stale
		if r.state != posthouse.Sent || len(list) == 0 {
			f.lost++
			t.Errorf("delivery %s is %s and arrived %d times", id, r.state, len(list))
		}
		if r.sends > 1 {
			f.twice++
		}
		f.unmarked += max(0, len(list)-len(r.starts))
		for i, a := range list {
			if !r.covers(a.At) {
				f.outside++
				t.Errorf("delivery %s arrived at %s, outside of its attempts %v", id, a.At, r.starts)
			}
			if i == 0 {
				continue
			}
			f.extra++
			if i > len(r.unknowns) || a.At.Before(r.unknowns[i-1]) {
				f.unexplained++
				t.Errorf("arrival %d of delivery %s at %s follows no unknown: %v", i+1, id, a.At, r.unknowns)
			}
		}
	}
	return f
}

// slack is how long a provider on a busy machine may take to read what was written in time. The
// checker allows as much.
const slack = 100 * time.Millisecond

func (r *record) covers(at time.Time) bool {
	for _, s := range r.starts {
		if !at.Before(s.from) && !at.After(s.until.Add(slack)) {
			return true
		}
	}
	return false
}

// clean says whether nothing is wrong but what explains itself.
func (f findings) clean() bool {
	return f.lost+f.unexplained+f.outside+f.unmarked+f.stale+f.twice == 0
}

func (f findings) String() string {
	return fmt.Sprintf("%d sent, %d lost, %d stale writes accepted, %d arrivals outside of a lease, %d duplicates of which %d unexplained",
		f.deliveries-f.lost, f.lost, f.stale, f.outside+f.unmarked, f.extra, f.unexplained)
}
