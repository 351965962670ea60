package store

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// databases is what the whole suite runs on; ready is the same with the tables.
var (
	databases = []database{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}}
	ready     = []database{{"sqlite", sqltest.Ready.SQLite}, {"postgres", sqltest.Ready.Postgres}, {"mariadb", sqltest.Ready.MariaDB}}
)

type database struct {
	name string
	dsn  func(testing.TB) string
}

// eachDB runs a test on an empty, migrated database of each kind.
func eachDB(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	t.Parallel()
	for _, db := range ready {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			test(t, openTest(t, db.dsn(t)))
		})
	}
}

// openTest opens and migrates a database and closes it with the test.
func openTest(t testing.TB, dsn string) *Store {
	t.Helper()
	s := openOnly(t, dsn)
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func openOnly(t testing.TB, dsn string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// at is the time tests pass. SQLite goes by it, the others by their own clock, so tests that
// need a time to pass put what they store into the past instead.
func at() time.Time { return time.Now() }

// entry is a message of tenant t1 on channel c1 with n pending deliveries.
func entry(n int, with ...func(*work.Entry)) work.Entry {
	id := posthouse.NewID()
	e := work.Entry{Message: posthouse.Message{
		ID: id, Tenant: "t1", Channel: "c1", Priority: posthouse.Normal,
		Content: posthouse.Content{Title: "标题", Text: "你好 👋"},
	}, DedupWindow: time.Hour}
	for i := range n {
		did := posthouse.DeliveryID(id, i+1)
		e.Deliveries = append(e.Deliveries, posthouse.Delivery{
			ID: did, Message: id, Tenant: "t1", Channel: "c1", Priority: posthouse.Normal,
			Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", i+1), Address: fmt.Sprintf("a%d", i+1)},
			State:     posthouse.Pending, IdemKey: did, OnUnknown: posthouse.Retry, Epoch: 1,
		})
	}
	for _, w := range with {
		w(&e)
	}
	return e
}

// each changes all deliveries of an entry.
func each(change func(d *posthouse.Delivery)) func(*work.Entry) {
	return func(e *work.Entry) {
		for i := range e.Deliveries {
			change(&e.Deliveries[i])
		}
	}
}

// in puts an entry into another tenant and channel.
func in(tenant, channel string) func(*work.Entry) {
	return func(e *work.Entry) {
		e.Message.Tenant, e.Message.Channel = tenant, channel
		each(func(d *posthouse.Delivery) { d.Tenant, d.Channel = tenant, channel })(e)
	}
}

func submit(entries ...work.Entry) *work.Submission {
	return &work.Submission{Tenant: entries[0].Message.Tenant, Endpoint: "messages", KeyTTL: time.Hour, Entries: entries}
}

// accept stores entries and returns their deliveries' ids.
func accept(t testing.TB, s *Store, entries ...work.Entry) (ids []string) {
	t.Helper()
	out, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entries...)})
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	for _, a := range out[0].Accepted {
		for _, d := range a.Deliveries {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

var lane = work.Lane{Tenant: "t1", Channel: "c1", Priority: posthouse.Normal}

func claim(t testing.TB, s *Store, max int) []work.Item {
	t.Helper()
	items, err := s.Queue.Claim(t.Context(), at(), work.Claim{Lane: lane, Max: max, Owner: "w1", Lease: time.Minute, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// step is the change that one event makes of a delivery.
func step(d posthouse.Delivery, event posthouse.EventType, to posthouse.State) work.Change {
	after := d
	after.State = to
	return work.Change{Before: d, After: after, Events: []posthouse.Event{{
		Type: event, To: to, Token: d.Token, Attempt: d.Attempts, Epoch: d.Epoch, Owner: d.LeaseOwner, Tries: d.Tries,
	}}}
}

// record writes changes that must all hold.
func record(t testing.TB, s *Store, changes ...work.Change) {
	t.Helper()
	refused, err := s.Queue.Record(t.Context(), at(), func(time.Time) []work.Change { return changes })
	if err != nil || len(refused) > 0 {
		t.Fatalf("record: %v, refused %v", err, refused)
	}
}

// settle claims all that is due in the lane and ends it by an event.
func settle(t testing.TB, s *Store, event posthouse.EventType, to posthouse.State) []posthouse.Delivery {
	t.Helper()
	var changes []work.Change
	for _, item := range claim(t, s, 1000) {
		changes = append(changes, step(item.Delivery, event, to))
	}
	record(t, s, changes...)
	var after []posthouse.Delivery
	for _, c := range changes {
		after = append(after, c.After)
	}
	return after
}

func wantCode(t testing.TB, err error, want posthouse.Code) {
	t.Helper()
	if err == nil || posthouse.CodeOf(err) != want {
		t.Errorf("error = %v, want code %s", err, want)
	}
}

// tamper runs a statement behind the store's back.
func tamper(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	unfold(t, s)
	err := s.Queue.change(t.Context(), at(), "tamper", func(x *tx) error {
		_, err := x.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unfold expands all clean deliveries, so that a test finds the rows of posthouse_queue, posthouse_settled and
// posthouse_transitions that it looks at or changes.
func unfold(t testing.TB, s *Store) {
	t.Helper()
	messages, err := sqldb.All(s.DB.Reads(t.Context()), sqldb.Word, "SELECT id FROM posthouse_messages WHERE sole = 1")
	if err != nil {
		return // there are no tables yet, or no more
	}
	for i := range messages {
		messages[i] = posthouse.DeliveryID(messages[i], 1)
	}
	for part := range sqldb.Parts(messages, sqldb.BulkStep) {
		err := s.Queue.change(t.Context(), at(), "unfold", func(x *tx) error {
			_, err := expanding{x}.expand("", part)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// count reads one number.
func count(t testing.TB, s *Store, query string, args ...any) int64 {
	t.Helper()
	unfold(t, s)
	n, _, err := sqldb.First(s.DB.Reads(t.Context()), sqldb.Number, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
