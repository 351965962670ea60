package house

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// Store opens the database as the judge does: to look, not to change.
func (h *House) Store(t testing.TB) *store.Store {
	t.Helper()
	st := h.openStore(t)
	t.Cleanup(func() { closeStore(t, st) })
	return st
}

func (h *House) openStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(context.WithoutCancel(t.Context()), store.Options{DSN: h.judgeDSN})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func closeStore(t testing.TB, st *store.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// errQuarantined ends the wait for what will never settle by itself.
var errQuarantined = errors.New("deliveries are in quarantine")

// Settle waits until no delivery is pending or sending, for as long as their number changes; those of the given states, such as unknown under
// a policy of hold, may stay. A delivery in quarantine that may not stay ends the test.
func (h *House) Settle(t testing.TB, may ...posthouse.State) {
	t.Helper()
	st := h.openStore(t)
	defer closeStore(t, st) // and not with the test, which may wait many times
	stays := map[posthouse.State]bool{}
	for _, s := range may {
		stays[s] = true
	}
	var left []work.Depth
	var stop error
	open := int64(-1)
	err := waitMore(t.Context(), func() (int64, bool) {
		depths, err := st.Queue.Depths(t.Context())
		if err != nil {
			return open, false // the database may be away; patience ends it
		}
		left, open = left[:0], 0
		for _, d := range depths {
			if stays[d.State] {
				continue
			}
			left, open = append(left, d), open+int64(d.Count)
			if d.State == posthouse.Quarantined {
				stop = errQuarantined
			}
		}
		return open, len(left) == 0 || stop != nil
	})
	if err = errors.Join(err, stop); err != nil {
		t.Fatalf("not settled: %v: %+v\n%s\n%s", err, left, h.Stories(t, st, 3), h.logs())
	}
}

// Stories tells of some open deliveries how they came to be open.
func (h *House) Stories(t testing.TB, st *store.Store, most int) string {
	list, _, err := st.Messages.Deliveries(t.Context(), work.Filter{
		Tenant: posthouse.DefaultTenant, Sight: work.SeeAll(), States: []posthouse.State{posthouse.Pending, posthouse.Sending, posthouse.Unknown, posthouse.Quarantined}, Limit: most,
	})
	if err != nil {
		return err.Error()
	}
	text := ""
	for i := range list {
		events, err := st.History.Events(t.Context(), posthouse.DefaultTenant, list[i].ID)
		text += fmt.Sprintf("%+v\n%+v %v\n", list[i], events, err)
	}
	return text
}

func (h *House) logs() string {
	text := ""
	for _, m := range h.Members {
		log := m.Log()
		text += fmt.Sprintf("--- %s\n%s\n", m.Name(), log[max(0, len(log)-4000):])
	}
	return text
}
