package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/flow"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/taskbody"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/workflow"
)

// house is a database with Posthouse on it, and a business beside it that has a connection and a
// table of its own.
type house struct {
	*testing.T
	kind     outbox.Database
	dsn      string
	store    *store.Store
	business *sql.DB
	box      *outbox.Box
	arrivals chan channel.Outgoing
	events   chan workflow.Event
}

var databases = []struct {
	kind outbox.Database
	dsn  func(testing.TB) string
}{
	{outbox.SQLite, dbtest.SQLite},
	{outbox.Postgres, dbtest.Postgres},
	{outbox.MySQL, dbtest.MariaDB},
}

// eachDB runs a test on each kind of database, with as many relays on it as said; eachOf on some.
func eachDB(t *testing.T, relays int, test func(h *house)) {
	t.Helper()
	eachOf(t, []outbox.Database{outbox.SQLite, outbox.Postgres, outbox.MySQL}, relays, test)
}

func eachOf(t *testing.T, kinds []outbox.Database, relays int, test func(h *house)) {
	t.Helper()
	t.Parallel()
	for _, db := range databases {
		if !slices.Contains(kinds, db.kind) {
			continue
		}
		t.Run(string(db.kind), func(t *testing.T) {
			t.Parallel()
			dsn := db.dsn(t)
			h := &house{T: t, kind: db.kind, dsn: dsn, arrivals: make(chan channel.Outgoing, 10000), events: make(chan workflow.Event, 100)}
			h.store = openStore(t, dsn)
			h.business = openBusiness(t, dsn)
			h.exec("CREATE TABLE orders (id VARCHAR(100) PRIMARY KEY)")
			h.exec("CREATE TABLE stock (id VARCHAR(100) PRIMARY KEY)")
			h.box = box(t, outbox.Options{Database: db.kind})
			for range relays {
				h.serve()
			}
			test(h)
		})
	}
}

func openStore(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// connections is how many the business has.
const connections = 16

// openDeferred opens an SQLite file so that transactions do not lock it at their beginning.
func openDeferred(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	return openSQL(t, "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=busy_timeout(60000)")
}

// openBusiness opens the database as a program would that knows nothing of Posthouse.
func openBusiness(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	driver, source := "pgx", dsn
	switch u.Scheme {
	case "sqlite":
		driver, source = "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=busy_timeout(60000)&_txlock=immediate"
	case "mysql":
		driver, source = "mysql", fmt.Sprintf("%s@tcp(%s)%s", u.User, u.Host, u.Path)
	}
	return openSQL(t, driver, source)
}

func openSQL(t testing.TB, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(connections)
	t.Cleanup(func() { db.Close() })
	return db
}

// Send is the provider's side of the channel "test".
func (h *house) Send(_ context.Context, out channel.Outgoing) channel.Result {
	h.arrivals <- out
	return channel.Result{Class: posthouse.ClassOK}
}

// serve starts an engine with the channel "test".
func (h *house) serve() {
	h.Helper()
	db := storetest.All(h.store)
	e, err := engine.New(engine.Options{
		Stores: engine.Stores{
			Intake: db, Outbox: db, Plans: db, Reminders: db, Contents: db, HandOuts: db, Held: db, Words: db,
			Queue: db, Receipts: db, Gates: db, Depths: db, Old: db, Epochs: db, Minutes: db, Lines: db, Suppressed: db,
		},
		Rosters: h.store.Rosters, Limiter: limit.SQL{Rows: h.store.Limits}, Log: quiet, Poll: 5 * time.Millisecond,
		TaskEvents: func(_ context.Context, row work.Enqueued, in *taskbody.NewEvent) error {
			r := flow.Reader{Zone: time.UTC}
			e := r.Event("", in)
			if e.At.IsZero() {
				e.At = row.CreatedAt // as the server does
			}
			h.events <- e
			return posthouse.Invalid("the event cannot be read", r.Problems())
		},
	})
	if err != nil {
		h.Fatal(err)
	}
	if err := e.Start(h.Context()); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			h.Error(err)
		}
	})
	ch := posthouse.Channel{Tenant: posthouse.DefaultTenant, Name: "test", Version: 1}
	if err := e.Routes.SetChannel(ch, state.Opened{Driver: h, Window: channel.Forever}); err != nil {
		h.Fatal(err)
	}
}

// exec runs a statement of the business.
func (h *house) exec(query string, args ...any) {
	h.Helper()
	if _, err := h.business.ExecContext(h.Context(), query, args...); err != nil {
		h.Fatal(err)
	}
}

func (h *house) count(table string) (n int) {
	h.Helper()
	if err := h.business.QueryRowContext(h.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		h.Fatal(err)
	}
	return n
}

// order is a transaction of the business: an order and its message.
func (h *house) order(id string, commit bool, d posthouse.Draft) (message string) {
	h.Helper()
	tx, err := h.business.BeginTx(h.Context(), nil)
	if err != nil {
		h.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(h.Context(), "INSERT INTO orders (id) VALUES ('"+id+"')"); err != nil {
		h.Fatal(err)
	}
	ids, err := h.box.Enqueue(h.Context(), tx, d)
	if err != nil {
		h.Fatal(err)
	}
	if commit {
		err = tx.Commit()
	} else {
		err = tx.Rollback()
	}
	if err != nil {
		h.Fatal(err)
	}
	return ids[0]
}

// next waits for n arrivals and returns how often each message arrived.
func (h *house) next(n int) map[string]int {
	h.Helper()
	got := map[string]int{}
	for range n {
		select {
		case out := <-h.arrivals:
			got[out.Message]++
		case <-h.Context().Done():
			h.Fatal("the test ended before everything arrived")
		}
	}
	return got
}

// FLOW-3: a rolled-back business transaction leaves no message, a committed one always does.
func TestRollbackLeavesNothingAndCommitDelivers(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		h.order("rolled back", false, text("nobody"))
		id := h.order("committed", true, text("u1"))
		out := <-h.arrivals
		if out.Message != id || out.Recipient.User != "u1" || !reflect.DeepEqual(out.Content, *text().Content) {
			h.Errorf("arrived: %+v; want message %s", out, id)
		}
		for table, want := range map[string]int{"orders": 1, "posthouse_messages": 1, "posthouse_outbox": 0} {
			if n := h.count(table); n != want {
				h.Errorf("%d rows of %s, want %d", n, table, want)
			}
		}
	})
}

func TestManyWritersAndTwoRelaysDeliverEachMessageOnce(t *testing.T) {
	eachDB(t, 2, func(h *house) {
		const writers, each = 64, 5
		var mu sync.Mutex
		want := map[string]int{}
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					commit := (w+i)%5 != 0
					id := h.order(fmt.Sprint(w, "-", i), commit, text("u1"))
					if commit {
						mu.Lock()
						want[id] = 1
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		got := h.next(len(want))
		if diff := cmp.Diff(want, got); diff != "" {
			h.Errorf("arrivals (-want +got):\n%s", diff)
		}
		for table, want := range map[string]int{"orders": len(want), "posthouse_messages": len(want), "posthouse_outbox": 0} {
			if n := h.count(table); n != want {
				h.Errorf("%d rows of %s, want %d", n, table, want)
			}
		}
	})
}

// FLOW-4, as far as the outbox goes: one message for one dedup key, whoever else says it too.
func TestDedupKeyOfManyWritersMakesOneMessage(t *testing.T) {
	eachDB(t, 2, func(h *house) {
		d := text("u1")
		d.DedupKey = "order 4711"
		var wg sync.WaitGroup
		for w := range 64 {
			wg.Go(func() { h.order(fmt.Sprint(w), true, d) })
		}
		wg.Wait()
		last := h.order("last", true, text("u2")) // comes behind all others
		got := h.next(2)
		if len(got) != 2 || got[last] != 1 {
			h.Errorf("arrivals %v, want one of the many and %s", got, last)
		}
		if n := h.count("posthouse_messages"); n != 2 {
			h.Errorf("%d messages, want 2", n)
		}
	})
}

func TestHandlesOutsideOfATransactionCommitAtOnce(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		conn, err := h.business.Conn(h.Context())
		if err != nil {
			h.Fatal(err)
		}
		var want []string
		for _, handle := range []outbox.Execer{h.business, conn} {
			ids, err := h.box.Enqueue(h.Context(), handle, text("u1"), text("u2"))
			if err != nil {
				h.Fatal(err)
			}
			want = append(want, ids...)
		}
		conn.Close()
		got := h.next(len(want))
		for _, id := range want {
			if got[id] != 1 {
				h.Errorf("message %s arrived %d times", id, got[id])
			}
		}
	})
}

func TestProblemOfADraftLeavesTheTransactionAsItWas(t *testing.T) {
	eachDB(t, 1, func(h *house) {
		tx, err := h.business.BeginTx(h.Context(), nil)
		if err != nil {
			h.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := h.box.Enqueue(h.Context(), tx, text()); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			h.Fatalf("Enqueue = %v", err)
		}
		ids, err := h.box.Enqueue(h.Context(), tx, text("u1"))
		if err != nil {
			h.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			h.Fatal(err)
		}
		if got := h.next(1); got[ids[0]] != 1 {
			h.Errorf("arrived %v, want %s", got, ids)
		}
	})
}

// plainInserts are the statements that docs/guide/outbox.md shows, by heading.
func plainInserts(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/guide/outbox.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, part := range strings.Split(string(page), "\n### ")[1:] {
		heading, rest, _ := strings.Cut(part, "\n```sql\n")
		statement, _, ok := strings.Cut(rest, "\n```\n")
		if ok {
			found[heading] = statement
		}
	}
	return found
}

func TestPlainInsertOfTheGuideDelivers(t *testing.T) {
	inserts := plainInserts(t)
	eachDB(t, 1, func(h *house) {
		heading := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL and MariaDB"}[h.store.DB.Database()]
		statement, ok := inserts[heading]
		if !ok {
			h.Fatalf("the guide has no statement for %s", heading)
		}
		statement = strings.Replace(statement, `"oa"`, `"test"`, 1)
		own := posthouse.NewID()
		h.exec(statement)
		h.exec(strings.Replace(strings.Replace(statement, "(draft)", "(id, draft)", 1), "VALUES (", "VALUES ('"+own+"', ", 1))
		var users []string
		got := map[string]int{}
		for range 2 {
			out := <-h.arrivals
			got[out.Message]++
			users = append(users, out.Recipient.User+": "+out.Content.Text)
		}
		line := "u1: Order 4711 has been shipped"
		if !slices.Equal(users, []string{line, line}) || got[own] != 1 || len(got) != 2 {
			h.Errorf("arrived %v to %v, want two and %s among them", got, users, own)
		}
	})
}
