package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

// Record writes the results of attempts. decide is called with the transaction's time, and
// again when the transaction is repeated. A change whose delivery has moved on since
// (another holder, a late answer) is not written; its delivery's id is returned.
func (s Queue) Record(ctx context.Context, now time.Time, decide func(now time.Time) []work.Change) (refused []string, err error) {
	var changes []work.Change
	err = s.changeAtOnce(ctx, now, "record", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		changes = decide(sqldb.TimeOf(at))
		if t.notified != nil && linked(changes) {
			return errLinked
		}
		return settling{t}.applyFlown(at, changes, &s.flights)
	})
	if errors.Is(err, errLinked) || errors.Is(err, sqldb.ErrStale) || s.db.Taken(err) { // taken: it was recorded, and the answer to that commit was lost
		err = s.change(ctx, now, "record", func(t *tx) (err error) {
			refused, err = settling{t}.applyCurrent(decide)
			return err
		})
	}
	if err == nil {
		s.flights.landed(changes)
	}
	return refused, err
}

// errLinked says that changes are of deliveries that plans know: more is written with them than one statement can.
var errLinked = errors.New("the deliveries are of notifications or collections")

// Revise locks the selected deliveries, lets decide say what becomes of each, and writes
// that. decide may leave deliveries out. It returns the deliveries as they stand after.
func (s Queue) Revise(ctx context.Context, now time.Time, sel work.Selection,
	decide func(now time.Time, found []posthouse.Delivery) []work.Change,
) (after []posthouse.Delivery, err error) {
	err = s.change(ctx, now, "revise", func(t *tx) error {
		after = nil
		if len(sel.IDs) == 0 && sel.Due == "" {
			return nil
		}
		found, err := settling{t}.lockRows(sel)
		if err != nil || len(found) == 0 {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		changes, err := settling{t}.stay(decide(sqldb.TimeOf(at), found))
		if err != nil {
			return err
		}
		if err := (settling{t}).apply(at, changes); err != nil {
			return err
		}
		after = found
		for i := range after {
			for j := range changes {
				if changes[j].After.ID == after[i].ID {
					after[i] = changes[j].After
				}
			}
		}
		return nil
	})
	return after, err
}

// move is where changes lead: from one table to the same or the other.
type move struct{ from, to *sqldb.Table }

// moves are those there are. A settled delivery is not opened again.
var moves = []move{{layout.Queue, layout.Queue}, {layout.Queue, layout.Settled}, {layout.Settled, layout.Settled}}

// apply writes changes whose rows must all still be as expected, with their events. It is ErrStale
// where one is not.
func (t settling) apply(now int64, changes []work.Change) error {
	return t.applyFlown(now, changes, nil)
}

// applyFlown is apply for changes of which some may be results of clean deliveries in flights. Deliveries that were locked have
// rows of their own: there are no flights then, whatever this process remembers.
func (t settling) applyFlown(now int64, changes []work.Change, inFlight *flights) error {
	if err := t.applyAlone(now, changes, inFlight); err != nil {
		return err
	}
	return t.tellNotifications(now, changes)
}

// applyAlone is applyFlown, but that it tells no notification.
func (t settling) applyAlone(now int64, changes []work.Change, inFlight *flights) error {
	b, err := inFlight.bundleOf(now, changes)
	if err != nil {
		return err
	}
	layout.TallyOf(changes).Into(&b)
	told := t.news()
	told.changes(changes)
	if err := t.announce(&b, told); err != nil {
		return err
	}
	return t.Run(b)
}

// bundleOf is all that changes write, but what they count.
func (f *flights) bundleOf(now int64, changes []work.Change) (b sqldb.Bundle, err error) {
	byMove := map[move][]*work.Change{}
	var events, awaited [][]any
	var clean arrivals
	for i := range changes {
		c := &changes[i]
		rows, err := date(c, now)
		if err != nil {
			return nil, err
		}
		if c.Await != nil {
			awaited = append(awaited, awaitedValues(c.Await))
		}
		if known := f.find(&c.Before); known != nil {
			clean.add(c, known, rows)
			continue
		}
		events = append(events, rows...)
		m := move{tableOf(c.Before.State), tableOf(c.After.State)}
		byMove[m] = append(byMove[m], c)
	}
	if len(byMove[move{layout.Settled, layout.Queue}]) > 0 {
		return nil, errors.New("a settled delivery cannot be opened again")
	}
	clean.write(&b, f)
	for _, m := range moves {
		m.write(&b, byMove[m])
	}
	b.Insert(layout.Events, events)
	b.Insert(awaitedTable, awaited)
	return b, nil
}

// write writes the rows of changes that lead this way.
func (m move) write(b *sqldb.Bundle, changes []*work.Change) {
	if len(changes) == 0 {
		return
	}
	guards := make([]sqldb.Guard, len(changes))
	after := make([]*posthouse.Delivery, len(changes))
	for i, c := range changes {
		guards[i] = layout.GuardOf(&c.Before)
		after[i] = &c.After
	}
	if m.from == m.to {
		b.Amend(m.from, layout.Mutable, guards, layout.MutableRows(after))
		if m.to == layout.Settled {
			layout.NoteLate(b, after)
		}
		return
	}
	rows := make([][]any, len(after))
	for i, d := range after {
		rows[i] = layout.DeliveryValues(d)
	}
	b.Take(m.from, guards)
	layout.InsertSettled(b, m.to, rows)
}

func tableOf(s posthouse.State) *sqldb.Table {
	if s.Open() {
		return layout.Queue
	}
	return layout.Settled
}

// date numbers and dates the events of a change and its outcome, and refuses a step the state
// machine does not know.
func date(c *work.Change, now int64) ([][]any, error) {
	if len(c.Events) == 0 {
		return nil, fmt.Errorf("a change of delivery %s has no event", c.Before.ID)
	}
	at := sqldb.TimeOf(later(now, &c.Before))
	state, version := c.Before.State, c.Before.Version
	rows := make([][]any, len(c.Events))
	for i := range c.Events {
		e := &c.Events[i]
		version++
		e.Delivery, e.Tenant, e.Version, e.At, e.From = c.Before.ID, c.Before.Tenant, version, at, state
		if !transition.Legal(state, e.Type, e.To) {
			return nil, fmt.Errorf("delivery %s: the state machine has no %s from %s to %s", c.Before.ID, e.Type, state, e.To)
		}
		if state = e.To; state.Open() && e.Due.IsZero() {
			e.Due = c.After.DueAt // so that the log says all that the row says of it
		}
		rows[i] = layout.EventValues(e)
	}
	if state != c.After.State {
		return nil, fmt.Errorf("delivery %s: its events end in %s, its row in %s", c.Before.ID, state, c.After.State)
	}
	c.After.Version, c.After.UpdatedAt = version, at
	return rows, nil
}

// later is the time of a delivery's next event: now, but never before its last one. The clock
// may have been read before the row was.
func later(now int64, d *posthouse.Delivery) int64 { return max(now, sqldb.Micros(d.UpdatedAt)) }

// applyCurrent applies the changes whose deliveries have not moved on, and returns the ids of
// the others. It locks the rows first, so it costs more than apply.
func (t settling) applyCurrent(decide func(now time.Time) []work.Change) ([]string, error) {
	at, err := t.Now()
	if err != nil {
		return nil, err
	}
	changes := decide(sqldb.TimeOf(at))
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].Before.ID
	}
	current := map[string]posthouse.Delivery{}
	found, err := t.lockRows(work.Selection{IDs: ids})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		current[d.ID] = d
	}
	var refused []string
	var good []work.Change
	for _, c := range changes {
		d, ok := current[c.Before.ID]
		if !ok || d.Version != c.Before.Version || d.Token != c.Before.Token || d.State != c.Before.State {
			refused = append(refused, c.Before.ID)
			continue
		}
		good = append(good, c)
	}
	return refused, t.apply(at, good)
}

// lockRows reads the selected rows and keeps others from changing them until the transaction
// ends. What stands locked in one table cannot be in the other. An empty tenant is the store's own work.
func (t settling) lockRows(sel work.Selection) ([]posthouse.Delivery, error) {
	found, err := t.lockSelected(sel)
	if err == nil {
		err = t.parted.Refuse(t.Query, found)
	}
	return found, err
}

func (t settling) lockSelected(sel work.Selection) ([]posthouse.Delivery, error) {
	if sel.Due != "" {
		return t.lockDue(sel)
	}
	found, err := t.lockOwnRows(sel, sel.IDs)
	missing := others(sel.IDs, found)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	expanded, err := expanding{t.tx}.expand(sel.Tenant, missing)
	found = append(found, expanded...)
	missing = others(missing, expanded)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	meanwhile, err := t.lockOwnRows(sel, missing) // somebody else has expanded them since the first look
	return append(found, meanwhile...), err
}

// others are the ids that are none of the deliveries found.
func others(ids []string, found []posthouse.Delivery) []string {
	seen := map[string]bool{}
	for i := range found {
		seen[found[i].ID] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return notID(id) || seen[id] })
}

// lockOwnRows is lockRows for deliveries that have a row of their own in posthouse_queue or posthouse_settled.
func (t settling) lockOwnRows(sel work.Selection, ids []string) ([]posthouse.Delivery, error) {
	var found []posthouse.Delivery
	seen := map[string]bool{}
	for _, tab := range []*sqldb.Table{layout.Queue, layout.Settled} { // in the direction rows move
		missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return notID(id) || seen[id] })
		for part := range sqldb.Parts(missing, sqldb.BulkStep) {
			clause, args := t.Among("id", part)
			if sel.Tenant != "" {
				clause += " AND tenant = ?"
				args = append(args, sel.Tenant)
			}
			err := t.Query("SELECT "+tab.List+" FROM "+tab.Name+t.DB.Dialect.By(sqldb.Primary)+" WHERE "+clause+" ORDER BY id"+t.DB.Dialect.Lock, args, func(scan func(...any) error) error {
				d, err := layout.ScanDelivery(scan)
				if err == nil && !seen[d.ID] {
					seen[d.ID] = true
					found = append(found, *d)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// notID finds what a caller may have taken for an id; see layout.IDOnly.
func notID(id string) bool { return !posthouse.ValidID(id) }

// overdue are the conditions that the rescuer and the inquirer look for, by the database's clock, and their indexes.
var overdue = map[work.Due]struct{ index, clause string }{
	work.LeaseLost:    {"posthouse_queue_lease", "state = 'sending' AND lease_until >= ? AND lease_until < ? ORDER BY lease_until"},
	work.PastDeadline: {"posthouse_queue_deadline", "deadline > 0 AND deadline >= ? AND deadline <= ? AND (state = 'pending' OR (state = 'sending' AND started_at = 0)) ORDER BY deadline"},
	work.HoldOver:     {"posthouse_queue_unknown", "state = 'unknown' AND on_unknown <> 'query' AND due_at > 0 AND due_at >= ? AND due_at <= ? ORDER BY due_at"},
	work.QueryDue:     {"posthouse_queue_unknown", "state = 'unknown' AND on_unknown = 'query' AND due_at > 0 AND due_at >= ? AND due_at <= ? ORDER BY due_at"},
}

func (t settling) lockDue(sel work.Selection) ([]posthouse.Delivery, error) {
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	if sel.Due == work.LeaseLost {
		if err := (expanding{t.tx}).expandLost(sel, now); err != nil {
			return nil, err
		}
	}
	var found []posthouse.Delivery
	look, args := overdue[sel.Due], []any{sqldb.Micros(sel.Since), now, sel.Max}
	if l := sel.Lane; sel.Due == work.Stranded {
		look.index, look.clause = "posthouse_queue_due", "tenant = ? AND channel = ? AND priority = ? AND pin = ? AND state = 'pending' AND due_at >= ? AND due_at <= ? ORDER BY due_at, id"
		args = append([]any{l.Tenant, l.Channel, layout.NumberOf(l), string(l.Pin)}, args...)
	}
	err = t.Query("SELECT "+layout.Queue.List+" FROM posthouse_queue"+t.DB.Dialect.By(look.index)+" WHERE "+look.clause+" LIMIT ?"+t.DB.Dialect.Skip, args,
		func(scan func(...any) error) error {
			d, err := layout.ScanDelivery(scan)
			if err == nil {
				found = append(found, *d)
			}
			return err
		})
	return found, err
}
