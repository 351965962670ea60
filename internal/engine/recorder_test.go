package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/decide"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// written counts the writes of results.
type written struct {
	storetest.Whole
	n atomic.Int32
}

func (w *written) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	w.n.Add(1)
	return w.Whole.Record(ctx, now, decide)
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
				w := &written{Whole: storetest.All(r.store)}
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

// lossy is a store whose connection breaks while it writes about deliveries that are named: the first times before the
// commit, or with its answer lost.
type lossy struct {
	storetest.Whole
	breaks    atomic.Int32 // how often yet
	committed bool
}

func (l *lossy) broken(write func() error) error {
	lost := l.breaks.Add(-1) >= 0
	if lost && !l.committed {
		return posthouse.Errorf(posthouse.CodeUnavailable, "the connection was reset")
	}
	err := write()
	if lost && err == nil {
		return posthouse.Errorf(posthouse.CodeOutcomeUnknown, "the answer to the commit was lost")
	}
	return err
}

func (l *lossy) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) (refused []string, err error) {
	err = l.broken(func() (err error) {
		refused, err = l.Whole.Record(ctx, now, decide)
		return err
	})
	return refused, err
}

func (l *lossy) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) (after []posthouse.Delivery, err error) {
	if sel.Due != "" {
		return l.Whole.Revise(ctx, now, sel, decide)
	}
	err = l.broken(func() (err error) {
		after, err = l.Whole.Revise(ctx, now, sel, decide)
		return err
	})
	return after, err
}

// refusing is lossy in what follows a refusal alone.
type refusing struct{ lossy }

func (l *refusing) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	return l.Whole.Record(ctx, now, decide)
}

// What was cancelled while it was sent takes its result, however often the connection breaks as it is written.
func TestAResultThatWasRefusedOnceIsWrittenInTheEnd(t *testing.T) {
	for name, committed := range map[string]bool{"before the commit": false, "with its answer": true} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				st := &refusing{lossy{Whole: storetest.All(r.store), committed: committed}}
				r.between(st)
				r.provider.answer = func(out channel.Outgoing) channel.Result {
					<-time.After(5 * time.Second)
					return channel.Result{Class: posthouse.ClassOK, Ref: "r-1"}
				}
				r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, state.Opened{})
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Second)
				if got, err := r.engine.Operator.Cancel(r.Context(), r.tenant, []string{id}); err != nil || got[0].Result != decide.CancelLate {
					r.Fatalf("cancel: %+v, %v", got, err)
				}
				st.breaks.Store(3)
				r.pass(10 * time.Minute)
				if d := r.want(id, posthouse.Sent, "", 0); d.ProviderRef != "r-1" {
					r.Errorf("ref %q, want r-1", d.ProviderRef)
				}
				if got, want := r.history(id), "accept start cancel_request sent "; got != want {
					r.Errorf("history %q, want %q", got, want)
				}
			})
		})
	}
}
