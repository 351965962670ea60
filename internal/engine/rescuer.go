package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// rescueBatch is how many deliveries one transaction of the rescuer touches.
const rescueBatch = 200

// recovery is how long the rescuer holds back when the database takes writes again: whoever could not
// write results tries again within this time, and then their leases are not lost.
const recovery = 2 * time.Second

// rescue looks for what nobody else will move: leases without a holder, deadlines, unknowns whose
// time has come.
func (e *Engine) rescue(ctx context.Context) {
	batch := rescueBatch
	var leases, deadlines, holds sight
	for e.pause(spread(e.o.RescueEvery)) {
		// Where we can not write results, others can hardly do: to take their leases now would be to send again.
		ok := !e.recorder.stuck()
		if ok {
			_, ok = e.sweep(ctx, work.LeaseLost, &leases, batch, e.rescueLease)
		}
		switch {
		case !ok:
			batch = 1 // enough to find out when the database takes writes again
		case batch == 1:
			batch = rescueBatch
			if !e.pause(recovery) {
				return
			}
		}
		e.sweep(ctx, work.PastDeadline, &deadlines, rescueBatch, func(d posthouse.Delivery, _ time.Time) (work.Change, bool) { return state.AfterDeadline(d), true })
		e.sweep(ctx, work.HoldOver, &holds, rescueBatch, func(d posthouse.Delivery, _ time.Time) (work.Change, bool) { return state.AfterHold(d), true })
	}
}

// RescueNow looks for lost leases at once, and says how many it found.
func (e *Engine) RescueNow(ctx context.Context) (int, error) {
	n, ok := e.sweep(ctx, work.LeaseLost, &sight{}, rescueBatch, e.rescueLease)
	if !ok {
		return n, posthouse.Errorf(posthouse.CodeUnavailable, "the database does not take the rescue now: try again")
	}
	return n, nil
}

func (e *Engine) rescueLease(d posthouse.Delivery, now time.Time) (work.Change, bool) {
	if e.recorder.has(d) || e.reporter.has(d.ID) {
		return work.Change{}, false
	}
	e.metrics.leaseLosses.Inc()
	return state.AfterLeaseLost(e.settingsOf(d), d, now), true
}

// sweep handles all overdue deliveries of one kind in sight, a batch a transaction, or just some of them if the
// batch is smaller than usual. It returns how many it moved, and whether the database took it. Those that stay as they are
// do not keep it from what is behind them.
func (e *Engine) sweep(ctx context.Context, due work.Due, s *sight, batch int, decide func(posthouse.Delivery, time.Time) (work.Change, bool)) (total int, ok bool) {
	begun, now, since := time.Now(), e.clock.now(), s.begin()
	var left time.Time // when the first that stays was due
	for look := (work.Selection{Due: due, Max: batch, Since: since}); !e.isStopping(); {
		moved := map[string]bool{}
		var stay []time.Time // when those that stay were due
		after, err := e.o.Store.Revise(ctx, time.Now(), look, func(now time.Time, found []posthouse.Delivery) []work.Change {
			var changes []work.Change
			clear(moved)
			stay = nil
			for _, d := range found {
				if c, ok := decide(d, now); ok {
					changes = append(changes, c)
					moved[d.ID] = true
				} else {
					stay = append(stay, dueOf(&d, due))
				}
			}
			return changes
		})
		if err != nil {
			e.log.Warn("overdue deliveries can not be handled", "kind", due, "error", err)
			return total, false
		}
		total += len(moved)
		var unsent []work.Hold
		for i := range after {
			d := &after[i]
			if !moved[d.ID] {
				continue
			}
			if d.Pulled && d.State == posthouse.Pending {
				unsent = append(unsent, work.Hold{Delivery: d.ID, Token: d.Token})
				e.desk.wake(state.KeyOf(d))
			}
			e.log.Info("overdue delivery handled", "kind", due, "tenant", d.Tenant, "channel", d.Channel, "message", d.Message, "delivery", d.ID, "state", d.State, "reason", d.Reason)
		}
		e.refundHolds(unsent)
		if len(stay) > 0 && left.IsZero() {
			left = stay[0]
		}
		if len(moved)+len(stay) < look.Max || batch < rescueBatch { // else there may be more
			if batch == rescueBatch {
				s.end(since, now, left, time.Since(begun))
			}
			return total, true
		}
		look = behind(look, stay)
	}
	return total, true // the next process handles the rest
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

// A sweep begins sightSlack before the last one, for what was written with a time that had passed already.
// From the beginning it goes every sightEvery, or up to every sightMost where that took more than one in sightShare
// of the time.
const (
	sightSlack = 5 * time.Second
	sightEvery = 10 * time.Second
	sightMost  = time.Minute
	sightShare = 20
)

// sight is from when on anything of a kind can be overdue. A database that keeps old versions of rows for an open
// transaction, a backup for one, keeps their index entries too, and a sweep from the beginning walks over
// every lease there has been since.
type sight struct {
	from time.Time
	full time.Time // when the next sweep from the beginning is due
}

// begin is the time a sweep begins at, zero for the beginning.
func (s *sight) begin() time.Time {
	if time.Now().Before(s.full) {
		return s.from
	}
	return time.Time{}
}

// end notes a sweep that began at since and handled all that was overdue at now but what was left, the first of it at
// left.
func (s *sight) end(since, now, left time.Time, took time.Duration) {
	if since.IsZero() {
		s.full = time.Now().Add(min(max(sightEvery, sightShare*took), sightMost))
	}
	s.from = now.Add(-sightSlack)
	if !left.IsZero() && left.Before(s.from) {
		s.from = left
	}
}

// settingsOf are the settings of a delivery's channel, or cautious ones where it can not be opened.
func (e *Engine) settingsOf(d posthouse.Delivery) *state.Settings {
	if r := e.route(d.Tenant, d.Channel); r != nil {
		return &r.Settings
	}
	return state.Cautious(e.o.Location)
}

// watchEpoch looks now and then whether the database is still the one we started with, and at its clock.
func (e *Engine) watchEpoch(ctx context.Context) {
	for e.pause(spread(e.o.RescueEvery)) {
		e.checkEpoch(ctx)
		e.clock.set(ctx, e.o.Clock)
	}
}

// checkEpoch stops a process that outlived a restore of its database: what it knows of deliveries
// under way is from another history.
func (e *Engine) checkEpoch(ctx context.Context) {
	epoch, err := e.o.Store.Epoch(ctx)
	if err != nil {
		return // Ready will say it
	}
	if epoch != e.Epoch() && !e.stale.Swap(true) {
		e.log.Error("the database's epoch has changed: this process starts nothing more; restart it", "was", e.Epoch(), "now", epoch)
	}
}

// Stale reports whether the database was restored under this process.
func (e *Engine) Stale() bool { return e.stale.Load() }
