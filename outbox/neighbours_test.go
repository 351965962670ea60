package outbox_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/outbox/pgxbox"
)

// neighbour is one of two installations on one server, with the name that plain SQL of others puts before its tables.
type neighbour struct {
	dsn, prefix string
	store       *store.Store
	business    *sql.DB
}

// bySearchPath are two installations in two schemas of one PostgreSQL database.
func bySearchPath(t *testing.T) (list []neighbour) {
	t.Helper()
	dsn := dbtest.Postgres(t)
	plain := openBusiness(t, dsn)
	for _, schema := range []string{"posthouse_a", "posthouse_b"} {
		if _, err := plain.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
			t.Fatal(err)
		}
		own := dsn + "&search_path=" + schema
		if !strings.Contains(dsn, "?") {
			own = dsn + "?search_path=" + schema
		}
		list = append(list, neighbour{own, schema + ".", openStore(t, own), openBusiness(t, own)})
	}
	return list
}

// byDatabase are two installations in two databases of one MariaDB server.
func byDatabase(t *testing.T) (list []neighbour) {
	t.Helper()
	for range 2 {
		dsn := dbtest.MariaDB(t)
		list = append(list, neighbour{dsn, dsn[strings.LastIndex(dsn, "/")+1:] + ".", openStore(t, dsn), openBusiness(t, dsn)})
	}
	return list
}

func (n neighbour) waiting(t *testing.T) int {
	t.Helper()
	waiting, rejected, err := n.store.Outbox.OutboxDepth(t.Context())
	if err != nil || rejected > 0 {
		t.Fatalf("the outbox of %s: %d rejected, %v", n.prefix, rejected, err)
	}
	return waiting
}

// Two installations on one server know nothing of each other, and each gets what was handed in to it: by outbox, and by plain
// SQL of a connection that stands elsewhere.
func TestTwoInstallationsOnOneServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind outbox.Database
		make func(*testing.T) []neighbour
	}{"postgres": {outbox.Postgres, bySearchPath}, "mariadb": {outbox.MySQL, byDatabase}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := c.make(t)
			a, b := both[0], both[1]
			if _, err := box(t, outbox.Options{Database: c.kind}).Enqueue(t.Context(), a.business, text("u1"), text("u2")); err != nil {
				t.Fatal(err)
			}
			if got, other := a.waiting(t), b.waiting(t); got != 2 || other != 0 {
				t.Errorf("after outbox: %d and %d wait, want 2 and 0", got, other)
			}
			draft := `{"channel": "test", "to": [{"user": "u1"}], "content": {"text": "hi"}}`
			if _, err := a.business.ExecContext(t.Context(), "INSERT INTO "+b.prefix+"posthouse_outbox (draft) VALUES ('"+draft+"')"); err != nil {
				t.Fatal(err)
			}
			if got, other := a.waiting(t), b.waiting(t); got != 2 || other != 1 {
				t.Errorf("after plain SQL: %d and %d wait, want 2 and 1", got, other)
			}
			if err := a.store.Schema.MigrateDown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := b.waiting(t); n != 1 {
				t.Errorf("after the other was removed %d wait, want 1", n)
			}
		})
	}
}

// A native connection of pgx writes where its search_path says.
func TestANativeConnectionWritesToItsInstallation(t *testing.T) {
	t.Parallel()
	both := bySearchPath(t)
	conn, err := pgx.Connect(t.Context(), both[1].dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	ids, err := box(t, outbox.Options{Database: outbox.Postgres}).Enqueue(t.Context(), pgxbox.In(conn), text("u1"))
	if err != nil || len(ids) != 1 || !posthouse.ValidID(ids[0]) {
		t.Fatal(ids, err)
	}
	if got, other := both[1].waiting(t), both[0].waiting(t); got != 1 || other != 0 {
		t.Errorf("%d and %d wait, want 1 and 0", got, other)
	}
}
