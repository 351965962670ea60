package store

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// standing is an entry whose deliveries stand in a line.
func standing(n int, key string) work.Entry {
	e := entry(n)
	e.Message.OrderingKey, e.Message.Pool = key, "vip"
	for i := range e.Deliveries {
		e.Deliveries[i].Line, e.Deliveries[i].Pool = work.LineOf(key), "vip"
	}
	return e
}

// admitAll admits what it is shown, as the engine does.
func admitAll(found []posthouse.Delivery) (changes []work.Change) {
	for _, d := range found {
		after := d
		after.Line = ""
		changes = append(changes, work.Change{Before: d, After: after, Events: []posthouse.Event{{Type: posthouse.EventAdmit, To: posthouse.Pending, Due: d.DueAt, Epoch: d.Epoch}}})
	}
	return changes
}

// Of one line one message at a time is admitted, whole, however many look at it at once; what waits is claimed by nobody.
func TestALineAdmitsOneMessageAtATime(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var want []string
		key := strings.Repeat("长", 85)
		for range 3 {
			ids := accept(t, s, standing(2, key))
			want = append(want, posthouse.MessageID(ids[0]))
		}
		accept(t, s, standing(1, "another"), standing(1, "another"))
		lane := work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}
		claim := func(pin work.Pin) []work.Item {
			t.Helper()
			lane.Pin = pin
			items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "me", Lease: time.Minute, Epoch: 1})
			if err != nil {
				t.Fatal(err)
			}
			return items
		}
		if pins, err := s.Queue.DuePins(t.Context(), at(), "t1", "c1"); len(pins) > 0 || err != nil {
			t.Errorf("what stands in line is taken for pinned: %v, %v", pins, err)
		}
		line := work.LineKey{Tenant: "t1", Channel: "c1", Name: work.LineOf(key)}
		var got []string
		for range want {
			var mu sync.Mutex
			var admitted []posthouse.Delivery
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					list, _, err := s.Queue.Admit(t.Context(), at(), []work.LineKey{line}, 10, admitAll)
					mu.Lock()
					defer mu.Unlock()
					if admitted = append(admitted, list...); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if len(admitted) != 2 || admitted[0].Pool != "vip" || admitted[0].Line != "" {
				t.Fatalf("%d deliveries were admitted: %+v", len(admitted), admitted)
			}
			holder, err := s.Queue.Holder(t.Context(), line)
			if got = append(got, holder); err != nil {
				t.Fatal(err)
			}
			if items := claim(""); len(items) > 0 {
				t.Errorf("%d were claimed for no pool", len(items))
			}
			items := claim(work.ByPool("vip"))
			if len(items) != 2 {
				t.Fatalf("%d were claimed, want the two that were admitted", len(items))
			}
			for _, item := range items {
				record(t, s, step(item.Delivery, posthouse.EventSent, posthouse.Sent))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("admitted %v, want %v", got, want)
		}
		list, looked, err := s.Queue.Admit(t.Context(), at(), nil, 10, admitAll)
		if err != nil || looked != 1 || len(list) != 1 {
			t.Errorf("%d lines were looked at and %d deliveries admitted of those whose time has come, %v; want 1 and 1", looked, len(list), err)
		}
		if list, _, err := s.Queue.Admit(t.Context(), at(), []work.LineKey{line}, 10, admitAll); len(list) > 0 || err != nil {
			t.Errorf("of a line that is empty %v are admitted, %v", list, err)
		}
		if holder, err := s.Queue.Holder(t.Context(), line); holder != "" || err != nil {
			t.Errorf("of a line that is empty %q is left, %v", holder, err)
		}
	})
}
