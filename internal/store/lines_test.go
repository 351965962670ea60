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

// asEngine admits what it is shown and quarantines what cannot be read, as the engine does.
var asEngine = work.Admission{Admit: admitAll, SetAside: func(d posthouse.Delivery, why string) work.Change {
	c := step(d, posthouse.EventQuarantine, posthouse.Quarantined)
	c.After.Error = why
	return c
}}

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
					list, _, err := s.Queue.Admit(t.Context(), at(), []work.LineKey{line}, 10, asEngine)
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
		list, looked, err := s.Queue.Admit(t.Context(), at(), nil, 10, asEngine)
		if err != nil || looked != 1 || len(list) != 1 {
			t.Errorf("%d lines were looked at and %d deliveries admitted of those whose time has come, %v; want 1 and 1", looked, len(list), err)
		}
		if list, _, err := s.Queue.Admit(t.Context(), at(), []work.LineKey{line}, 10, asEngine); len(list) > 0 || err != nil {
			t.Errorf("of a line that is empty %v are admitted, %v", list, err)
		}
		if holder, err := s.Queue.Holder(t.Context(), line); holder != "" || err != nil {
			t.Errorf("of a line that is empty %q is left, %v", holder, err)
		}
	})
}

// What cannot be read of one line is quarantined, and holds neither the line nor others up: they are admitted by the same look.
func TestALineThatCannotBeReadHoldsNoOtherUp(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var ids []string
		for _, m := range []struct {
			key        string
			recipients int
		}{{"a", 1}, {"odd", 2}, {"odd", 1}, {"history", 1}, {"history", 1}, {"z", 2}} {
			ids = append(ids, accept(t, s, standing(m.recipients, m.key))...)
		}
		odd, history := ids[1], ids[4]
		allow := map[string]string{
			"mysql": "ALTER TABLE posthouse_queue MODIFY provider_ref varchar(512) NULL", "postgres": "ALTER TABLE posthouse_queue ALTER COLUMN provider_ref DROP NOT NULL",
		}
		if text := allow[s.DB.Dialect.Name]; text != "" {
			tamper(t, s, text)
			tamper(t, s, "UPDATE posthouse_queue SET provider_ref = NULL WHERE id = ?", odd)
		} else {
			tamper(t, s, "UPDATE posthouse_queue SET tries = 'many' WHERE id = ?", odd)
		}
		tamper(t, s, "UPDATE posthouse_transitions SET version = 2 WHERE delivery = ?", history)
		list, looked, err := s.Queue.Admit(t.Context(), at(), nil, 10, asEngine)
		if err != nil || looked != 4 {
			t.Fatalf("%d lines were looked at, %v; want all four", looked, err)
		}
		var got []string
		for _, d := range list {
			got = append(got, d.ID)
		}
		want := []string{ids[0], ids[2], ids[5], ids[6], ids[7]}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("admitted %v of %v, want %v", got, ids, want)
		}
		for id, why := range map[string]string{odd: "cannot be read", history: "its history goes on after its row"} {
			found, err := s.Messages.Delivery(t.Context(), "t1", id)
			if err != nil || found.State != posthouse.Quarantined || !strings.Contains(found.Error, why) {
				t.Errorf("%s is %s: %q, %v; want it quarantined, and that %s", id, found.State, found.Error, err, why)
			}
		}
		settled := []string{posthouse.MessageID(ids[0]), posthouse.MessageID(history), "none"}
		if lines, err := s.Queue.LinesHeldBy(t.Context(), settled); err != nil || len(lines) != 1 || lines[0].Name != work.LineOf("a") {
			t.Errorf("the lines are %v, %v; want that of the message that was admitted", lines, err)
		}
	})
}
