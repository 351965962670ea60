package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// poller looks for work that nobody in this process announced.
type poller struct {
	queue  Queue
	routes *Routes
	gates  *Gatekeeper
	life   *life.Life
	log    *slog.Logger
	every  time.Duration
}

// run looks for what this process did not announce: retries that came due, work that another
// process accepted. One query serves all channels.
func (p *poller) run(ctx context.Context) {
	for tick := 0; p.life.Pause(p.life.Shared(p.every)); tick++ {
		lanes, routes := p.quiet()
		ready, err := p.queue.Ready(ctx, time.Now(), lanes)
		if err != nil {
			if ctx.Err() == nil { // else it was stopped in the middle of the look
				p.log.Warn("the database cannot be asked for due work", "error", err)
			}
			continue
		}
		for i, due := range ready {
			if due {
				routes[i].rouse("", lanes[i].Priority)
			}
		}
		p.lookForPins(ctx)
		if tick%4 == 0 {
			if err := p.gates.look(ctx); err != nil {
				p.log.Warn("parked accounts cannot be read", "error", err)
			}
		}
	}
}

// quiet lists the lanes of continuous channels that nobody has marked as due.
func (p *poller) quiet() (lanes []work.Lane, routes []*route) {
	p.routes.mu.RLock()
	defer p.routes.mu.RUnlock()
	for _, r := range p.routes.routes {
		if r.Settings.Every > 0 || r.Settings.Pulled || r.Stored.PausedAt(time.Now()) {
			continue
		}
		for _, lane := range posthouse.Priorities() {
			if !r.admission.Marked(admission.Lane{Priority: lane}) {
				lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: lane})
				routes = append(routes, r)
			}
		}
	}
	return lanes, routes
}

// pinLook is the share of the time that looks for what is pinned to accounts may take: they read an entry of the index for
// each pin there is.
const pinLook = 20

// lookForPins looks for due deliveries that are pinned to accounts: one query serves a channel, and a channel without
// accounts costs none.
func (p *poller) lookForPins(ctx context.Context) {
	for _, r := range p.fleets() {
		began := time.Now()
		if began.Before(r.pinsFrom) {
			continue
		}
		lanes, err := p.queue.DuePins(ctx, began, r.Key.Tenant, r.Key.Channel)
		if err != nil {
			if ctx.Err() == nil {
				p.log.Warn("the database cannot be asked for what is pinned to accounts", "channel", r.Key.Channel, "error", err)
			}
			return
		}
		for _, l := range lanes {
			r.rouse(l.Pin, l.Priority)
		}
		r.pinsFrom = time.Now().Add(pinLook * time.Since(began))
	}
}

// fleets are the routes with several accounts that send.
func (p *poller) fleets() (list []*route) {
	p.routes.mu.RLock()
	defer p.routes.mu.RUnlock()
	for _, r := range p.routes.routes {
		if r.admission.Several() && !r.Stored.PausedAt(time.Now()) {
			list = append(list, r)
		}
	}
	return list
}
