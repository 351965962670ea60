package agent

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// PULL-14: what the phones were told to send is what the event log accounts for, whatever went wrong.
func TestTheEventLogAccountsForEverySMS(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.send("13800138000", "13900000001", "13900000003", "13900000009", "13900000010", "13800138001", "13800138002")
	journal := filepath.Join(t.TempDir(), "journal")
	dead := make(chan struct{})
	go func() { // this one dies at its sixth message, and lost answers before
		defer close(dead)
		said := 0
		_, _ = h.run(t.Context(), h.options(losing("/report", 2), func(o *Options) {
			o.Journal = journal
			phone := o.Phone
			o.Phone = phoneFunc(func(ctx context.Context, text Text) Result {
				r := phone.Send(ctx, text)
				if said++; said == 6 {
					runtime.Goexit()
				}
				return r
			})
		}))
	}()
	<-dead
	for h.states(ids[2])[0] != posthouse.Sent || h.states(ids[6])[0] != posthouse.Sent {
		_, err := h.run(t.Context(), h.options(losing("/claims", 1), func(o *Options) { o.Journal = journal }))
		must(t, err)
	}
	report, err := verify.Check(t.Context(), verify.Inputs{
		Events: h.events(ids), Sink: strings.NewReader(h.sink.String()), AtRest: true, Sometimes: []string{"none"},
	})
	must(t, err)
	if report.Verdict != verify.Holds {
		t.Errorf("the verdict is %s:\n%s", report.Verdict, violations(report))
	}
}

// events is the log of messages' deliveries, as a verdict reads it.
func (h *house) events(messages []string) func(func(posthouse.Event, error) bool) {
	var all []posthouse.Event
	for _, id := range messages {
		list, err := h.client.Deliveries.Events(h.t.Context(), h.delivery(id).ID)
		must(h.t, err)
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b posthouse.Event) int { return cmp.Compare(a.Delivery, b.Delivery) })
	return func(yield func(posthouse.Event, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func violations(r verify.Report) string {
	var out strings.Builder
	for _, i := range r.Invariants {
		for _, v := range i.Violations {
			out.WriteString(i.Name + " " + v.What + "\n  " + strings.Join(v.Excerpt, "\n  ") + "\n")
		}
	}
	return out.String()
}
