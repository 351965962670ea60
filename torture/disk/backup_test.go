package disk

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// shelf keeps an old copy of a database and puts it in the place of the new one.
type shelf interface {
	dsn() string
	// keep makes the copy: of SQLite's file while it is in use, of a server's directory while it stands still.
	keep(t *testing.T)
	// restore puts the copy back. Nobody may use an SQLite file meanwhile.
	restore(t *testing.T)
}

func openShelf(t *testing.T, db house.Database) shelf {
	t.Helper()
	if db == house.SQLite {
		dir := t.TempDir()
		return fileShelf{filepath.Join(dir, "posthouse.db"), filepath.Join(dir, "copy.db")}
	}
	kind := dbtest.KindPostgres
	if db == house.MariaDB {
		kind = dbtest.KindMariaDB
	}
	dir := filepath.Join(t.TempDir(), "server")
	return serverShelf{dbtest.Own(t, dbtest.Options{Kind: kind, Dir: dir, Durable: true}), filepath.Join(dir, "data"), filepath.Join(dir, "copy")}
}

// fileShelf is an SQLite file.
type fileShelf struct{ path, copy string }

func (s fileShelf) dsn() string { return "sqlite:" + s.path }

func (s fileShelf) keep(t *testing.T) {
	t.Helper()
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout=10000; VACUUM INTO '"+s.copy+"'"); err != nil {
		t.Fatal(err)
	}
}

func (s fileShelf) restore(t *testing.T) {
	t.Helper()
	remove(t, s.path, s.path+"-wal", s.path+"-shm")
	duplicate(t, s.copy, s.path)
}

// serverShelf is the directory of a server that is killed for the copy: what it finds at its next
// start is what any snapshot of a disk holds.
type serverShelf struct {
	server     *dbtest.Server
	data, copy string
}

func (s serverShelf) dsn() string { return s.server.DSN }

func (s serverShelf) keep(t *testing.T) {
	t.Helper()
	s.still(t, func() { duplicate(t, s.data, s.copy) })
}

func (s serverShelf) restore(t *testing.T) {
	t.Helper()
	s.still(t, func() {
		remove(t, s.data)
		duplicate(t, s.copy, s.data)
		remove(t, filepath.Join(s.data, "postmaster.pid")) // of a process whose number may be another's by now
	})
}

// still does something while the server does not run.
func (s serverShelf) still(t *testing.T, do func()) {
	t.Helper()
	if err := s.server.Kill(); err != nil {
		t.Fatal(err)
	}
	do()
	if err := s.server.Restart(); err != nil {
		t.Fatal(err)
	}
}

func duplicate(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, strings.TrimSpace(string(out)))
	}
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}
