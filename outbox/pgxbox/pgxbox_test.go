package pgxbox_test

import (
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/outbox/pgxbox"
)

var (
	_ outbox.Execer = pgxbox.Handle{}
	_ outbox.Lister = pgxbox.Handle{}
	_ pgxbox.DB     = pgx.Tx(nil)
	_ pgxbox.DB     = (*pgx.Conn)(nil)
	_ pgxbox.DB     = (*pgxpool.Conn)(nil)
	_ pgxbox.DB     = (*pgxpool.Pool)(nil)
)

// house is a database with Posthouse's tables and a native connection of a business.
func house(t *testing.T) (*pgx.Conn, *outbox.Box) {
	t.Helper()
	dsn := dbtest.Postgres(t)
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	box, err := outbox.New(outbox.Options{Database: outbox.Postgres})
	if err != nil {
		t.Fatal(err)
	}
	return conn, box
}

func rows(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT COUNT(*) FROM posthouse_outbox").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// FLOW-3, FLOW-4: with a native transaction of pgx, too.
func TestNativeTransactionTakesItsMessagesWithIt(t *testing.T) {
	t.Parallel()
	conn, box := house(t)
	d := posthouse.Draft{Channel: "oa", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "你好 $1"}, DedupKey: "k"}
	var told []string
	for _, end := range []func(pgx.Tx) error{
		func(tx pgx.Tx) error { return tx.Rollback(t.Context()) },
		func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
		func(tx pgx.Tx) error { return tx.Commit(t.Context()) }, // finds the one before
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids, err := box.Enqueue(t.Context(), pgxbox.In(tx), d)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, ids...)
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	if n := rows(t, conn); n != 1 || told[1] != told[2] {
		t.Errorf("%d rows after a rollback and two commits with one key, told %v; want 1 row and one id of the two", n, told)
	}
}

func TestProblemOfTheDatabaseIsPassedOn(t *testing.T) {
	t.Parallel()
	conn, box := house(t)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "k"} {
		d := posthouse.Draft{Channel: "oa", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}, DedupKey: key}
		if ids, err := box.Enqueue(t.Context(), pgxbox.In(tx), d); err == nil {
			t.Errorf("Enqueue in a transaction that has ended = %v", ids)
		}
	}
}
