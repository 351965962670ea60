package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// FLEET-7: what failed before counts by its class, as the history of a delivery has it.
func TestTheHistorySaysWhatFailedBefore(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(1), entry(2))
		for _, class := range []posthouse.Class{posthouse.ClassTransient, posthouse.ClassRate, posthouse.ClassTransient} {
			for _, item := range claim(t, s, 10) {
				c := step(item.Delivery, posthouse.EventRetry, posthouse.Pending)
				c.Events[0].Class = class
				record(t, s, c)
			}
		}
		for _, item := range claim(t, s, 10) {
			c := step(item.Delivery, posthouse.EventRetry, posthouse.Pending)
			c.Events[0].Class, c.Events[0].Reason = posthouse.ClassRate, state.ReasonFailover // no failure of the delivery
			record(t, s, c)
		}
		tamper(t, s, "UPDATE posthouse_transitions SET type = 'lease_lost', to_state = 'unknown', class = '' WHERE delivery = ? AND class = 'rate' AND reason = ''", ids[1])
		got, err := s.Queue.Failures(t.Context(), append(ids[:2:2], posthouse.NewID()))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]work.Failures{
			ids[0]: {posthouse.ClassTransient: 2, posthouse.ClassRate: 1}, ids[1]: {posthouse.ClassTransient: 2, posthouse.ClassUnknown: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
