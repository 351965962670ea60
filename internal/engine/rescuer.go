package engine

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/work"
)

// rescueBatch is how many deliveries one transaction of the rescuer touches.
const rescueBatch = 200

// rescue looks for what nobody else will move: leases without a holder, deadlines, unknowns whose
// time has come.
func (e *Engine) rescue(ctx context.Context) {
	for e.pause(spread(e.o.RescueEvery)) {
		e.sweep(ctx, work.LeaseLost, e.rescueLease)
		e.sweep(ctx, work.PastDeadline, func(d posthouse.Delivery, _ time.Time) (work.Change, bool) { return afterDeadline(d), true })
		var asked []posthouse.Delivery
		e.sweep(ctx, work.HoldOver, func(d posthouse.Delivery, now time.Time) (work.Change, bool) {
			if d.OnUnknown == posthouse.Query {
				asked = append(asked, d)
				return work.Change{}, false
			}
			return afterHold(d), true
		})
		for _, d := range asked {
			e.ask(ctx, d)
		}
	}
}

func (e *Engine) rescueLease(d posthouse.Delivery, now time.Time) (work.Change, bool) {
	if e.recorder.has(d) {
		return work.Change{}, false
	}
	e.metrics.leaseLosses.Inc()
	return afterLeaseLost(e.settingsOf(d), d, now), true
}

// sweep handles all overdue deliveries of one kind, a batch a transaction.
func (e *Engine) sweep(ctx context.Context, due work.Due, decide func(posthouse.Delivery, time.Time) (work.Change, bool)) {
	for {
		moved := 0
		after, err := e.o.Store.Revise(ctx, time.Now(), work.Selection{Due: due, Max: rescueBatch}, func(now time.Time, found []posthouse.Delivery) []work.Change {
			var changes []work.Change
			for _, d := range found {
				if c, ok := decide(d, now); ok {
					changes = append(changes, c)
				}
			}
			moved = len(changes)
			return changes
		})
		if err != nil {
			e.log.Warn("overdue deliveries can not be handled", "kind", due, "error", err)
			return
		}
		for i := range after {
			d := &after[i]
			e.log.Info("overdue delivery handled", "kind", due, "tenant", d.Tenant, "channel", d.Channel, "message", d.Message, "delivery", d.ID, "state", d.State, "reason", d.Reason)
		}
		if moved < rescueBatch {
			return
		}
	}
}

// settingsOf are the settings of a delivery's channel, or cautious ones where it can not be opened.
func (e *Engine) settingsOf(d posthouse.Delivery) *settings {
	if r := e.route(d.Tenant, d.Channel); r != nil {
		return &r.settings
	}
	s, _ := resolve(posthouse.Channel{}, Opened{}, e.o.Location)
	return &s
}

// ask queries the provider about one unknown (policy query) and writes down what it says. Without an
// answer it asks again after as long as it has waited so far, for a day.
func (e *Engine) ask(ctx context.Context, d posthouse.Delivery) {
	r := e.route(d.Tenant, d.Channel)
	if r == nil {
		return
	}
	querier, ok := r.opened.Driver.(channel.Querier)
	if !ok {
		return
	}
	m, _, err := e.o.Store.Message(ctx, d.Tenant, d.Message)
	if err != nil {
		e.log.Warn("the message of an unknown delivery can not be read", "delivery", d.ID, "error", err)
		return
	}
	call, cancel := context.WithTimeout(e.sendCtx, r.settings.timeout)
	defer cancel()
	finding, res := querier.Query(call, outgoing(work.Item{Delivery: d, Message: &m}))
	_, err = e.o.Store.Revise(ctx, time.Now(), work.Selection{Tenant: d.Tenant, IDs: []string{d.ID}}, func(now time.Time, found []posthouse.Delivery) []work.Change {
		if len(found) != 1 || found[0].Version != d.Version {
			return nil
		}
		return []work.Change{afterQuery(&r.settings, found[0], finding, res, now)}
	})
	e.log.Info("the provider was asked about an unknown", "channel", d.Channel, "delivery", d.ID, "finding", finding, "error", err)
}

// askFor is how long a provider is asked about an unknown before it is left to a person.
const askFor = 24 * time.Hour

// afterQuery is what follows a provider's answer about an unknown.
func afterQuery(s *settings, d posthouse.Delivery, f channel.Finding, res channel.Result, now time.Time) work.Change {
	switch f {
	case channel.Found:
		c, _ := afterResolve(d, true, false, "query_found", now)
		c.After.ProviderRef = or(res.Ref, d.ProviderRef)
		return c
	case channel.Absent:
		decision := retry.Decide(s.profile, posthouse.ClassTransient, d.Tries-1, 0, 0)
		c, _ := afterResolve(d, false, !decision.GiveUp, "query_absent", now.Add(decision.Wait))
		return c
	}
	step := begin(d)
	waited := now.Sub(d.UpdatedAt)
	step.change.After.DueAt = now.Add(max(2*waited, queryAfter))
	if now.Sub(d.FirstStartAt) > askFor {
		step.change.After.DueAt = time.Time{}
	}
	step.to(posthouse.EventResolve, posthouse.Unknown, "query_no_answer")
	return step.change
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
