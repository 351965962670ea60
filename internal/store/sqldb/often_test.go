package sqldb

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// What stays prepared sees each change, of rows and of the table, and is bounded: what is beyond that is answered too.
func TestLookUpsThatStayPreparedAnswerAsOthersDo(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	change := func(text string) {
		t.Helper()
		if err := s.Change(t.Context(), time.Now(), "test", func(tx *Tx) error { _, err := tx.Exec(text); return err }); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(n int64) {
		got, found, err := First(s.Often(t.Context()), Number, fmt.Sprintf("SELECT n + %d - %d FROM posthouse_words WHERE n = ?", n, n), n)
		if err != nil || !found || got != n {
			t.Errorf("%d: %d, %t, %v", n, got, found, err)
		}
	}
	change("CREATE TABLE posthouse_words (n INTEGER PRIMARY KEY)")
	for n := range int64(maxOften + 10) {
		change(fmt.Sprintf("INSERT INTO posthouse_words (n) VALUES (%d)", n))
		ask(n)
	}
	change("ALTER TABLE posthouse_words ADD COLUMN more TEXT NOT NULL DEFAULT ''")
	var all sync.WaitGroup
	for range 2 * sqliteReaders {
		all.Go(func() {
			for n := range int64(maxOften + 10) {
				ask(n)
			}
		})
	}
	all.Wait()
	if n := len(s.often.texts); n != maxOften {
		t.Errorf("%d texts stay prepared, want %d", n, maxOften)
	}
	if _, _, err := First(s.Often(t.Context()), Number, "SELECT nothing FROM posthouse_words"); err == nil {
		t.Error("a text that cannot be prepared: no error")
	}
}

// Each text is prepared once, however many ask at once: what the second has prepared is closed.
func TestALookUpIsPreparedOnce(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const text = "SELECT 1"
	first, err := s.often.statement(t.Context(), s.Reader, text) //nolint:sqlclosecheck // closed with the pool
	if err != nil {
		t.Fatal(err)
	}
	late, err := s.Reader.PrepareContext(t.Context(), text) //nolint:sqlclosecheck // closed by keep
	if err != nil {
		t.Fatal(err)
	}
	if got := s.often.keep(text, late); got != first {
		t.Error("the second statement is kept beside the first")
	}
	if _, err := late.ExecContext(t.Context()); err == nil {
		t.Error("the second statement is still open")
	}
}
