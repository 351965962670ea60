package sqldb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// file is an SQLite database with one table.
func file(t *testing.T) (s *DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "posthouse.db")
	s = reopen(t, path, false)
	if err := put(t, s, "CREATE TABLE posthouse_words (n INTEGER PRIMARY KEY, text TEXT)"); err != nil {
		t.Fatal(err)
	}
	return s, path
}

func reopen(t *testing.T, path string, sole bool) *DB {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Sole: sole, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some files are gone
	return s
}

func put(t *testing.T, s *DB, text string, args ...any) error {
	t.Helper()
	return s.Change(t.Context(), time.Now(), "test", func(tx *Tx) error { _, err := tx.Exec(text, args...); return err })
}

func words(ctx context.Context, s *DB) (int64, error) {
	n, _, err := First(s.Reads(ctx), Number, "SELECT COUNT(*) FROM posthouse_words")
	return n, err
}

// Nothing of ours makes a file in the place of one that is away: SQLite would take away the log of what was accepted last.
func TestAMovedFileFindsItsLogWhenItComesBack(t *testing.T) {
	t.Parallel()
	for name, substitute := range map[string]func(path string) error{
		"nothing in its place":       func(string) error { return nil },
		"an empty file in its place": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := file(t)
			const most = 30
			for n := range most {
				if err := put(t, s, "INSERT INTO posthouse_words (n) VALUES (?)", n); err != nil {
					t.Fatal(err)
				}
			}
			log, err := os.Stat(path + walEnding)
			if err == nil {
				err = os.Rename(path, path+".away")
			}
			if err == nil {
				err = substitute(path)
			}
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup // more at once than have been, so that connections are opened
			for range 4 * sqliteReaders {
				all.Go(func() { _, _ = words(t.Context(), s) })
			}
			all.Wait()
			if err := put(t, s, "INSERT INTO posthouse_words (n) VALUES (99)"); posthouse.CodeOf(err) != posthouse.CodeUnavailable {
				t.Errorf("a write without its file ended with %v, want unavailable", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if at, err := os.Stat(path); err == nil && at.Size() > 0 || err == nil && name == "nothing in its place" {
				t.Errorf("a file of %d bytes was made where none stood", at.Size())
			}
			if now, err := os.Stat(path + walEnding); err != nil || !os.SameFile(log, now) || now.Size() != log.Size() {
				t.Errorf("%v: the log is not as it was", err)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			if n, err := words(t.Context(), reopen(t, path, true)); n != most || err != nil {
				t.Errorf("the file that is back has %d rows, %v; want %d", n, err, most)
			}
		})
	}
}

// Where a server has worked, neither a missing nor an empty file is a new installation, and nothing beside it is touched.
func TestALostFileIsNoNewInstallation(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "posthouse.db")
			if err := reopen(t, path, true).Close(); err != nil {
				t.Fatal(err)
			}
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			for _, trace := range []string{walEnding, lockEnding} {
				if trace == walEnding {
					if err := os.WriteFile(path+walEnding, []byte("what was accepted last"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				_, err := Open(t.Context(), Options{DSN: "sqlite:" + path})
				if err == nil || !strings.Contains(err.Error(), path+trace+" beside it says that a server has worked on it") {
					t.Errorf("got %v, want a refusal that names %s", err, path+trace)
				}
				if err := os.Remove(path + trace); err != nil {
					t.Errorf("the start took away what it refused: %v", err)
				}
			}
			if lost := new(NoFile); name == "empty" {
				if _, err := Open(t.Context(), Options{DSN: "sqlite:" + path, MustExist: true}); !errors.As(err, &lost) || !lost.Empty {
					t.Errorf("got %v, want a refusal: the lock was moved along with the file", err)
				}
			}
			reopen(t, path, true) // now it is
		})
	}
}

// What is damaged in one place is damaged for all who ask how the database is, until the process ends.
func TestADamagedFileIsNotReady(t *testing.T) {
	t.Parallel()
	s, path := file(t)
	if err := put(t, s, "INSERT INTO posthouse_words (text) SELECT hex(randomblob(1000)) FROM json_each(?)", "["+strings.Repeat("1,", 999)+"1]"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for page := 3; page < 300; page++ { // behind the schema
		if _, err := f.WriteAt([]byte(strings.Repeat("x", pageBytes)), int64(page*pageBytes)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, path, false)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatalf("before anybody has read: %v", err)
	}
	_, err = words(t.Context(), s)
	if err = s.Coded(err, "count"); posthouse.CodeOf(err) != posthouse.CodeUnavailable || err.Error() != Damaged {
		t.Errorf("who reads it gets %v", err)
	}
	if err := s.Ping(t.Context()); err == nil || err.Error() != Damaged {
		t.Errorf("then the database says of itself %v, want %s", err, Damaged)
	}
}

// Where the volume has little room, the log is short: it is written into the file while there is room for both.
func TestALogIsAsShortAsItsVolumeIsSmall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ room, least, most int64 }{
		{1 << 30, walPages, walPages + 100}, {4 << 20, 256, 400}, {0, leastLog, leastLog + 100},
	} {
		t.Run(fmt.Sprint(c.room), func(t *testing.T) {
			t.Parallel()
			s, path := file(t)
			s.ground.free = func(string) (int64, bool) {
				log, err := os.Stat(path + walEnding)
				if err != nil {
					return 0, false
				}
				return c.room - log.Size(), true
			}
			if err := s.committer.alone(func() error { s.committer.roomAt = time.Time{}; return nil }); err != nil {
				t.Fatal(err)
			}
			for n := range 600 { // ten pages each, and some
				if err := put(t, s, "REPLACE INTO posthouse_words (n, text) VALUES (?, hex(randomblob(20000)))", n%3); err != nil {
					t.Fatal(err)
				}
			}
			log, err := os.Stat(path + walEnding)
			if err != nil {
				t.Fatal(err)
			}
			if pages := log.Size() / pageBytes; pages < c.least || pages > c.most {
				t.Errorf("with room for %d bytes the log has %d pages, want from %d to %d", c.room, pages, c.least, c.most)
			}
		})
	}
}

// What a process that was killed has left in its log stands in the file once the next one has opened it.
func TestALogThatWasLeftIsWrittenAtTheStart(t *testing.T) {
	t.Parallel()
	s, path := file(t)
	if err := put(t, s, "INSERT INTO posthouse_words (n) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	left, after := filepath.Join(folder, "left.db"), filepath.Join(folder, "after.db")
	if err := errors.Join(duplicate(path, left), duplicate(path+walEnding, left+walEnding)); err != nil { // as a kill leaves them
		t.Fatal(err)
	}
	reopen(t, left, false)
	if err := duplicate(left, after); err != nil {
		t.Fatal(err)
	}
	if n, err := words(t.Context(), reopen(t, after, false)); n != 1 || err != nil {
		t.Errorf("the file alone has %d rows, %v; want 1", n, err)
	}
}

func duplicate(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
