package store

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// openReader opens a database for look-ups alone.
func openReader(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Log: slog.New(slog.DiscardHandler), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// folder is what stands in a folder, and when each was last written.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range list {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[f.Name()] = info.ModTime().Format(time.RFC3339Nano) + info.Mode().String() + string(text)
	}
	return found
}

// foreign makes a database that is not ours.
func foreign(t *testing.T, path, mode string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE songs (name TEXT)"); err != nil {
		t.Fatal(err)
	}
}

func TestAReaderOpensOnlyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe} {
		if _, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true}); err == nil || !strings.Contains(err.Error(), path+" is no file") {
			t.Errorf("Open(%s) = %v", path, err)
		}
	}
}

func TestTheSchemaIsNewOnlyWhereThereIsNone(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tamper(t, s, "ALTER TABLE posthouse_schema_version RENAME COLUMN version_id TO other")
		if have, _, err := s.Schema.Schema(t.Context()); err == nil {
			t.Errorf("the version is %d, want an error: it cannot be read", have)
		}
		tamper(t, s, "DROP TABLE posthouse_schema_version")
		if have, _, err := s.Schema.Schema(t.Context()); err != nil || have != 0 {
			t.Errorf("the version is %d, %v; want 0", have, err)
		}
	})
}

func TestAReaderLeavesAFileAndItsFolderAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		have int64
	}{
		"ours": {func(t *testing.T, path string) {
			s, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Schema.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			accept(t, s, entry(2))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}, int64(len(versions(t, "sqlite")))},
		"another's":             {func(t *testing.T, path string) { foreign(t, path, "DELETE") }, 0},
		"another's, with a log": {func(t *testing.T, path string) { foreign(t, path, "WAL") }, 0},
		"empty": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		for rights, modes := range map[string][2]os.FileMode{"all rights": {0o600, 0o700}, "a file to read": {0o400, 0o700}, "a folder to read": {0o600, 0o500}, "both to read": {0o400, 0o500}} {
			t.Run(name+", "+rights, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, "x y.db")
				c.make(t, path)
				if err := os.Chmod(path, modes[0]); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, modes[1]); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
				before := folder(t, dir)
				s := openReader(t, path)
				have, _, err := s.Schema.Schema(t.Context())
				if have != c.have || err != nil {
					t.Errorf("Schema = %d, %v; want %d", have, err, c.have)
				}
				if have > 0 && len(exported(t, s, "")) != 2 {
					t.Error("the events are not read")
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(before, folder(t, dir)); diff != "" {
					t.Errorf("it was changed (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func TestAReaderMakesNoFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := Open(t.Context(), Options{DSN: "sqlite:" + dir + "/x.db", ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Open = %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made a folder")
	}
}

func TestAReaderSaysWhyAFileCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	foreign(t, path, "DELETE")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	mayRead := err == nil // root may read everything
	file.Close()
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, ReadOnly: true})
	if err == nil {
		s.Close()
	}
	if denied := err != nil && strings.Contains(err.Error(), "permission denied"); denied == mayRead {
		t.Errorf("Open = %v", err)
	}
}

// A server that runs keeps its newest commits in a log beside the file.
func TestAReaderSeesTheNewestCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	s := openTest(t, "sqlite:"+path)
	accept(t, s, entry(2))
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	r := openReader(t, link)
	if got := exported(t, r, ""); len(got) != 2 {
		t.Errorf("it sees %v", got)
	}
	accept(t, s, entry(3))
	if got := exported(t, r, ""); len(got) != 5 {
		t.Errorf("then it sees %v", got)
	}
	if _, err := r.Epochs.BumpEpoch(t.Context(), at()); err == nil {
		t.Error("it writes")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	accept(t, s, entry(1))

	// The copy is that of a server that was killed.
	kept := t.TempDir()
	for _, name := range []string{"x.db", "x.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(kept, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := folder(t, kept)
	r = openReader(t, filepath.Join(kept, "x.db"))
	if got := exported(t, r, ""); len(got) != 6 {
		t.Errorf("of the copy it sees %v", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	after := folder(t, kept)
	delete(after, "x.db-shm") // the index of the log, which SQLite makes anew
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the copy was changed (-before +after):\n%s", diff)
	}
}
