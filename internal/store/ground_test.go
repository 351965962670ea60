package store

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// What is done to the files of an SQLite database under a process that has them open.
func TestNothingIsAcceptedIntoAFileThatIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		do    func(t *testing.T, path string)
		Found string
		back  func(t *testing.T, path string) // nil where a restart is needed
	}{
		{"moved away", func(t *testing.T, path string) { moveFile(t, path, path+".away") }, "posthouse.db is not there",
			func(t *testing.T, path string) { moveFile(t, path+".away", path) }},
		{"removed with all beside it", func(t *testing.T, path string) { removeFiles(t, path, path+"-wal", path+"-shm") }, "posthouse.db is not there", nil},
		{"replaced by another", func(t *testing.T, path string) { replaceFile(t, path) }, "posthouse.db is another file", nil},
		{"its log removed", func(t *testing.T, path string) { removeFiles(t, path+"-wal") }, "posthouse.db-wal is not there", nil},
		{"its log replaced", func(t *testing.T, path string) { replaceFile(t, path+"-wal") }, "posthouse.db-wal is another file", nil},
		{"its index removed", func(t *testing.T, path string) { removeFiles(t, path+"-shm") }, "posthouse.db-shm is not there", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "posthouse.db")
			var log strings.Builder
			s := openLogged(t, path, &log)
			accept(t, s, entry(1))
			c.do(t, path)
			for range 2 {
				_, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entry(1))})
				if posthouse.CodeOf(err) != posthouse.CodeUnavailable || err.Error() != sqldb.FileGone {
					t.Fatalf("the accept answered %v, want unavailable: %s", err, sqldb.FileGone)
				}
			}
			if err := s.DB.Ping(t.Context()); err == nil || err.Error() != sqldb.FileGone {
				t.Errorf("the database says of itself %v, want %s", err, sqldb.FileGone)
			}
			if got := strings.Count(log.String(), sqldb.FileGone); got != 1 || !strings.Contains(log.String(), c.Found) {
				t.Errorf("the log says it %d times, want once, and %q:\n%s", got, c.Found, &log)
			}
			if c.back != nil {
				c.back(t, path)
				accept(t, s, entry(1))
			}
		})
	}
}

// What was accepted into a log that somebody removed is in the file when the process finds out.
func TestARemovedLogLosesNothingThatWasAccepted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	var log strings.Builder
	s := openLogged(t, path, &log)
	e := entry(1)
	accept(t, s, e)
	removeFiles(t, path+"-wal")
	if _, err := s.Submissions.Accept(t.Context(), at(), []*work.Submission{submit(entry(1))}); err == nil {
		t.Fatal("accepted without a log")
	}
	copied := filepath.Join(t.TempDir(), "copy.db") // what a kill would leave
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(copied, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+copied)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM posthouse_messages WHERE id = ?", layout.IDOnly(e.Message.ID)).Scan(&n); err != nil || n != 1 {
		t.Errorf("the file holds %d messages (%v), want the one that was accepted; the log:\n%s", n, err, &log)
	}
}

// To close the last connection removes the log by its name: not where it is that of another database.
func TestClosingLeavesTheLogOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	var log strings.Builder
	s := openLogged(t, path, &log)
	accept(t, s, entry(1))
	replaceFile(t, path)
	replaceFile(t, path+"-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path + "-wal"); err != nil || string(text) != "another" {
		t.Errorf("the other database's log reads %.20q, %v", text, err)
	}
}

func openLogged(t *testing.T, path string, log *strings.Builder) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // its file is gone
	if _, err := s.Schema.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func moveFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func removeFiles(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// replace puts another file in the place of one, as cp and mv do.
func replaceFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	moveFile(t, path+".new", path)
}
