package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// turner moves what waits where nobody looks.
type turner struct {
	store   Depths
	routes  *Routes
	refresh func(ctx context.Context) error // nil for none
	life    *life.Life
	log     *slog.Logger
}

// turn looks through what was counted.
func (t *turner) turn(ctx context.Context, depths []work.Depth) {
	for i := range depths {
		t.turnLane(ctx, &depths[i])
	}
}

// mostTurned bounds the deliveries that one look moves from lane to lane: it comes again in some seconds.
const mostTurned = 10_000

// turnLane moves what waits in a lane where nobody looks to where somebody does: who accepted it did not know yet that its
// channel had turned from pushed to pulled, or back.
func (t *turner) turnLane(ctx context.Context, d *work.Depth) {
	astray := func() *route {
		r := t.routes.route(d.Tenant, d.Channel)
		if r == nil || d.Unreadable || d.State != posthouse.Pending || d.Pulled == r.Settings.Pulled || t.life.Stopped() {
			return nil
		}
		return r
	}
	r := astray()
	if r != nil && t.refresh != nil {
		if err := t.refresh(ctx); err != nil {
			return
		}
		r = astray() // it may be we who did not know yet
	}
	if r == nil {
		return
	}
	n, err := t.store.Turn(ctx, time.Now(), d.Lane, min(d.Count, mostTurned))
	if err != nil {
		t.log.Warn("deliveries wait where nobody looks and can not be moved now", "tenant", d.Tenant, "channel", d.Channel, "error", err)
	}
	if n > 0 {
		t.log.Info("deliveries were moved to where their channel is served from now", "tenant", d.Tenant, "channel", d.Channel, "deliveries", n, "pulled", r.Settings.Pulled)
		t.routes.Rouse(r.Key, d.Priority)
	}
}
