package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/server"
)

// Two servers on one SQLite file: the second names the first and does not start, also by way of a link. Tools work beside it.
func TestASecondServerOnAnSQLiteFileDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "posthouse.db"), filepath.Join(dir, "link.db")
	h := open(t, "sqlite:"+path)
	h.must(os.Symlink(path, link))
	for _, dsn := range []string{"sqlite:" + path, "sqlite:" + link} {
		err := starts(t, server.Options{DSN: dsn, Keyring: keyring})
		if want := fmt.Sprintf("process %d on ", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ", since ") {
			t.Errorf("%s: the second server says %v, want that it names %q and since when", dsn, err, want)
		}
	}
	tool, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + path, ReadOnly: true})
	h.must(err)
	found, err := tool.DB.Sound(t.Context(), 0)
	if err != nil || len(found.Problems) > 0 || !found.Whole {
		t.Errorf("beside the server a tool finds %+v, %v", found, err)
	}
	h.must(tool.Close())
	_, _, err = h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "sink", Driver: "discard"})
	h.must(err)
	h.must(h.stop(context.WithoutCancel(t.Context())))
	h.must(starts(t, server.Options{DSN: "sqlite:" + path, Keyring: keyring}))
}

// By another name of the file a server would see neither the lock nor the -wal of the one that is there.
func TestAServerDoesNotStartOnAFileWithTwoNames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	if err := starts(t, server.Options{DSN: "sqlite:" + path, Keyring: keyring}); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, path+".too"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".too"} {
		if err := starts(t, server.Options{DSN: "sqlite:" + name, Keyring: keyring}); err == nil || !strings.Contains(err.Error(), "has 2 names") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A file whose structure is damaged ends the start, before anything is written into it.
func TestAServerDoesNotStartOnADamagedFile(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "posthouse.db")
	if err := starts(t, server.Options{DSN: "sqlite:" + whole, Keyring: keyring}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for name, damage := range map[string]func(text []byte) []byte{
		"a page of noise":   func(text []byte) []byte { copy(text[3*page:4*page], strings.Repeat("noise", page)); return text },
		"a page of zeros":   func(text []byte) []byte { clear(text[5*page : 6*page]); return text },
		"cut in the middle": func(text []byte) []byte { return text[:len(text)/2/page*page] },
		"another format":    func(text []byte) []byte { return []byte(strings.Repeat("-- a dump, perhaps\n", page)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "posthouse.db")
			hurt := damage(append([]byte(nil), text...))
			if err := os.WriteFile(path, hurt, 0o600); err != nil {
				t.Fatal(err)
			}
			err := starts(t, server.Options{DSN: "sqlite:" + path, Keyring: keyring})
			if err == nil {
				t.Fatal("it starts")
			}
			if left, err := os.ReadFile(path); err != nil || string(left) != string(hurt) {
				t.Errorf("the start changed the file (%v)", err)
			}
		})
	}
}

// Where a file may not be made, none is, and neither is its folder.
func TestAMissingFileIsNotMadeWhereItMustExist(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := server.New(t.Context(), server.Options{
		DSN: "sqlite:" + filepath.Join(dir, "folder", "posthouse.db"), MustExist: true, Output: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	var missing *sqldb.NoFile
	if made, _ := os.ReadDir(dir); !errors.As(err, &missing) || len(made) > 0 {
		t.Errorf("got %v, and %v was made", err, made)
	}
}
