package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/store"
)

func TestAPlaceIsShownSwitchedAndForgotten(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	environ := []string{"POSTHOUSE_CREATE=true", "POSTHOUSE_DSN=" + dsn}
	expect := func(want string, wantCode int, args ...string) {
		t.Helper()
		if got, code := ran(t, environ, args...); !strings.Contains(got, want) || code != wantCode {
			t.Errorf("%v: got %q and exit code %d, want %q and %d", args, got, code, want, wantCode)
		}
	}
	expect("brought the sqlite schema", 0, "migrate")
	expect("no place holds epoch 1; the database takes writes", 0, "place")
	expect("start a server with the setting place first", 1, "place", "switch", "b")
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Places.Take(t.Context(), time.Now(), "a")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	expect("a holds epoch 1 since", 0, "place")
	expect("a holds the database already: nothing to do", 0, "place", "switch", "a")
	expect("a accepts and starts nothing more (epoch 2)\n\nNo standby follows", 0, "place", "switch", "b")
	expect("b takes over epoch 2: a has ended all it began", 0, "place")
	expect("\"B b\" is no name of a place", 2, "place", "switch", "B b")
	expect("nothing was changed", 2, "place", "forget")
	expect("b holds the database no more", 0, "place", "forget", "--yes")
	expect("no place held the database: nothing to do", 0, "place", "forget", "--yes")
}
