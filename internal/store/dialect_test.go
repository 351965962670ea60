package store

import (
	"io/fs"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// copied is a database that nobody has heard of: SQLite's dialect under another name, with a folder of its own.
func copied(t *testing.T) *sqldb.Dialect {
	t.Helper()
	folder := fstest.MapFS{}
	own, err := schema.FilesOf(sqldb.SQLite)
	if err == nil {
		err = fs.WalkDir(own, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(own, path)
			folder[path] = &fstest.MapFile{Data: text}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	d := *sqldb.SQLite
	d.Name, d.Title, d.Folder = "copied", "Copied", folder
	d.Schemes = []string{"sqlite", "copied"} // what SQLite's functions read, and what a DSN says
	return &d
}

// A database is one value, one folder and one line in a table: nothing else asks which one it is.
func TestANewDatabaseIsOneValue(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{
		DSN: "copied:" + filepath.Join(t.TempDir(), "x.db"), Log: slog.New(slog.DiscardHandler), Databases: []*sqldb.Dialect{copied(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if steps, err := s.Schema.Migrate(t.Context()); steps == 0 || err != nil {
		t.Fatalf("the migration took %d steps, %v", steps, err)
	}
	if got := s.DB.Database(); got != "copied" {
		t.Errorf("the database is called %q, want copied", got)
	}
	ids := accept(t, s, entry(2))
	settle(t, s, posthouse.EventSent, posthouse.Sent)
	for _, id := range ids {
		if d, err := s.Messages.Delivery(t.Context(), "t1", id); err != nil || d.State != posthouse.Sent {
			t.Errorf("delivery %s is %s, %v; want sent", id, d.State, err)
		}
	}
	rows := enqueue(t, s, 1)
	if err := s.Outbox.Done(t.Context(), at(), rows); err != nil || len(inOutbox(t, s)) != 0 {
		t.Errorf("the outbox has %v left, %v", inOutbox(t, s), err)
	}
	workWith(t, s)
	if err := s.Schema.MigrateDown(t.Context()); err != nil {
		t.Error(err)
	}
}
