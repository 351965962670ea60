package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// written counts the writes of results.
type written struct {
	*store.Store
	n atomic.Int32
}

func (w *written) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	w.n.Add(1)
	return w.Store.Record(ctx, now, decide)
}

// Many results that come one after the other share writes while callers come, and are written as they come
// where nobody waits. One that comes alone waits for nothing.
func TestResultsLeaveRoomForCallers(t *testing.T) {
	for name, c := range map[string]struct {
		sends    int
		after    time.Duration // how long the provider takes for the first; each more takes a millisecond longer
		from, to int32
	}{
		"callers come":            {100, 10 * time.Millisecond, 24, 40}, // the last ones are no crowd
		"callers are gone":        {100, time.Second, 100, 100},
		"callers come, few sends": {3, 10 * time.Millisecond, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				w := &written{Store: r.store}
				r.between(w)
				var mu sync.Mutex
				next := c.after
				r.provider.answer = func(out channel.Outgoing) channel.Result {
					mu.Lock()
					wait := next
					next += time.Millisecond
					mu.Unlock()
					<-time.After(wait)
					return channel.Result{Class: posthouse.ClassOK, Ref: out.Delivery}
				}
				r.open("c", posthouse.ChannelSettings{}, idempotent)
				var ids []string
				for range c.sends {
					ids = append(ids, r.send(text("c", "u1"))...)
				}
				r.pass(5 * time.Second)
				for _, id := range ids {
					r.want(id, posthouse.Sent, "", 0)
				}
				if n := w.n.Load(); n < c.from || n > c.to {
					r.Errorf("%d results went in %d writes, want %d to %d", c.sends, n, c.from, c.to)
				}
			})
		})
	}
}
