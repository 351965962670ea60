package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// heard keeps what OnEvents was called with, and panics each time as a careless program does.
type heard struct {
	mu     sync.Mutex
	events map[string]posthouse.Event // by delivery and version
}

func nameOf(e posthouse.Event) string { return fmt.Sprint(e.Delivery, " ", e.Version) }

func (h *heard) hear(events []posthouse.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.events[nameOf(e)] = e
	}
	panic("a careless program")
}

func (h *heard) event(of posthouse.Event) (posthouse.Event, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.events[nameOf(of)]
	return e, ok
}

// begins are the events that nobody is told of.
func begins(t posthouse.EventType) bool {
	return t == posthouse.EventAccept || t == posthouse.EventClaim || t == posthouse.EventStart
}

// What a program is told is what stands in the log of the delivery: sends, retries, cancels, and reports of agents, of
// which two on one delivery come in one call.
func TestAProgramHearsWhatBecameOfEachDelivery(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			all := &heard{events: map[string]posthouse.Event{}}
			h := open(t, d.dsn(t), func(o *server.Options) { o.OnEvents = all.hear })
			h.put(hook(h))
			h.behave("webhook", simulator.Fault{Kind: "server_error", Times: 1})
			sent, err := h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}})
			h.must(err)
			ids := []string{sent.Accepted[0].Deliveries[0].ID}
			p := h.register("phone-1")
			ids = append(ids, h.tells("u1", "u2")...)
			list := p.claims(2)
			p.starts(list...)
			report := func(h posthouse.Handout, outcome posthouse.Outcome) posthouse.AgentReport {
				return posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: outcome}
			}
			_, err = p.Handouts.Report(t.Context(), p.id,
				report(list[0], posthouse.OutcomeUnknown), report(list[1], posthouse.OutcomeNotSent), report(list[0], posthouse.OutcomeSent))
			h.must(err)
			h.stands(list[0].Delivery, posthouse.Sent)
			h.stands(ids[0], posthouse.Sent)
			late, err := h.api.Messages.Send(t.Context(), posthouse.Draft{
				Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "hello"}, NotBefore: time.Now().Add(time.Hour),
			})
			h.must(err)
			_, err = h.api.Messages.Cancel(t.Context(), late.Accepted[0].ID)
			h.must(err)
			ids = append(ids, late.Accepted[0].Deliveries[0].ID)
			h.compare(all, ids)
		})
	}
}

// compare holds what was heard against the log of deliveries.
func (h *house) compare(all *heard, ids []string) {
	h.Helper()
	compared := map[posthouse.EventType]bool{}
	for _, id := range ids {
		stored, err := h.api.Deliveries.Events(h.Context(), id)
		h.must(err)
		for _, want := range stored {
			if begins(want.Type) {
				continue
			}
			compared[want.Type] = true
			h.eventually(fmt.Sprintf("version %d of %s is told", want.Version, id), func() bool { _, ok := all.event(want); return ok })
			got, _ := all.event(want)
			if diff := cmp.Diff([]any{want.Type, want.From, want.To, want.At, want.Tenant}, []any{got.Type, got.From, got.To, got.At.Truncate(time.Microsecond).UTC(), got.Tenant}); diff != "" {
				h.Errorf("%s (-stored +told):\n%s", id, diff)
			}
		}
	}
	for _, want := range []posthouse.EventType{posthouse.EventSent, posthouse.EventRetry, posthouse.EventCancel, posthouse.EventAmbiguous} {
		if !compared[want] {
			h.Errorf("no event %s was compared", want)
		}
	}
}
