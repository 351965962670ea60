package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/work"
)

// fullStore is a store that has no room for results; for everything else it still has some.
type fullStore struct {
	Store
	full atomic.Bool
}

func (s *fullStore) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	if s.full.Load() {
		return nil, posthouse.Errorf(posthouse.CodeStorageFull, "the database has no room")
	}
	return s.Store.Record(ctx, now, decide)
}

func (s *fullStore) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	if s.full.Load() {
		return nil, posthouse.Errorf(posthouse.CodeStorageFull, "the database has no room")
	}
	return s.Store.Revise(ctx, now, sel, decide)
}

func TestWhenThereIsRoomAgainResultsComeBeforeTheirLeasesAreGivenUp(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		st := &fullStore{Store: r.store}
		start := func(o Options) *Engine {
			o.Store, o.Rosters, o.Limiter = st, r.store, limit.NewMemory()
			e, err := New(o)
			if err == nil {
				err = e.Start(context.Background())
			}
			if err != nil {
				r.Fatal(err)
			}
			return e
		}
		r.engine = start(Options{RescueEvery: time.Second})
		r.open("oa", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, Opened{})
		st.full.Store(true)
		ids := r.send(text("oa", "u1", "u2", "u3", "u4", "u5"))
		r.pass(time.Second)
		other := start(Options{RescueEvery: 100 * time.Millisecond}) // another process, which is quicker
		r.pass(10 * time.Minute)
		st.full.Store(false)
		r.pass(time.Minute)
		if err := other.Stop(context.Background()); err != nil {
			r.Error(err)
		}
		given := 0
		for _, id := range ids {
			if d := r.get(id); d.State != posthouse.Sent {
				r.Errorf("delivery to %s is %s, want sent", d.User, d.State)
			}
			if strings.Contains(r.history(id), "lease_lost") {
				given++
			}
		}
		if given > 1 {
			r.Errorf("%d of %d leases were given up although their results were about to be written, want one at most", given, len(ids))
		}
	})
}

func TestWhereResultsCanNotBeWrittenNothingStartsAndNoneIsLost(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		st := &fullStore{Store: r.store}
		e, err := New(Options{Store: st, Rosters: r.store, Limiter: limit.NewMemory(), Poll: time.Second, RescueEvery: time.Second})
		if err == nil {
			err = e.Start(context.Background())
		}
		if err != nil {
			r.Fatal(err)
		}
		r.engine = e
		r.open("oa", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, Opened{})
		st.full.Store(true)
		first := r.send(text("oa", "u1"))[0]
		r.pass(time.Second)
		second := r.send(text("oa", "u2"))[0]
		r.pass(10 * time.Minute) // the lease of the first is long over
		r.want(first, posthouse.Sending, "", 0)
		r.want(second, posthouse.Pending, "", 0)
		if to := r.provider.to(); len(to) != 1 {
			r.Errorf("sent to %v, want u1 alone: the result of another could not be written either", to)
		}
		st.full.Store(false)
		r.pass(5 * time.Second)
		for _, id := range []string{first, second} {
			r.want(id, posthouse.Sent, "", 0)
			if got, want := r.history(id), "accept start sent "; got != want {
				r.Errorf("history %q, want %q", got, want)
			}
		}
	})
}
