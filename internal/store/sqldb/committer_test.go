package sqldb

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// What a caller waits for is committed before what queued up earlier.
func TestCallersCommitBeforeTheEngine(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{DSN: dbtest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var order []string // the writer's alone
	var all sync.WaitGroup
	queue := func(name string, change func(fn func(*Tx) error) error) {
		t.Helper()
		queued := len(s.committer.work)
		all.Go(func() {
			if err := change(func(*Tx) error { order = append(order, name); return nil }); err != nil {
				t.Error(err)
			}
		})
		for len(s.committer.work) == queued {
			runtime.Gosched()
		}
	}
	held, release := make(chan struct{}), make(chan struct{})
	all.Go(func() {
		if err := s.committer.alone(func() error { close(held); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	queue("claim", func(fn func(*Tx) error) error { return s.Change(t.Context(), time.Now(), "claim", fn) })
	queue("accept", func(fn func(*Tx) error) error { return s.ChangeFirst(t.Context(), time.Now(), "accept", fn) })
	queue("record", func(fn func(*Tx) error) error { return s.Change(t.Context(), time.Now(), "record", fn) })
	close(release)
	all.Wait()
	if want := []string{"accept", "claim", "record"}; !slices.Equal(order, want) {
		t.Errorf("committed in the order %v, want %v", order, want)
	}
}
