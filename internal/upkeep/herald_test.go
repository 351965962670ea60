package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/work"
)

// noted is a table of processes that writes down what is asked of it.
type noted struct {
	calls []string
	err   error
}

func (n *noted) Beat(_ context.Context, _ time.Time, _ time.Duration, p work.Process) (int, error) {
	n.calls = append(n.calls, "beat "+p.ID)
	return 7 * len(n.calls), n.err
}

func (n *noted) Leave(ctx context.Context, id string) error {
	n.calls = append(n.calls, "leave "+id)
	return ctx.Err()
}

func (n *noted) Forget(context.Context, time.Time) error {
	n.calls = append(n.calls, "forget")
	return nil
}

// A process says at once that it is there, goes on saying so though the database was away, and takes its row away at its end, however it was
// asked to end.
func TestAProcessSaysThatItIsThereUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &noted{}
		var shared []int
		h := Herald{Store: store, Share: func(n int) { shared = append(shared, n) }, Process: work.Process{ID: "a"}, Log: slog.New(slog.DiscardHandler)}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { h.Run(ctx); close(done) }()
		synctest.Wait()
		store.err = errors.New("away")
		time.Sleep(beatEvery * 6 / 5)
		synctest.Wait()
		store.err = nil
		time.Sleep(beatEvery * 6 / 5)
		synctest.Wait()
		end()
		<-done
		if diff := cmp.Diff([]string{"beat a", "forget", "beat a", "beat a", "leave a"}, store.calls); diff != "" {
			t.Errorf("asked of the table (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{7, 28}, shared); diff != "" { // not where the database was away
			t.Errorf("told how many send (-want +got):\n%s", diff)
		}
	})
}
