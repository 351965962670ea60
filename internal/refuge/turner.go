package refuge

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Lanes turns what waits in a lane to where its channel is served from.
type Lanes interface {
	Turn(ctx context.Context, now time.Time, l work.Lane, most int) (int, error)
}

// Served are the channels as this process knows them.
type Served interface {
	// Pulled reports whether agents fetch what goes by a channel, and whether the channel is open.
	Pulled(k state.Key) (pulled, open bool)
	Rouse(k state.Key, p posthouse.Priority, pin work.Pin)
}

// Turner moves what waits where nobody looks.
type Turner struct {
	Store   Lanes
	Served  Served
	Refresh func(ctx context.Context) error // nil for none
	Life    *life.Life
	Log     *slog.Logger
}

// Turn looks through what was counted.
func (t *Turner) Turn(ctx context.Context, depths []work.Depth) {
	for i := range depths {
		t.turnLane(ctx, &depths[i])
	}
}

// mostTurned bounds the deliveries that one look moves from lane to lane: it comes again in some seconds.
const mostTurned = 10_000

// turnLane moves what waits in a lane where nobody looks to where somebody does: the process that accepted it did not
// know yet that its channel had turned from pushed to pulled, or back.
func (t *Turner) turnLane(ctx context.Context, d *work.Depth) {
	if !t.astray(ctx, d) {
		return
	}
	n, err := t.Store.Turn(ctx, time.Now(), d.Lane, min(d.Count, mostTurned))
	if err != nil {
		t.Log.Warn("deliveries wait where nobody looks and cannot be moved now", "tenant", d.Tenant, "channel", d.Channel, "error", err)
	}
	if n > 0 {
		t.Log.Info("deliveries were moved to where their channel is served from now", "tenant", d.Tenant, "channel", d.Channel, "deliveries", n, "pulled", !d.Pulled)
		t.Served.Rouse(state.Key{Tenant: d.Tenant, Channel: d.Channel}, d.Priority, "")
	}
}

// astray reports whether nobody looks at a lane. It is sure of it: this process may be the one that did not know yet.
func (t *Turner) astray(ctx context.Context, d *work.Depth) bool {
	if !t.elsewhere(d) || t.Refresh == nil {
		return t.elsewhere(d)
	}
	return t.Refresh(ctx) == nil && t.elsewhere(d)
}

// elsewhere reports whether a channel is not served from a lane, as far as this process knows.
func (t *Turner) elsewhere(d *work.Depth) bool {
	pulled, open := t.Served.Pulled(state.Key{Tenant: d.Tenant, Channel: d.Channel})
	return open && !d.Unreadable && d.State == posthouse.Pending && d.Pulled != pulled && !t.Life.Stopped()
}
