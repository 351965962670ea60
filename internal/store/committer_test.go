package store

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// What a caller waits for is committed before what queued up earlier.
func TestCallersCommitBeforeTheEngine(t *testing.T) {
	t.Parallel()
	s := openTest(t, databases[0].dsn(t))
	var order []string // the writer's alone
	var all sync.WaitGroup
	queue := func(name string, change func(fn func(*tx) error) error) {
		t.Helper()
		queued := len(s.DB.committer.work)
		all.Go(func() {
			if err := change(func(*tx) error { order = append(order, name); return nil }); err != nil {
				t.Error(err)
			}
		})
		for len(s.DB.committer.work) == queued {
			runtime.Gosched()
		}
	}
	held, release := make(chan struct{}), make(chan struct{})
	all.Go(func() {
		if err := s.DB.committer.alone(func() error { close(held); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-held
	queue("claim", func(fn func(*tx) error) error { return s.Queue.change(t.Context(), at(), "claim", fn) })
	queue("accept", func(fn func(*tx) error) error { return s.Queue.changeFirst(t.Context(), at(), "accept", fn) })
	queue("record", func(fn func(*tx) error) error { return s.Queue.change(t.Context(), at(), "record", fn) })
	close(release)
	all.Wait()
	if want := []string{"accept", "claim", "record"}; !slices.Equal(order, want) {
		t.Errorf("committed in the order %v, want %v", order, want)
	}
}
