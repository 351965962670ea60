package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// slowSweep is a database that gives the rescuer the first lost leases it finds when the test says so.
type slowSweep struct {
	database
	found, goOn chan struct{}
	looks       atomic.Int32 // that found any
}

func (s *slowSweep) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) ([]posthouse.Delivery, error) {
	after, err := s.database.Revise(ctx, now, sel, decide)
	if sel.Due == work.LeaseLost && len(after) > 0 {
		if s.looks.Add(1) == 1 {
			close(s.found)
			<-s.goOn
		}
	}
	return after, err
}

// A herd of lost leases, such as another process leaves that died, must not keep the database busy while this one drains.
func TestASweepEndsWhenTheEngineStops(t *testing.T) {
	virtual(t, func(r *rig) {
		db := &slowSweep{database: storetest.All(r.store), found: make(chan struct{}), goOn: make(chan struct{})}
		r.between(db)
		r.open("c", posthouse.ChannelSettings{}, state.Opened{})
		r.open("slow", posthouse.ChannelSettings{}, state.Opened{Timeout: time.Hour, Driver: sends(func(ctx context.Context, _ channel.Outgoing) channel.Result {
			<-ctx.Done() // the drain lasts as long as it may
			return channel.Result{Class: posthouse.ClassUnknown}
		})})
		r.pause("c")
		for range 3 * rescue.Batch {
			r.send(text("c", "u1"))
		}
		r.send(text("slow", "u1"))
		_, err := r.store.Queue.Claim(r.Context(), time.Now(), work.Claim{
			Lane: work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}, Max: 3 * rescue.Batch, Owner: "dead", Lease: time.Minute, Epoch: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		<-db.found
		go func() {
			<-r.engine.life.Stopping()
			close(db.goOn)
		}()
		r.stop()
		if n := db.looks.Load(); n != 1 {
			t.Errorf("%d looks found lost leases, want none after the one at whose end the engine stopped", n)
		}
	})
}
