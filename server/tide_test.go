package server_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/server"
)

// A backup of an hour ago is put back: what was sent since is still to be sent there. The start refuses it until a person
// has run new-epoch, or says that the time it went back to is known.
func TestARestoredBackupIsNotStartedAsItIs(t *testing.T) {
	t.Parallel()
	for name, shelve := range map[string]func(*testing.T) (dsn string, keep, restore func()){
		"sqlite": sqliteShelf, "postgres": postgresShelf,
	} {
		for _, way := range []string{"new-epoch", "accept_older"} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				dsn, keep, restore := shelve(t)
				o := server.Options{DSN: dsn, Keyring: keyring, StateDir: t.TempDir()}
				sendOne(t, o)
				keep()
				sendOne(t, o)
				if err := starts(t, o); err != nil {
					t.Fatalf("the database as it was left: %v", err)
				}
				restore()
				refused := starts(t, o)
				if refused == nil || !strings.Contains(refused.Error(), "the database went back") || !strings.Contains(refused.Error(), "new-epoch") {
					t.Fatalf("the restored database: got %v, want that it went back", refused)
				}
				if way == "new-epoch" {
					newEpoch(t, dsn)
				} else {
					decided := o
					decided.AcceptOlder = namedIn(t, refused)
					if err := starts(t, decided); err != nil {
						t.Fatalf("with the time that the refusal named: %v", err)
					}
				}
				if err := starts(t, o); err != nil {
					t.Fatalf("after %s: %v", way, err)
				}
				restore()
				if err := starts(t, o); err == nil || !strings.Contains(err.Error(), "the database went back") {
					t.Errorf("restored once more: got %v, want that it went back", err)
				}
			})
		}
	}
}

// A database that goes back under a running server: it starts nothing more, and says so.
func TestADatabaseThatGoesBackUnderAServerStopsIt(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, d.dsn(t), func(o *server.Options) { o.StateDir = t.TempDir() })
			var mark string
			h.must(h.db.QueryRowContext(t.Context(), "SELECT value FROM posthouse_meta WHERE name = 'watermark'").Scan(&mark))
			history, _, _ := strings.Cut(mark, " ")
			_, err := h.db.ExecContext(t.Context(), "UPDATE posthouse_meta SET value = '"+history+" 5' WHERE name = 'watermark'")
			h.must(err)
			h.eventually("/readyz says that the database went back", func() bool {
				status, answer := h.call(http.MethodGet, "/readyz", "", "")
				return status == http.StatusServiceUnavailable && strings.Contains(fmt.Sprint(answer["checks"]), "epoch")
			})
			h.eventually("the log says it once", func() bool { // a moment after /readyz does
				return len(h.log.with(line{"msg": "the database went back under this process, which starts nothing more: run posthouse migrate new-epoch --yes, and restart it"})) == 1
			})
			if n := h.number("SELECT COUNT(*) FROM posthouse_meta WHERE value = '" + history + " 5'"); n != 1 {
				t.Error("the process that lived on has raised the mark: the next start would see nothing")
			}
		})
	}
}

const settledCount = "SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'"

func sendOne(t *testing.T, o server.Options) {
	t.Helper()
	h := open(t, o.DSN, func(with *server.Options) { with.StateDir = o.StateDir })
	_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "sink", Driver: "discard"})
	h.must(err)
	before := h.number(settledCount)
	_, err = h.api.Messages.Send(t.Context(), posthouse.Draft{Channel: "sink", To: []posthouse.Recipient{{Address: "a"}}, Content: &posthouse.Content{Text: "hello"}})
	h.must(err)
	h.eventually("it is sent", func() bool { return h.number(settledCount) > before })
	h.must(h.stop(context.WithoutCancel(t.Context())))
}

func newEpoch(t *testing.T, dsn string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Epochs.BumpEpoch(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// namedIn is the time that a refusal says to start with.
func namedIn(t *testing.T, refused error) time.Time {
	t.Helper()
	found := regexp.MustCompile(`--accept-older (\S+)`).FindStringSubmatch(refused.Error())
	if found == nil {
		t.Fatalf("the refusal names no time: %v", refused)
	}
	at, err := schema.ParseMoment(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// sqliteShelf backs up an SQLite file as the guide says.
func sqliteShelf(t *testing.T) (dsn string, keep, restore func()) {
	t.Helper()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "posthouse.db"), filepath.Join(dir, "copy.db")
	keep = func() {
		if _, err := dbtest.SQL(t, "sqlite:"+path).ExecContext(t.Context(), "VACUUM INTO '"+copied+"'"); err != nil {
			t.Fatal(err)
		}
	}
	restore = func() {
		text, err := os.ReadFile(copied)
		for _, ending := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + ending) // of the one that is replaced, if it has left any
		}
		if err == nil {
			err = os.WriteFile(path+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path) // the test's own connections keep the old one
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return "sqlite:" + path, keep, restore
}

// postgresShelf backs up a database by pg_dump and restores it by psql.
func postgresShelf(t *testing.T) (dsn string, keep, restore func()) {
	t.Helper()
	dsn = dbtest.Postgres(t)
	var dump []byte
	run := func(in []byte, name string, args ...string) []byte {
		t.Helper()
		path, err := dbtest.PostgresTool(name)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		var out, wrong bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &wrong
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, &wrong)
		}
		return out.Bytes()
	}
	keep = func() { dump = run(nil, "pg_dump", dsn) }
	restore = func() { // pg_dump --clean cannot drop the keys of partitions
		run(slices.Concat([]byte("DROP SCHEMA public CASCADE; CREATE SCHEMA public;\n"), dump), "psql", "--quiet", "--set", "ON_ERROR_STOP=1", dsn)
	}
	return dsn, keep, restore
}
