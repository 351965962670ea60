package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
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

// run looks for what nobody in this process announced: retries that came due, work that another
// process accepted. One query serves all channels.
func (p *poller) run(ctx context.Context) {
	for tick := 0; p.life.Pause(life.Spread(p.every)); tick++ {
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
				routes[i].rouse(lanes[i].Priority)
			}
		}
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
		if r.Settings.Every > 0 || r.Settings.Pulled || r.Stored.Paused {
			continue
		}
		r.mu.Lock()
		for _, lane := range posthouse.Priorities() {
			if !r.due[lane] {
				lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: lane})
				routes = append(routes, r)
			}
		}
		r.mu.Unlock()
	}
	return lanes, routes
}
