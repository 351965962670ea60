package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// settle writes down how deliveries ended.
func (ds *deliveries) settle(ctx context.Context, batch []unit, insist insist) error {
	list := make([]*done, 0, len(batch))
	took := make([]time.Duration, 0, len(batch))
	for _, u := range batch {
		g := u.(*group)
		for i := range g.ended {
			list, took = append(list, &g.ended[i]), append(took, g.took)
		}
	}
	for len(list) > 0 {
		n := min(len(list), maxRecord)
		if err := ds.record(ctx, list[:n], took[:n], insist); err != nil {
			return err
		}
		list, took = list[n:], took[n:]
	}
	return nil
}

// record writes in one transaction.
func (ds *deliveries) record(ctx context.Context, list []*done, took []time.Duration, insist insist) error {
	ds.recall(ctx, list)
	for _, d := range list {
		d.item.Elsewhere = d.verdict == verdictResult && state.MayGoElsewhere(&d.item.Delivery, d.result.Class) && d.route.admission.Spares(time.Now(), d.item.Delivery.Account, work.PinOf(&d.item.Delivery).Pool())
	}
	changes := make([]work.Change, len(list))
	decide := func(now time.Time) []work.Change {
		for i, d := range list {
			changes[i] = d.change(now)
			changes[i].Of = d.item.Message
		}
		return changes
	}
	var refused []string
	// An answer lost at the commit is repeated safely too: the guard refuses what was written.
	err := insist(len(list), func(began time.Time) (stored bool, err error) {
		if refused, err = ds.queue.Record(ctx, began, decide); err == nil {
			ds.metrics.Wrote("record", began)
		}
		return len(refused) < len(list), err
	})
	if err != nil {
		return err
	}
	late := map[string]bool{}
	for _, id := range refused {
		late[id] = true
	}
	if len(late) > 0 {
		ds.reconsider(ctx, list, refused, insist)
	}
	lost := gone{}
	for i, d := range list {
		if d.left() {
			after := changes[i].After.State
			if late[d.item.Delivery.ID] { // another has decided
				after = ""
			}
			ds.rollup.Add(d.minute(), took[i], after)
			lost.note(d.route.Key, d.route.Addressed(d.item.Delivery.Recipient).Address, d.result)
		}
		if late[d.item.Delivery.ID] {
			continue
		}
		ds.report(d, &changes[i], took[i])
		if after := &changes[i].After; after.State == posthouse.Pending && (d.item.Elsewhere || d.route.replaced()) {
			ds.rouse(d.route.Key, after.Priority, work.PinOf(after))
		}
		if line, has := work.LineOfMessage(d.item.Message); has && !changes[i].After.State.Open() {
			ds.stands(line)
		}
	}
	lost.suppress(ctx, ds.sieve, ds.log)
	return nil
}

// recall reads what has failed before of those deliveries that failed again, where the retry profile has ladders of their own for
// some classes. Where it cannot be read, all that failed counts.
func (ds *deliveries) recall(ctx context.Context, list []*done) {
	again := map[string]*work.Item{}
	for _, d := range list {
		if d.verdict == verdictResult && d.route.Settings.Recalls(&d.item.Delivery, d.result.Class) {
			again[d.item.Delivery.ID] = d.item
		}
	}
	if len(again) == 0 {
		return
	}
	past, err := ds.queue.Failures(ctx, slices.Sorted(maps.Keys(again)))
	if err != nil {
		ds.log.Warn("what failed before cannot be read: all of it counts", "deliveries", len(again), "error", err)
	}
	for id, failures := range past {
		again[id].Past = failures
	}
}

// change is what follows an attempt's end.
func (d *done) change(now time.Time) work.Change {
	switch d.verdict {
	case verdictRelease:
		return state.AfterRelease(d.item.Delivery, now.Add(d.result.After), d.reason)
	case verdictSuppress:
		return state.AfterNotSent(&d.route.Settings, d.item.Delivery, d.reason, d.result.Error, now)
	case verdictWindow:
		return state.AfterWindow(&d.route.Settings, d.item.Delivery, now)
	case verdictQuarantine:
		return state.AfterQuarantine(d.item.Delivery, d.reason, d.result.Error)
	}
	c := state.AfterResult(&d.route.Settings, d.item, d.result, now)
	state.Await(d.route.Channel, &c, d.result, now)
	return c
}

// reconsider looks again at deliveries that moved on while they were being sent. One that is still
// ours (somebody asked to cancel it meanwhile) takes its result; one that was taken from us takes
// a success as evidence, and nothing else. A repeat finds those that are written already moved on.
func (ds *deliveries) reconsider(ctx context.Context, list []*done, refused []string, insist insist) {
	byID := map[string]*done{}
	for _, d := range list {
		byID[d.item.Delivery.ID] = d
	}
	err := insist(len(refused), func(began time.Time) (stored bool, err error) {
		_, err = ds.queue.Revise(ctx, began, work.Selection{IDs: refused}, func(now time.Time, found []posthouse.Delivery) []work.Change {
			return afterLate(byID, found, now)
		})
		return false, err // what little this wrote says nothing of room for the results of many sends
	})
	ds.metrics.LeaseLosses.Add(float64(len(refused)))
	ds.log.Warn("results came late: their leases were lost, or they were cancelled meanwhile", "deliveries", len(refused), "error", err)
}

// afterLate is what follows results of deliveries that have moved on, by how those stand now.
func afterLate(byID map[string]*done, found []posthouse.Delivery, now time.Time) []work.Change {
	var changes []work.Change
	for _, current := range found {
		d := byID[current.ID]
		c, ok := state.AfterLate(current, &d.item.Delivery, d.result, func(current posthouse.Delivery) work.Change {
			again := *d
			again.item = &work.Item{Delivery: current, Message: d.item.Message, Past: d.item.Past}
			return again.change(now)
		})
		if !ok {
			continue
		}
		if c.Await == nil {
			state.Await(d.route.Channel, &c, d.result, now)
		}
		changes = append(changes, c)
	}
	return changes
}

// levelOf is the level at which the end of an attempt is logged: usual is one of many that went well, of which a busy channel would
// log nothing else, and a delivery that will not be tried again is worth a look.
func levelOf(after posthouse.State, usual bool) slog.Level {
	switch {
	case after == posthouse.Failed, after == posthouse.Expired, after == posthouse.Undelivered:
		return slog.LevelWarn
	case usual:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// report says in the log and the metrics how an attempt ended.
func (ds *deliveries) report(d *done, c *work.Change, took time.Duration) {
	r, after := d.route, &c.After
	outcome := string(d.result.Class)
	if d.verdict != verdictResult {
		outcome = string(d.verdict)
	}
	ds.metrics.Sends.WithLabelValues(r.Key.Channel, string(d.kind()), outcome).Inc()
	ok := d.result.Class == posthouse.ClassOK && d.verdict == verdictResult
	if r.Settings.Every > 0 {
		r.ranOne(ok)
	}
	level := levelOf(after.State, ok && r.Settings.Every == 0)
	ctx := context.Background()
	if !ds.log.Enabled(ctx, level) {
		return
	}
	ds.log.Log(ctx, level, "attempt ended", "job", r.Settings.Job, "tenant", after.Tenant, "channel", after.Channel,
		"message", after.Message, "delivery", after.ID, "attempt", d.item.Delivery.Attempts, "outcome", outcome,
		"code", d.result.Code, "error", d.result.Error, "tries", after.Tries, "from", c.Before.State, "to", after.State,
		"request", d.result.Request, "response", d.result.Response, "due", after.DueAt, "took", took)
}
