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

// Reviser locks deliveries and changes them.
type Reviser interface {
	Revise(ctx context.Context, now time.Time, sel work.Selection, decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Refuges are the accounts of channels that fail over.
type Refuges interface {
	// Stranded are the lanes in which something may be due for an account that cannot send for a while, or is gone.
	Stranded(now time.Time) []work.Lane
	// Refuge is the account of a channel that is to have what is stranded, empty where none can send.
	Refuge(k state.Key, now time.Time) string
	// Moved notes that an account was given so many deliveries of a priority.
	Moved(k state.Key, account string, p posthouse.Priority, n int)
}

// Mover pins what waits for an account that cannot send to another one, where its channel fails over.
type Mover struct {
	Queue   Reviser
	Refuges Refuges
	Life    *life.Life
	Log     *slog.Logger
}

const (
	moveEvery = time.Second // the time between two looks
	moveBatch = 200         // bounds one transaction
)

// Run looks until the engine stops.
func (m *Mover) Run(ctx context.Context) {
	for m.Life.Pause(life.Spread(moveEvery)) {
		for _, l := range m.Refuges.Stranded(time.Now()) {
			if err := m.move(ctx, l); err != nil && ctx.Err() == nil {
				m.Log.Warn("what is pinned to an account that cannot send cannot be moved now", "tenant", l.Tenant, "channel", l.Channel, "account", l.Pin.Account(), "error", err)
			}
		}
	}
}

// move pins all that is due in a lane, and may move, to accounts that can send.
func (m *Mover) move(ctx context.Context, from work.Lane) error {
	key := state.Key{Tenant: from.Tenant, Channel: from.Channel}
	sel := work.Selection{Due: work.Stranded, Lane: from, Max: moveBatch}
	for moved := 0; ; {
		to := m.Refuges.Refuge(key, time.Now())
		if to == "" {
			return nil // no account can send
		}
		n, seen := 0, 0
		_, err := m.Queue.Revise(ctx, time.Now(), sel, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
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
			m.Refuges.Moved(key, to, from.Priority, n)
		}
		if seen < moveBatch || n == 0 {
			if moved > 0 {
				m.Log.Info("messages moved from an account that cannot send", "tenant", from.Tenant, "channel", from.Channel, "account", from.Pin.Account(), "messages", moved)
			}
			return nil
		}
	}
}
