package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/partition"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// eachPartitioned runs a test on each database that has partitions.
func eachPartitioned(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	eachDB(t, func(t *testing.T, s *Store) {
		if s.Upkeep.parted.Parted() {
			test(t, s)
		}
	})
}

// raw writes without expanding what is clean.
func raw(t *testing.T, s *Store, query string, args ...any) {
	t.Helper()
	if err := s.DB.Change(t.Context(), at(), "raw", func(x *sqldb.Tx) error { _, err := x.Exec(query, args...); return err }); err != nil {
		t.Fatal(err)
	}
}

func slotsOf(t *testing.T, s *Store) []partition.Slot {
	t.Helper()
	list, err := s.Upkeep.parted.Way().List(s.DB.Reads(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// partitionsBefore makes the partitions that a server would have made d ago.
func partitionsBefore(t *testing.T, s *Store, d, keep time.Duration) {
	t.Helper()
	if err := s.Upkeep.parted.PartitionAt(t.Context(), time.Now().Add(-d), keep); err != nil {
		t.Fatal(err)
	}
}

// story is all that is told of one delivery.
func story(t *testing.T, s *Store, ids ...string) []string {
	t.Helper()
	var list []string
	for _, id := range ids {
		d, err := s.Messages.Delivery(t.Context(), "t1", id)
		if err != nil {
			t.Errorf("delivery %s: %v", id, err)
		}
		m, _, err := s.Messages.Message(t.Context(), "t1", posthouse.MessageID(id))
		if err != nil {
			t.Errorf("message of %s: %v", id, err)
		}
		list = append(list, fmt.Sprintf("%+v %+v", d, m))
		events, err := s.History.Events(t.Context(), "t1", id)
		if err != nil || len(events) == 0 {
			t.Errorf("%d events of %s, %v", len(events), id, err)
		}
		for _, e := range events {
			list = append(list, fmt.Sprintf("%+v", e))
		}
	}
	return list
}

// handedIn accepts and claims one message, and records what becomes of it.
func handedIn(t *testing.T, s *Store, e work.Entry, become func(posthouse.Delivery) work.Change) string {
	t.Helper()
	id := accept(t, s, e)[0]
	if become != nil {
		items := claim(t, s, 1)
		if len(items) != 1 || items[0].Delivery.ID != id {
			t.Fatalf("claimed %+v, want %s", items, id)
		}
		record(t, s, become(items[0].Delivery))
	}
	return id
}

func failed(d posthouse.Delivery) work.Change {
	return step(d, posthouse.EventFail, posthouse.Failed)
}

func ambiguous(d posthouse.Delivery) work.Change {
	return step(d, posthouse.EventAmbiguous, posthouse.Unknown)
}

func TestAPartitionIsDroppedWholeButForWhatStays(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		const keep, ago = 30 * day, 59 * day
		partitionsBefore(t, s, 60*day, keep)
		if n := len(slotsOf(t, s)); n != 2*len(partition.InPartitions) {
			t.Fatalf("%d partitions, want the current one and one ahead of each table", n)
		}
		gone := []string{handedIn(t, s, entry(1, aged(ago)), sentClean), handedIn(t, s, entry(1, aged(ago)), failed)}
		raw(t, s, "UPDATE posthouse_sent SET at = at - ?", ago.Microseconds())
		raw(t, s, "UPDATE posthouse_settled SET updated_at = updated_at - ?", ago.Microseconds())
		raw(t, s, "DELETE FROM posthouse_late")
		young := handedIn(t, s, entry(1), sentClean)
		stay := []string{
			handedIn(t, s, entry(1, aged(ago)), sentClean), // settled late
			handedIn(t, s, entry(1, aged(ago)), failed),
			handedIn(t, s, entry(1, aged(ago)), ambiguous), // waits for a person
			handedIn(t, s, entry(1, aged(ago)), nil),       // taken by the claim of the next line
		}
		claim(t, s, 1)
		stay = append(stay, handedIn(t, s, entry(1, aged(ago)), nil))
		two := accept(t, s, entry(2, aged(ago)))
		stay = append(stay, two...)
		told := story(t, s, append(stay, young)...)

		if err := s.Upkeep.Partition(t.Context(), work.KeepAll(keep)); err != nil {
			t.Fatal(err, errors.Unwrap(err))
		}
		for _, h := range slotsOf(t, s) {
			if layout.TimeOfID(h.To).Before(time.Now().Add(-keep - layout.LateAfter)) {
				t.Errorf("partition %s up to %v is there", h.Name, layout.TimeOfID(h.To))
			}
		}
		if diff := cmp.Diff(told, story(t, s, append(stay, young)...)); diff != "" {
			t.Errorf("what stays is told otherwise (-before +after):\n%s", diff)
		}
		for _, id := range gone {
			if _, err := s.Messages.Delivery(t.Context(), "t1", id); posthouse.CodeOf(err) != posthouse.CodeNotFound {
				t.Errorf("delivery %s: %v, want it gone", id, err)
			}
			if _, _, err := s.Messages.Message(t.Context(), "t1", posthouse.MessageID(id)); posthouse.CodeOf(err) != posthouse.CodeNotFound {
				t.Errorf("message of %s: %v, want it gone", id, err)
			}
		}
		var exported []string
		if _, err := s.History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error { exported = append(exported, e.Delivery); return nil }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(exported)
		want := append(slices.Clone(stay), young)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Compact(exported)); diff != "" {
			t.Errorf("deliveries in the log (-want +got):\n%s", diff)
		}
		for range 2 { // what is open goes on: the clean one, then the two
			for _, item := range claim(t, s, 10) {
				record(t, s, sentClean(item.Delivery))
			}
		}
		if _, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(-time.Hour), 1000); err != nil { // they lie outside of partitions now
			t.Error(err)
		}
		for i, id := range stay {
			_, err := s.Messages.Delivery(t.Context(), "t1", id)
			if open := i == 2 || i == 3; open != (err == nil) {
				t.Errorf("delivery %d after a prune of all that is settled: %v", i, err)
			}
		}
	})
}

// A second look finds nothing to do, also of another process.
func TestPartitionsAreMadeOnceAndAhead(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		const keep = 90 * day
		for range 2 {
			partitionsBefore(t, s, 0, keep)
		}
		first := slotsOf(t, s)
		if n := len(first); n != 2*len(partition.InPartitions) {
			t.Errorf("%d partitions, want 2 of each table: %v", n, first)
		}
		partitionsBefore(t, s, -16*day, keep)
		if n := len(slotsOf(t, s)); n != 3*len(partition.InPartitions) {
			t.Errorf("%d partitions near the end of the first, want 3 of each table", n)
		}
		if err := s.Upkeep.parted.PartitionAt(t.Context(), time.Now(), work.Forever); err != nil || len(slotsOf(t, s)) != 4*len(partition.InPartitions) {
			t.Errorf("keeping all: %v, %v", err, slotsOf(t, s))
		}
	})
}

// What was stored before there was a partition, or when none could be made, is pruned row by row.
func TestRowsOutsideOfPartitionsArePrunedOneByOne(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		old := handedIn(t, s, entry(1, aged(60*day)), sentClean)
		now := handedIn(t, s, entry(1), sentClean)
		partitionsBefore(t, s, 0, 30*day)
		if len(slotsOf(t, s)) == 0 {
			t.Fatal("no partition was made beside the rows there are")
		}
		raw(t, s, "UPDATE posthouse_sent SET at = at - ?", (50 * day).Microseconds())
		if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(30*day), 100); n != 1 || err != nil {
			t.Errorf("Prune = %d, %v; want the old one", n, err)
		}
		if _, err := s.Messages.Delivery(t.Context(), "t1", old); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("the old one: %v", err)
		}
		story(t, s, now)
	})
}

// A partition that could not be dropped for a day is no place where rows stay for ever.
func TestRowsOfAPartitionThatStaysArePrunedOneByOne(t *testing.T) {
	eachPartitioned(t, func(t *testing.T, s *Store) {
		const keep = 30 * day
		partitionsBefore(t, s, 60*day, keep)
		handedIn(t, s, entry(1, aged(59*day)), sentClean)
		raw(t, s, "UPDATE posthouse_sent SET at = at - ?", (50 * day).Microseconds())
		s.Upkeep.parted.Denied.Store(true)
		if n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(keep), 100); n != 1 || err != nil {
			t.Errorf("Prune = %d, %v; want 1", n, err)
		}
	})
}

// A stranger with the name of a partition, or of the table that one changes places with, is named and left alone.
func TestAStrangerWithThePlaceOfAPartitionIsNamed(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := openTest(t, dbtest.Postgres(t))
		name := partition.SpansAhead(time.Time{}, time.Now(), 90*day)[0].Slots()[0].Name
		raw(t, s, "CREATE TABLE "+name+" (x int)")
		if err := s.Upkeep.Partition(t.Context(), work.KeepAll(90*day)); !errors.Is(err, schema.ErrStranger) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s named", err, name)
		}
		if list := slotsOf(t, s); len(list) > 0 {
			t.Errorf("partitions were made: %v", list)
		}
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		s := openTest(t, dbtest.MariaDB(t))
		partitionsBefore(t, s, 100*day, 30*day)
		raw(t, s, "CREATE TABLE posthouse_messages_leaving (x int)")
		raw(t, s, "INSERT INTO posthouse_messages_leaving VALUES (7)")
		if err := s.Upkeep.Partition(t.Context(), work.KeepAll(30*day)); !errors.Is(err, schema.ErrStranger) || !strings.Contains(err.Error(), "posthouse_messages_leaving") {
			t.Errorf("got %v, want the stranger named", err)
		}
		if n := count(t, s, "SELECT SUM(x) FROM posthouse_messages_leaving"); n != 7 {
			t.Errorf("the stranger holds %d", n)
		}
	})
}
