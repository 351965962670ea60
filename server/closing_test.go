package server

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/dbtest"
)

func TestWhatWasOpenedIsClosedInReverse(t *testing.T) {
	t.Parallel()
	var order []string
	var c closing
	first, second := errors.New("the first"), errors.New("the second")
	c.add(func() error { order = append(order, "first"); return first })
	c.add(func() error { order = append(order, "second"); return second })
	err := c.close()
	if want := []string{"second", "first"}; !slices.Equal(order, want) {
		t.Errorf("closed %v, want %v", order, want)
	}
	if !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("got %v, want both errors", err)
	}
	if err := c.close(); err != nil || len(order) != 2 {
		t.Errorf("a second call closed again: %v %v", order, err)
	}
}

// A driver that is listed twice is found after the database and Redis were opened.
func TestAServerThatCannotBeMadeKeepsNothingOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := assemble(t.Context(), Options{
		DSN: "sqlite:" + filepath.Join(dir, "posthouse.db"), Redis: "redis://127.0.0.1:1/0", Announce: func(string) {},
		Drivers: append(builtin.Types(), channel.Type{Name: "webhook"}),
	})
	if err == nil {
		t.Fatal("a driver that is listed twice was taken")
	}
	if err := s.store.DB.Ping(t.Context()); err == nil {
		t.Error("the database is still open")
	}
	if err := s.redis.Close(); err == nil {
		t.Error("the Redis client was still open")
	}
}

// A Redis that is away is named, and the server stays ready: the limits hold without it.
func TestARedisThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	s, err := assemble(t.Context(), Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db"), Redis: "redis://127.0.0.1:1/0", Announce: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.closing.close() })
	i := slices.IndexFunc(s.Readiness(t.Context()), func(c Check) bool { return c.Name == "redis" && !c.OK && c.Optional && c.Detail != "" })
	if i < 0 {
		t.Errorf("the server says %+v", s.Readiness(t.Context()))
	}
}

// FLEET-9: a database that hangs is named, and nothing is said of a Redis that answers.
func TestADatabaseThatHangsIsNamedAlone(t *testing.T) {
	t.Parallel()
	db := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindMariaDB})
	dsn, _, err := db.Database()
	if err != nil {
		t.Fatal(err)
	}
	s, err := assemble(t.Context(), Options{DSN: dsn, Redis: "redis://" + dbtest.Redis(t) + "/0", KeyringFile: filepath.Join(t.TempDir(), "keys"), CreateKeyring: true, StateDir: t.TempDir(), Announce: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.closing.close() })
	if err := db.Freeze(); err != nil {
		t.Fatal(err)
	}
	defer db.Thaw()
	diff := ""
	for range 5 { // each look has three seconds, in which a machine with a lot to do may not come to ask Redis
		said := map[string]bool{}
		for _, c := range s.Readiness(t.Context()) {
			said[c.Name] = c.OK
		}
		if diff = cmp.Diff(map[string]bool{"database": false, "redis": true}, said); diff == "" {
			return
		}
	}
	t.Errorf("what is well (-want +got):\n%s", diff)
}
