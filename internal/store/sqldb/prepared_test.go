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
		got, found, err := First(s.Reads(t.Context()), Number, fmt.Sprintf("SELECT n + %d - %d FROM posthouse_words WHERE n = ?", n, n), n)
		if err != nil || !found || got != n {
			t.Errorf("%d: %d, %t, %v", n, got, found, err)
		}
	}
	change("CREATE TABLE posthouse_words (n INTEGER PRIMARY KEY)")
	for n := range int64(maxPreparedReads + 10) {
		change(fmt.Sprintf("INSERT INTO posthouse_words (n) VALUES (%d)", n))
		ask(n)
	}
	change("ALTER TABLE posthouse_words ADD COLUMN more TEXT NOT NULL DEFAULT ''")
	var all sync.WaitGroup
	for range 2 * sqliteReaders {
		all.Go(func() {
			for n := range int64(maxPreparedReads + 10) {
				ask(n)
			}
		})
	}
	all.Wait()
	if n := len(s.prepared.texts); n != maxPreparedReads {
		t.Errorf("%d texts stay prepared, want %d", n, maxPreparedReads)
	}
	if _, _, err := First(s.Reads(t.Context()), Number, "SELECT nothing FROM posthouse_words"); err == nil {
		t.Error("a text that cannot be prepared: no error")
	}
}

// Each text is prepared once, even if several callers ask at once: the second statement is closed.
func TestALookUpIsPreparedOnce(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const text = "SELECT 1"
	first, err := s.prepared.take(t.Context(), s.Reader, text)
	if err != nil {
		t.Fatal(err)
	}
	late, err := s.Reader.PrepareContext(t.Context(), text) //nolint:sqlclosecheck // closed by keep
	if err != nil {
		t.Fatal(err)
	}
	if got := s.prepared.keep(text, late); got != first {
		t.Error("the second statement is kept beside the first")
	}
	if _, err := late.ExecContext(t.Context()); err == nil {
		t.Error("the second statement is still open")
	}
}

// A statement that is dropped while it is used stays open until its last user gives it back.
func TestADroppedLookUpIsClosedByItsLastUser(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	used, err := s.prepared.take(t.Context(), s.Reader, "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxPreparedReads {
		if _, _, err := First(s.Reads(t.Context()), Number, fmt.Sprintf("SELECT %d", 2+n)); err != nil {
			t.Fatal(err)
		}
	}
	if s.prepared.find("SELECT 1") != nil {
		t.Fatal("the text that was used first is still kept")
	}
	var n int64
	if err := used.stmt.QueryRowContext(t.Context()).Scan(&n); err != nil || n != 1 {
		t.Errorf("the dropped statement reads %d, %v, want 1 as long as it is used", n, err)
	}
	s.prepared.giveBack(used)
	if err := used.stmt.QueryRowContext(t.Context()).Scan(&n); err == nil {
		t.Error("the dropped statement is still open after its last user")
	}
}

// A bound that is a parameter costs no plan a look-up: SQLite would look at its value.
func TestABoundIsNoReasonToPlanAnew(t *testing.T) {
	t.Parallel()
	if got := SQLite.Rebind("SELECT n FROM t WHERE n > ? ORDER BY n LIMIT ?"); got != "SELECT n FROM t WHERE n > ? ORDER BY n LIMIT 0 + ?" {
		t.Error(got)
	}
	if got := MySQL.Rebind("SELECT n FROM t LIMIT ?"); got != "SELECT n FROM t LIMIT ?" {
		t.Error(got)
	}
}
