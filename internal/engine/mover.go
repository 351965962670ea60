package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// mover pins what waits for an account that cannot send to another one, where its channel fails over.
type mover struct {
	queue  Reviser
	routes *Routes
	life   *life.Life
	log    *slog.Logger
}

const (
	// moveEvery is the time between two looks, and worthMoving is how long an account cannot send before what waits for it
	// moves: a short wait for a rate limit is no reason.
	moveEvery   = time.Second
	worthMoving = 5 * time.Second
	// moveBatch bounds one transaction.
	moveBatch = 200
)

func (m *mover) run(ctx context.Context) {
	for m.life.Pause(life.Spread(moveEvery)) {
		for _, r := range m.routes.failingOver() {
			for _, l := range strandedOf(r, time.Now()) {
				if err := m.move(ctx, r, l); err != nil && ctx.Err() == nil {
					m.log.Warn("what is pinned to an account that cannot send cannot be moved now", "tenant", l.Tenant, "channel", l.Channel, "account", l.Pin.Account(), "error", err)
				}
			}
		}
	}
}

// failingOver are the routes with accounts between which messages move.
func (rs *Routes) failingOver() (list []*route) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for _, r := range rs.routes {
		if r.fleet != nil && r.Settings.Failover && !r.Stored.Paused {
			list = append(list, r)
		}
	}
	return list
}

// strandedOf are the lanes in which something may be due for an account that cannot send for a while, or is gone.
func strandedOf(r *route, now time.Time) (lanes []work.Lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet.Asleep(func(of work.Pin, priority posthouse.Priority) {
		if a := r.accounts[of.Account()]; a == nil || r.opens(a, now).Sub(now) >= worthMoving {
			lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: priority, Pin: of})
		}
	})
	return lanes
}

// move pins all that is due in a lane, and may move, to accounts that can send.
func (m *mover) move(ctx context.Context, r *route, from work.Lane) error {
	sel := work.Selection{Due: work.Stranded, Lane: from, Max: moveBatch}
	for moved := 0; ; {
		to := refugeIn(r, time.Now())
		if to == "" {
			return nil // no account can send
		}
		n, seen := 0, 0
		_, err := m.queue.Revise(ctx, time.Now(), sel, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for i := range found {
				if state.Movable(&found[i]) {
					changes = append(changes, state.Moved(found[i], to))
				}
			}
			if n, seen = len(changes), len(found); seen > 0 {
				sel.Since = found[seen-1].DueAt
			}
			return changes
		})
		if err != nil {
			return err
		}
		if moved += n; n > 0 {
			gave(r, to, n)
			r.rouse(work.ByAccount(to), from.Priority)
		}
		if seen < moveBatch || n == 0 {
			if moved > 0 {
				m.log.Info("messages moved from an account that cannot send", "tenant", from.Tenant, "channel", from.Channel, "account", from.Pin.Account(), "messages", moved)
			}
			return nil
		}
	}
}

// refugeIn is the account that has had the least of its share among those that can send, empty where none can.
func refugeIn(r *route, now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *account
	for _, a := range r.accounts {
		if now.Before(r.opens(a, now)) || r.probes(a.Name) {
			continue
		}
		if best == nil || a.Had < best.Had || a.Had == best.Had && a.Name < best.Name {
			best = a
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}
