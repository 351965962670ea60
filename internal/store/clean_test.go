package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// sentClean is a result that leaves a delivery clean.
func sentClean(d posthouse.Delivery) work.Change {
	c := step(d, posthouse.EventSent, posthouse.Sent)
	a, e := &c.After, &c.Events[0]
	a.StartedAt, a.LeaseUntil, a.LeaseOwner, a.ProviderRef, a.Account = time.Time{}, time.Time{}, "", "ref-1", d.Account
	e.Class, e.Code, e.Ref, e.Account, e.Request, e.Response = posthouse.ClassOK, "0", "ref-1", d.Account, "POST /", "200 好"
	return c
}

// told is everything that the store and the views say of deliveries.
func told(t *testing.T, s *Store, ids ...string) []string {
	t.Helper()
	var list []string
	for _, id := range ids {
		d, err := s.Messages.Delivery(t.Context(), "t1", id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%+v", d))
		events, err := s.History.Events(t.Context(), "t1", id)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			list = append(list, fmt.Sprintf("%+v", e))
		}
	}
	if _, err := s.History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		list = append(list, fmt.Sprintf("exported %+v", e))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	depths, err := s.Queue.Depths(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, fmt.Sprintf("depths %+v", depths))
	counts, err := s.Queue.Counts(t.Context(), "t1", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, fmt.Sprintf("counts %+v", counts))
	for _, f := range []work.Filter{{}, {User: "u1"}, {Channel: "c1"}, {States: []posthouse.State{posthouse.Pending}}, {States: []posthouse.State{posthouse.Sending}},
		{States: []posthouse.State{posthouse.Sent}}, {Kind: "k"}, {Kind: "k", Ref: "7", States: []posthouse.State{posthouse.Sent, posthouse.Failed}}, {Limit: 2}, {Tried: work.TriedBefore}, {Tried: work.NeverTried}} {
		list = append(list, listed(t, s, f)...)
	}
	for _, view := range []string{"posthouse_deliveries", "posthouse_events"} {
		list = append(list, rowsOfView(t, s, view)...)
	}
	return list
}

func listed(t *testing.T, s *Store, f work.Filter) (list []string) {
	t.Helper()
	f.Tenant, f.Sight = "t1", work.SeeAll()
	for {
		found, next, err := s.Messages.Deliveries(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			list = append(list, fmt.Sprintf("%+v lists %+v", f.States, d))
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	f.Cursor = ""
	messages, _, err := s.Messages.Messages(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		list = append(list, fmt.Sprintf("%s %v %d", m.Message.ID, m.Counts, m.Recipients))
	}
	return list
}

func rowsOfView(t *testing.T, s *Store, view string) (list []string) {
	t.Helper()
	rows, err := s.DB.Reader.QueryContext(t.Context(), "SELECT * FROM "+view) //nolint:rowserrcheck // Drain asks
	if err != nil {
		t.Fatal(err)
	}
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(string)
	}
	err = sqldb.Drain(rows, func(scan func(...any) error) error {
		err := scan(values...)
		line := view
		for _, v := range values {
			line += " " + *v.(*string)
		}
		list = append(list, line)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// rowsIn counts rows as they are.
func rowsIn(t *testing.T, s *Store, table string) int64 {
	t.Helper()
	n, _, err := sqldb.First(s.DB.Reads(t.Context()), sqldb.Number, "SELECT COUNT(*) FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func wantRows(t *testing.T, s *Store, want map[string]int64) {
	t.Helper()
	for table, n := range want {
		if got := rowsIn(t, s, table); got != n {
			t.Errorf("%d rows of %s, want %d", got, table, n)
		}
	}
}

// FLEET-12: of clean deliveries no more is claimed than the accounts have seats for, also where the bounds of deliveries and of calls
// hold for another account each: what has no account, nobody sends, and its lease would end in an unknown.
func TestWhatIsClaimedHasAnAccount(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 12 {
			accept(t, s, entry(1))
		}
		claim := work.Claim{
			Lane: lane, Max: 12, Messages: 12, Owner: "w1", Lease: time.Minute, Epoch: 1, Whole: true,
			By: []work.Share{{Account: "north", Max: 6, Messages: 1}, {Account: "south", Max: 6, Messages: 11}},
		}
		items, err := s.Queue.Claim(t.Context(), at(), claim)
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]int{}
		for i := range items {
			by[items[i].Delivery.Account]++
		}
		if diff := cmp.Diff(map[string]int{"north": 1, "south": 6}, by); diff != "" {
			t.Errorf("the accounts of what was claimed (-want +got):\n%s", diff)
		}
		wantRows(t, s, map[string]int64{"posthouse_due": 12 - 7})
	})
}

// A clean delivery is told as any other: what is said of it at each stage is the same once it is expanded. FLEET-12: one claim is for
// several accounts, each its share.
func TestACleanDeliveryIsToldAsAnyOther(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		about := func(e *work.Entry) { e.Message.Kind, e.Message.Ref = "k", "7" }
		var ids []string
		for range 3 {
			ids = append(ids, accept(t, s, entry(1, about))...)
		}
		ids = append(ids, accept(t, s, entry(2))...)
		wantRows(t, s, map[string]int64{"posthouse_due": 3, "posthouse_queue": 2, "posthouse_flights": 0, "posthouse_transitions": 2})
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}, Max: 4, By: []work.Share{{Account: "north", Max: 1}, {Account: "south", Max: 3}}, Owner: "w1", Lease: time.Minute, Epoch: 1})
		if err != nil {
			t.Fatal(err)
		}
		var clean []work.Change
		for _, item := range items {
			if slices.Contains(ids[:3], item.Delivery.ID) {
				clean = append(clean, sentClean(item.Delivery))
			}
		}
		if len(items) != 4 || len(clean) < 2 {
			t.Fatalf("claimed %d, %d of them clean", len(items), len(clean))
		}
		by := map[string]int{}
		for _, item := range items {
			by[item.Delivery.Account]++
		}
		if diff := cmp.Diff(map[string]int{"north": 1, "south": 3}, by); diff != "" {
			t.Errorf("the accounts of what was claimed (-want +got):\n%s", diff)
		}
		record(t, s, clean[0])
		ids = append(ids, accept(t, s, entry(1, about))...)
		wantRows(t, s, map[string]int64{"posthouse_sent": 1, "posthouse_flights": 1, "posthouse_settled": 0})
		before := told(t, s, ids...)
		unfold(t, s)
		wantRows(t, s, map[string]int64{"posthouse_due": 0, "posthouse_sent": 0})
		if diff := cmp.Diff(before, told(t, s, ids...)); diff != "" {
			t.Errorf("a clean delivery and an expanded one (-clean +expanded):\n%s", diff)
		}
		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return clean[1:] })
		if err != nil || len(refused) > 0 {
			t.Errorf("the results of expanded deliveries: %v, refused %v", err, refused)
		}
	})
}

func TestAFlightEndsWithItsLastResult(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 3 {
			accept(t, s, entry(1))
		}
		items := claim(t, s, 10)
		for i, item := range items {
			wantRows(t, s, map[string]int64{"posthouse_flights": 1, "posthouse_sent": int64(i)})
			record(t, s, sentClean(item.Delivery))
		}
		wantRows(t, s, map[string]int64{"posthouse_flights": 0, "posthouse_sent": 3, "posthouse_settled": 0, "posthouse_transitions": 0})
		for _, item := range items {
			refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return []work.Change{sentClean(item.Delivery)} })
			if err != nil || len(refused) != 1 {
				t.Errorf("a second result: %v, refused %v", err, refused)
			}
		}
	})
}

// What somebody else takes out of a flight is theirs: its result is refused, and those of the others hold.
func TestAResultOfADeliveryThatLeftItsFlightIsRefused(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 3 {
			accept(t, s, entry(1))
		}
		items := claim(t, s, 10)
		taken := items[1].Delivery
		after, err := s.Queue.Revise(t.Context(), at(), work.Selection{Tenant: "t1", IDs: []string{taken.ID}}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
			c := step(found[0], posthouse.EventLeaseLost, posthouse.Unknown)
			return []work.Change{c}
		})
		if err != nil || len(after) != 1 || after[0].State != posthouse.Unknown {
			t.Fatalf("%+v, %v", after, err)
		}
		s.Queue.flights = flights{} // as a process that has not heard of it
		var changes []work.Change
		for _, item := range items {
			changes = append(changes, sentClean(item.Delivery))
		}
		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return changes })
		if err != nil || !slices.Equal(refused, []string{taken.ID}) {
			t.Errorf("refused %v, %v; want %s", refused, err, taken.ID)
		}
	})
}

func TestTheRescuerFindsWhatIsLeftOfAFlight(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for range 3 {
			accept(t, s, entry(1))
		}
		items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: 10, Owner: "w1", Lease: time.Microsecond, Epoch: 1})
		if err != nil || len(items) != 3 {
			t.Fatal(items, err)
		}
		record(t, s, sentClean(items[0].Delivery))
		var lost []string
		_, err = s.Queue.Revise(t.Context(), at().Add(time.Second), work.Selection{Due: work.LeaseLost, Max: 100}, func(_ time.Time, found []posthouse.Delivery) []work.Change {
			lost = nil
			for _, d := range found {
				lost = append(lost, d.ID)
				if d.State != posthouse.Sending || d.LeaseOwner != "w1" || d.Attempts != 1 {
					t.Errorf("lost: %+v", d)
				}
			}
			return nil
		})
		slices.Sort(lost)
		want := []string{items[1].Delivery.ID, items[2].Delivery.ID}
		if err != nil || !slices.Equal(lost, want) {
			t.Errorf("lost %v, %v; want %v", lost, err, want)
		}
		wantRows(t, s, map[string]int64{"posthouse_flights": 0, "posthouse_queue": 2, "posthouse_sent": 1})
	})
}

// Clean deliveries that come without a pause hold up no retry.
func TestClaimsTakeCleanDeliveriesAndOthers(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(2), entry(1), entry(1))
		first, second := claim(t, s, 3), claim(t, s, 3)
		if len(first) != 3 || len(second) != 1 {
			t.Errorf("claimed %d and %d, want 3 and 1", len(first), len(second))
		}
		rows, err := s.Queue.Ready(t.Context(), at(), []work.Lane{lane})
		if err != nil || rows[0] {
			t.Errorf("something is ready: %v, %v", rows, err)
		}
	})
}

func TestPruneDeletesWhatWasSentCleanly(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1), entry(1))
		record(t, s, sentClean(claim(t, s, 1)[0].Delivery))
		if err := s.Queue.change(context.Background(), at(), "age", func(x *tx) error {
			for _, q := range []string{"UPDATE posthouse_messages SET id = CONCAT('00', substr(id, 3)) WHERE sole = 1", "UPDATE posthouse_due SET id = CONCAT('00', substr(id, 3))", "UPDATE posthouse_sent SET at = 1, id = CONCAT('00', substr(id, 3))"} {
				if s.DB.Dialect == sqldb.SQLite {
					q = strings.Replace(q, "CONCAT('00', substr(id, 3))", "'00' || substr(id, 3)", 1)
				}
				if _, err := x.Exec(q); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		n, err := s.Upkeep.Prune(t.Context(), at(), work.KeepAll(time.Hour), 100)
		if n != 1 || err != nil {
			t.Errorf("Prune = %d, %v; want 1", n, err)
		}
		wantRows(t, s, map[string]int64{"posthouse_messages": 1, "posthouse_due": 1, "posthouse_sent": 0})
	})
}

// What is wrong with one row stops no other: a delivery whose message is gone is left to the engine, which quarantines it.
func TestADeliveryWithoutItsMessageStopsNoOther(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(1), entry(1), entry(1))
		s.Queue.fresh.lanes = nil // as another process, or this one a little later
		if err := s.Queue.change(t.Context(), at(), "lose", func(x *tx) error {
			_, err := x.Exec("DELETE FROM posthouse_messages WHERE id = ? OR id = ?", posthouse.MessageID(ids[0]), posthouse.MessageID(ids[2]))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		items := claim(t, s, 2)
		items = append(items, claim(t, s, 10)...)
		items = append(items, claim(t, s, 10)...)
		found := map[string]bool{}
		for _, item := range items {
			found[item.Delivery.ID] = item.Message != nil
		}
		if diff := cmp.Diff(map[string]bool{ids[0]: false, ids[1]: true, ids[2]: false}, found); diff != "" {
			t.Errorf("claimed, with a message (-want +got):\n%s", diff)
		}
	})
}

func TestAnEpochPassesDeliveriesWithoutTheirMessage(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ids := accept(t, s, entry(1), entry(1))
		if err := s.Queue.change(t.Context(), at(), "lose", func(x *tx) error {
			_, err := x.Exec("DELETE FROM posthouse_messages WHERE id = ?", posthouse.MessageID(ids[0]))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if held, err := s.Epochs.BumpEpoch(t.Context(), at()); held != 1 || err != nil {
			t.Errorf("BumpEpoch = %d, %v; want 1 held", held, err)
		}
		wantRows(t, s, map[string]int64{"posthouse_due": 0, "posthouse_queue": 1})
	})
}

// The answer to a commit may be lost: the result is recorded again, while others of its flight are still under way.
func TestAResultThatWasRecordedAlreadyIsRefused(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		accept(t, s, entry(1), entry(1))
		items := claim(t, s, 2)
		one := items[0].Delivery
		known := s.Queue.flights.find(&one)
		record(t, s, sentClean(one))
		s.Queue.flights.of[one.ID] = known // as if nobody had heard of the commit
		known.left++
		refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return []work.Change{sentClean(one)} })
		if err != nil || !slices.Equal(refused, []string{one.ID}) {
			t.Errorf("Record again: %v, refused %v; want %s refused", err, refused, one.ID)
		}
		record(t, s, sentClean(items[1].Delivery))
	})
}
