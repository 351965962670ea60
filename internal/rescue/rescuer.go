// Package rescue finds what nobody else will move: leases without a holder, deadlines that have passed, and unknowns whose time has
// come. What follows from them is said by the package state.
package rescue

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Rescuer finds what nobody else will move. All its fields are required.
type Rescuer struct {
	Queue    Reviser
	Failures func(ctx context.Context, ids []string) (map[string]work.Failures, error) // what has failed before, of each
	Results  Results
	Settings func(state.Key) *state.Settings  // of a channel, cautious ones where it is not open
	Reported func(delivery string) bool       // is a report on it about to be written?
	Unread   func(d *posthouse.Delivery) bool // has its agent shown that it reads nothing it is handed?
	Returned func(list []posthouse.Delivery)  // agents may be handed these again
	Life     *life.Life
	Log      *slog.Logger
	Metrics  *metrics.Metrics
	Every    time.Duration
}

// Reviser locks deliveries and decides on them.
type Reviser interface {
	Revise(ctx context.Context, now time.Time, sel work.Selection,
		decide func(now time.Time, found []posthouse.Delivery) []work.Change) ([]posthouse.Delivery, error)
}

// Results are those of this process that wait to be written.
type Results interface {
	// Stuck reports whether the database takes none of them now.
	Stuck() bool
	// Has reports whether the result of a delivery is among them.
	Has(d posthouse.Delivery) bool
}

// Batch is how many deliveries one transaction of the rescuer touches.
const Batch = 200

// recovery is how long the rescuer holds back when the database takes writes again. Processes that could not write
// results try again within this time, and then their leases are not lost.
const recovery = 2 * time.Second

// Run looks for what nobody else will move: leases without a holder, deadlines, unknowns whose
// time has come.
func (res *Rescuer) Run(ctx context.Context) {
	batch := Batch
	var leases, deadlines, holds life.Sight
	for res.Life.Pause(life.Spread(res.Every)) {
		// Where we cannot write results, others hardly can: to take their leases now would be to send again.
		ok := !res.Results.Stuck()
		if ok {
			_, ok = res.sweep(ctx, work.LeaseLost, &leases, batch, res.rescueLease)
		}
		switch {
		case !ok:
			batch = 1 // enough to find out when the database takes writes again
		case batch == 1:
			batch = Batch
			if !res.Life.Pause(recovery) {
				return
			}
		}
		var gathered []posthouse.Delivery
		res.sweep(ctx, work.PastDeadline, &deadlines, Batch, func(d posthouse.Delivery, _ work.Failures, _ time.Time) (work.Change, bool) {
			if d.Gathered {
				gathered = append(gathered, d)
			}
			return state.AfterDeadline(d), !d.Gathered
		})
		res.expireGathered(ctx, gathered)
		res.sweep(ctx, work.HoldOver, &holds, Batch, func(d posthouse.Delivery, _ work.Failures, _ time.Time) (work.Change, bool) {
			return state.AfterHold(d), true
		})
	}
}

// RescueNow looks for lost leases at once, and says how many it found.
func (res *Rescuer) RescueNow(ctx context.Context) (int, error) {
	n, ok := res.sweep(ctx, work.LeaseLost, &life.Sight{}, Batch, res.rescueLease)
	if !ok {
		return n, posthouse.Errorf(posthouse.CodeUnavailable, "the database does not take the rescue now: try again")
	}
	return n, nil
}

func (res *Rescuer) rescueLease(d posthouse.Delivery, past work.Failures, now time.Time) (work.Change, bool) {
	if res.Results.Has(d) || res.Reported(d.ID) {
		return work.Change{}, false
	}
	res.Metrics.LeaseLosses.Inc()
	return state.AfterLeaseLost(res.Settings(state.KeyOf(&d)), d, past, res.Unread(&d), now), true
}

// sweep handles all overdue deliveries of one kind in sight, a batch a transaction, or just some of them if the
// batch is smaller than usual. It returns how many it moved, and whether the database took it. Those that stay as they are
// do not keep it from what is behind them.
func (res *Rescuer) sweep(ctx context.Context, due work.Due, s *life.Sight, batch int, decide decision) (total int, ok bool) {
	begun, now, since := time.Now(), res.Life.Now(), s.Begin()
	var left time.Time // when the first that stays was due
	for look := (work.Selection{Due: due, Max: batch, Since: since}); !res.Life.Stopped(); {
		moved, stay, err := res.look(ctx, look, decide)
		if err != nil {
			res.Log.Warn("overdue deliveries cannot be handled", "kind", due, "error", err)
			return total, false
		}
		total += moved
		if len(stay) > 0 && left.IsZero() {
			left = stay[0]
		}
		if moved+len(stay) < look.Max || batch < Batch { // else there may be more
			if batch == Batch {
				s.End(since, now, left, time.Since(begun))
			}
			return total, true
		}
		look = behind(look, stay)
	}
	return total, true // the next process handles the rest
}

// look handles overdue deliveries in one transaction. It returns how many it moved, and when those that stay were due.
// Where it matters what failed before, that is read between two looks, and not while rows are locked.
func (res *Rescuer) look(ctx context.Context, look work.Selection, decide decision) (int, []time.Time, error) {
	past := map[string]work.Failures{}
	for {
		moved, stay, unknown, err := res.handle(ctx, look, decide, past)
		if err != nil || len(unknown) == 0 {
			return moved, stay, err
		}
		read, err := res.Failures(ctx, unknown)
		if err != nil {
			res.Log.Warn("what failed before cannot be read: all of it counts", "deliveries", len(unknown), "error", err)
		}
		for _, id := range unknown {
			if past[id] = read[id]; past[id] == nil && err == nil {
				past[id] = work.Failures{}
			}
		}
	}
}

// decision is what becomes of an overdue delivery, nothing where it stays. What failed before is nil where nobody asked.
type decision func(d posthouse.Delivery, past work.Failures, now time.Time) (work.Change, bool)

// recalls reports whether it matters which classes the failures of a delivery had that has lost its lease.
func (res *Rescuer) recalls(due work.Due, d *posthouse.Delivery) bool {
	return due == work.LeaseLost && res.Settings(state.KeyOf(d)).Recalls(d, posthouse.ClassUnknown)
}

// handle does nothing but name deliveries where there are some of which it should be known what failed before.
func (res *Rescuer) handle(ctx context.Context, look work.Selection, decide decision, past map[string]work.Failures) (n int, stay []time.Time, unknown []string, err error) {
	moved := map[string]bool{}
	after, err := res.Queue.Revise(ctx, time.Now(), look, func(now time.Time, found []posthouse.Delivery) []work.Change {
		var changes []work.Change
		clear(moved)
		stay, unknown = nil, nil
		for i := range found {
			if _, known := past[found[i].ID]; !known && res.recalls(look.Due, &found[i]) {
				unknown = append(unknown, found[i].ID)
			}
		}
		if len(unknown) > 0 {
			return nil
		}
		for _, d := range found {
			if c, ok := decide(d, past[d.ID], now); ok {
				changes = append(changes, c)
				moved[d.ID] = true
			} else {
				stay = append(stay, dueOf(&d, look.Due))
			}
		}
		return changes
	})
	if err == nil {
		res.handled(look.Due, slices.DeleteFunc(after, func(d posthouse.Delivery) bool { return !moved[d.ID] }))
	}
	return len(moved), stay, unknown, err
}

// handled tells of what was moved, also those from whom agents may fetch it again.
func (res *Rescuer) handled(due work.Due, list []posthouse.Delivery) {
	var unsent []posthouse.Delivery
	for i := range list {
		d := &list[i]
		if d.Pulled && d.State == posthouse.Pending {
			unsent = append(unsent, *d)
		}
		res.Log.Info("overdue delivery handled", "kind", due, "tenant", d.Tenant, "channel", d.Channel, "message", d.Message, "delivery", d.ID, "state", d.State, "reason", d.Reason)
	}
	res.Returned(unsent)
}

// behind is the look that follows a full one: past those that stay, or at more of them where all were due at once.
func behind(look work.Selection, stay []time.Time) work.Selection {
	if len(stay) == 0 {
		return look
	}
	if last := stay[len(stay)-1]; last.After(look.Since) {
		look.Since = last
	} else {
		look.Max *= 2
	}
	return look
}

func dueOf(d *posthouse.Delivery, due work.Due) time.Time {
	switch due {
	case work.LeaseLost:
		return d.LeaseUntil
	case work.PastDeadline:
		return d.Deadline
	}
	return d.DueAt
}

// expireGathered expires members of collections, each by itself. The store leaves those in peace whose collection's delivery has begun: they share
// what becomes of that.
func (res *Rescuer) expireGathered(ctx context.Context, list []posthouse.Delivery) {
	for i := range list {
		_, err := res.Queue.Revise(ctx, time.Now(), work.Selection{Tenant: list[i].Tenant, IDs: []string{list[i].ID}}, func(_ time.Time, found []posthouse.Delivery) (changes []work.Change) {
			for _, d := range found {
				if d.Gathered && d.State == posthouse.Pending {
					changes = append(changes, state.AfterDeadline(d))
				}
			}
			return changes
		})
		if err != nil {
			res.Log.Warn("what a digest gathered cannot expire now", "tenant", list[i].Tenant, "delivery", list[i].ID, "error", err)
			return
		}
	}
}
