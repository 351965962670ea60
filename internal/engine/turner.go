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

// turnLane moves what waits in a lane where nobody looks to where somebody does: the process that accepted it did not
// know yet that its channel had turned from pushed to pulled, or back.
func (t *turner) turnLane(ctx context.Context, d *work.Depth) {
	r := t.astray(ctx, d)
	if r == nil {
		return
	}
	n, err := t.store.Turn(ctx, time.Now(), d.Lane, min(d.Count, mostTurned))
	if err != nil {
		t.log.Warn("deliveries wait where nobody looks and cannot be moved now", "tenant", d.Tenant, "channel", d.Channel, "error", err)
	}
	if n > 0 {
		t.log.Info("deliveries were moved to where their channel is served from now", "tenant", d.Tenant, "channel", d.Channel, "deliveries", n, "pulled", r.Settings.Pulled)
		t.routes.Rouse(r.Key, d.Priority, "")
	}
}

// astray is the route of a lane where nobody looks, nil for another lane. It is sure of it: this process may be the one
// that did not know yet.
func (t *turner) astray(ctx context.Context, d *work.Depth) *route {
	r := t.elsewhere(d)
	if r == nil || t.refresh == nil {
		return r
	}
	if t.refresh(ctx) != nil {
		return nil
	}
	return t.elsewhere(d)
}

// elsewhere is the route of a lane that it is not served from, as far as this process knows.
func (t *turner) elsewhere(d *work.Depth) *route {
	r := t.routes.route(d.Tenant, d.Channel)
	if r == nil || d.Unreadable || d.State != posthouse.Pending || d.Pulled == r.Settings.Pulled || t.life.Stopped() {
		return nil
	}
	return r
}
