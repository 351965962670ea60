package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// fullStore is a store that has no room for results, or rescues; for everything else it still has some.
type fullStore struct {
	storetest.Whole
	full    atomic.Bool
	results bool // for results alone: rescues are written
	late    bool // and for what follows results that came late
}

func (s *fullStore) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) ([]string, error) {
	if s.full.Load() {
		// What changes nothing finds room: nobody holds these deliveries any more.
		for _, c := range decide(now) {
			if d, err := s.Delivery(ctx, c.Before.Tenant, c.Before.ID); err != nil || d.Token == c.Before.Token && d.State == posthouse.Sending {
				return nil, posthouse.Errorf(posthouse.CodeStorageFull, "the database has no room")
			}
		}
	}
	return s.Whole.Record(ctx, now, decide)
}

func (s *fullStore) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	if s.full.Load() && (!s.results || s.late && sel.Due == "") {
		return nil, posthouse.Errorf(posthouse.CodeStorageFull, "the database has no room")
	}
	return s.Whole.Revise(ctx, now, sel, decide)
}

// crew is a second process beside the rig's, both on a store without room.
func crew(r *rig, st *fullStore) (one, other *Engine) {
	r.stop()
	start := func() *Engine {
		e, err := New(Options{Stores: parts(st), Rosters: r.store.Rosters, Limiter: limit.NewMemory(), Log: slog.New(slog.NewTextHandler(r.Output(), nil)), Poll: time.Second, RescueEvery: time.Second})
		if err == nil {
			err = e.Start(context.Background())
		}
		if err != nil {
			r.Fatal(err)
		}
		return e
	}
	r.engine = start()
	other = start()
	r.Cleanup(func() {
		if err := other.Stop(context.Background()); err != nil {
			r.Error(err)
		}
	})
	return r.engine, other
}

// Two processes that cannot write their results leave each other's leases alone: to take them would be
// to send again.
func TestProcessesWithoutRoomForResultsTakeNobodysLease(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		st := &fullStore{Whole: storetest.All(r.store), results: true}
		one, other := crew(r, st)
		var ids []string
		st.full.Store(true)
		for i, e := range []*Engine{one, other} {
			r.engine = e
			r.open(fmt.Sprintf("c%d", i), posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, state.Opened{})
			ids = append(ids, r.send(text(fmt.Sprintf("c%d", i), "u1", "u2"))...)
			r.pass(time.Second)
		}
		r.engine = one
		r.pass(10 * time.Minute)
		st.full.Store(false)
		r.pass(time.Minute)
		for _, id := range ids {
			r.want(id, posthouse.Sent, "", 0)
			if got, want := r.history(id), "accept start sent "; got != want {
				r.Errorf("history %q, want %q", got, want)
			}
		}
	})
}

// A process whose leases were taken while it could not write results has learnt nothing of the database:
// it tries with one send, not with all it may.
func TestAfterLostResultsOneSendTellsWhetherThereIsRoom(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		st := &fullStore{Whole: storetest.All(r.store), results: true}
		one, _ := crew(r, st) // the other one has nothing to send, and rescues
		r.engine = one
		r.open("oa", posthouse.ChannelSettings{OnUnknown: posthouse.Hold}, state.Opened{})
		st.full.Store(true)
		r.send(text("oa", "u0"))
		r.pass(time.Second)
		for range 100 {
			r.send(text("oa", "u1"))
		}
		r.pass(5 * time.Minute)
		if n := len(r.provider.to()); n < 2 || n > 20 { // one each time the lease of the last is taken
			r.Errorf("%d sends whose results could not be written, want one a lease", n)
		}
		st.full.Store(false)
		r.pass(time.Minute)
		if n := len(r.provider.to()); n != 101 {
			r.Errorf("%d sends in all, want 101", n)
		}
	})
}

// A success whose lease was taken meanwhile is evidence, and waits for room too: without it there would be a copy.
func TestEvidenceThatFoundNoRoomIsWrittenBeforeAnotherSend(t *testing.T) {
	virtual(t, func(r *rig) {
		st := &fullStore{Whole: storetest.All(r.store), results: true, late: true}
		one, _ := crew(r, st) // the other one has nothing to send, and rescues
		r.engine = one
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, state.Opened{})
		st.full.Store(true)
		id := r.send(text("c", "u1"))[0]
		r.pass(5 * time.Minute)
		r.want(id, posthouse.Pending, string(posthouse.ClassUnknown), 1)
		st.full.Store(false)
		r.pass(time.Minute)
		r.want(id, posthouse.Sent, "late_result", 1)
		if got, want := r.history(id), "accept start lease_lost resend evidence "; got != want {
			r.Errorf("history %q, want %q", got, want)
		}
		if to := r.provider.to(); len(to) != 1 {
			r.Errorf("sent to %v, want once", to)
		}
	})
}

func TestWhenThereIsRoomAgainResultsComeBeforeTheirLeasesAreGivenUp(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		r.stop()
		st := &fullStore{Whole: storetest.All(r.store)}
		start := func(o Options) *Engine {
			o.Stores, o.Rosters, o.Limiter, o.Log = parts(st), r.store.Rosters, limit.NewMemory(), slog.New(slog.NewTextHandler(r.Output(), nil))
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
		r.open("oa", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, state.Opened{})
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

func TestWhereResultsCannotBeWrittenNothingStartsAndNoneIsLost(t *testing.T) {
	virtual(t, func(r *rig) {
		r.stop()
		st := &fullStore{Whole: storetest.All(r.store)}
		e, err := New(Options{Stores: parts(st), Rosters: r.store.Rosters, Limiter: limit.NewMemory(), Log: slog.New(slog.NewTextHandler(r.Output(), nil)), Poll: time.Second, RescueEvery: time.Second})
		if err == nil {
			err = e.Start(context.Background())
		}
		if err != nil {
			r.Fatal(err)
		}
		r.engine = e
		r.open("oa", posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, state.Opened{})
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
