package store

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// exported lists a tenant's events, or those of all.
func exported(t *testing.T, s *Store, tenant string) (keys []string) {
	t.Helper()
	_, err := s.History.ExportEvents(t.Context(), tenant, "", func(e posthouse.Event) error {
		keys = append(keys, key(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func key(e posthouse.Event) string { return fmt.Sprintf("%s %04d", e.Delivery, e.Version) }

// pruned deletes a delivery as Prune does.
func pruned(t *testing.T, s *Store, id string) {
	t.Helper()
	for _, from := range []string{"posthouse_transitions WHERE delivery = ?", "posthouse_settled WHERE id = ?", "posthouse_queue WHERE id = ?"} {
		tamper(t, s, "DELETE FROM "+from, id)
	}
}

func TestExportTellsOfDeliveriesWhoseRowsAreGone(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(3))
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		ids = append(ids, accept(t, s, entry(2))...)
		other := accept(t, s, entry(1, in("t2", "c1")))
		want, everything := exported(t, s, "t1"), exported(t, s, "")
		if len(want) != 11 || len(everything) != 12 || !slices.IsSorted(everything) {
			t.Fatalf("the log is %v", everything)
		}
		for _, delete := range []string{"DELETE FROM posthouse_settled WHERE id = ?", "DELETE FROM posthouse_queue WHERE id = ?", "DELETE FROM posthouse_settled WHERE id <> ?", "DELETE FROM posthouse_queue WHERE id <> ?"} {
			tamper(t, s, delete, map[bool]string{true: ids[1], false: ids[3]}[strings.Contains(delete, "settled")])
			if diff := cmp.Diff(want, exported(t, s, "t1")); diff != "" {
				t.Errorf("of t1 after %s (-want +got):\n%s", delete, diff)
			}
			if diff := cmp.Diff(everything, exported(t, s, "")); diff != "" {
				t.Errorf("of all after %s (-want +got):\n%s", delete, diff)
			}
		}
		pruned(t, s, ids[0])
		if diff := cmp.Diff(everything[3:], exported(t, s, "")); diff != "" {
			t.Errorf("without what was pruned (-want +got):\n%s", diff)
		}
		if got := exported(t, s, "t2"); !cmp.Equal(got, []string{other[0] + " 0001"}) {
			t.Errorf("of t2: %v", got)
		}
	})
}

// lastSecond ends the year 9999.
const lastSecond = 253402300799

// A server goes on while the log is read.
func TestExportTakesNothingForLostThatMovesMeanwhile(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(4))
		for _, item := range claim(t, s, 3) {
			record(t, s, step(item.Delivery, posthouse.EventSent, posthouse.Sent))
		}
		list, _, err := s.History.EventsAfter(t.Context(), "")
		if err != nil || len(list) != 10 {
			t.Fatalf("%d events, %v", len(list), err)
		}
		pruned(t, s, ids[0])
		tamper(t, s, "DELETE FROM posthouse_settled WHERE id = ?", ids[1])
		tamper(t, s, "DELETE FROM posthouse_transitions WHERE delivery = ? AND version = 1", ids[1])
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		accept(t, s, entry(1))
		var want, got []string
		for _, e := range list[3:] {
			want = append(want, key(e)+" "+map[bool]string{false: e.Delivery}[e.Delivery == ids[1]])
		}
		list, err = s.History.WithRows(t.Context(), "", list)
		for _, e := range list {
			got = append(got, key(e)+" "+e.Idem)
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestExportReadsDeliveriesWholeHoweverManyEventsTheyHave(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var want []string
		for _, events := range []int{1, reading.ExportStep - 2, 3, 2*reading.ExportStep + 1, reading.ExportStep, 2} {
			id := accept(t, s, entry(1))[0]
			unfold(t, s)
			var rows [][]any
			for v := int64(1); v <= int64(events); v++ {
				e := posthouse.Event{Delivery: id, Version: v, Tenant: "t1", At: at(), Type: posthouse.EventResend, From: posthouse.Unknown, To: posthouse.Pending}
				want = append(want, key(e))
				if v > 1 {
					rows = append(rows, layout.EventValues(&e))
				}
			}
			for part := range sqldb.Parts(rows, 500) {
				if err := s.Queue.change(t.Context(), at(), "insert", func(x *tx) error { return x.Insert(layout.Events, part) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := exported(t, s, ""); !slices.Equal(want, got) {
			t.Errorf("%d events, want %d", len(got), len(want))
		}
	})
}

func TestExportRefusesTimesOutOfRange(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(2))
		good := count(t, s, "SELECT at FROM posthouse_events WHERE delivery = ?", ids[1])
		for _, c := range []struct {
			column string
			us     int64
			fits   bool
		}{
			{"at", 0, false}, {"at", -1, false}, {"at", (lastSecond+1)*1_000_000 - 1, true}, {"at", 1, true},
			{"due_at", 0, true}, {"due_at", -1, false},
			{"at", math.MaxInt64, true}, {"due_at", math.MaxInt64, true}, {"lease_until", math.MaxInt64, true}, // read as the end of all times
		} {
			tamper(t, s, "UPDATE posthouse_transitions SET at = ?, due_at = 0, lease_until = 0", good)
			tamper(t, s, "UPDATE posthouse_transitions SET "+c.column+" = ? WHERE delivery = ?", c.us, ids[1])
			_, err := s.History.ExportEvents(t.Context(), "", "", func(posthouse.Event) error { return nil })
			want := fmt.Sprintf("event 1 of delivery %s: %s is %d, out of range", ids[1], c.column, c.us)
			if (err == nil) != c.fits || (err != nil && !strings.Contains(err.Error(), want)) {
				t.Errorf("%s = %d: %v", c.column, c.us, err)
			}
		}
	})
}

func TestMessagesAreCountedByTenant(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 3 {
			accept(t, s, entry(2), entry(1))
			accept(t, s, entry(1, in("t2", "c1")))
		}
		for _, step := range []int{1, 2, 3, 9, 100} {
			got, err := s.History.CountMessages(t.Context(), step)
			if diff := cmp.Diff(map[string]int{"t1": 6, "t2": 3}, got); err != nil || diff != "" {
				t.Errorf("%d at a time: %v (-want +got):\n%s", step, err, diff)
			}
		}
	})
}
