package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// expand gives clean deliveries the rows that all others have, and keeps others from changing them until the transaction
// ends: what else becomes of them is written as for any delivery. It returns them as they stand. An id of another kind, or
// of another tenant where one is given, is passed over.
//
// Rows are locked in one order by all: the message, the entry of posthouse_due, the flight.
func (t expanding) expand(tenant string, ids []string) ([]posthouse.Delivery, error) {
	found, err := t.lockSole(tenant, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	waiting, err := t.takeWaiting(found)
	if err != nil {
		return nil, err
	}
	flying, err := t.leaveFlights(found, waiting)
	if err != nil {
		return nil, err
	}
	landings, err := t.takeLandings(found, waiting)
	if err != nil {
		return nil, err
	}
	var x expansion
	for i := range found {
		d := &found[i]
		landed, sent := landings[d.ID]
		x.accepted(d)
		switch known := flying[d.ID]; {
		case sent:
			x.add(layout.StartOf(d, landed.Account, landed.StartedAt, landed.LeaseUntil, landed.Epoch, landed.Owner))
			x.add(layout.SentOf(d, &landed))
			layout.Land(d, &landed)
		case known != nil:
			x.add(layout.StartOf(d, cmp.Or(known.Account, d.Account), known.StartedAt, known.LeaseUntil, known.Epoch, known.Owner))
			layout.TakeOff(d, known)
		case !waiting[d.ID]:
			return nil, fmt.Errorf("delivery %s is neither due, in flight nor sent", d.ID)
		}
		x.stands(d)
	}
	return found, t.writeExpansion(&x)
}

// expansion is what is written of deliveries that are clean no more.
type expansion struct {
	ids, messages         []string
	open, settled, events [][]any
}

func (x *expansion) accepted(d *posthouse.Delivery) { x.add(layout.AcceptEvent(d)) }
func (x *expansion) add(e posthouse.Event)          { x.events = append(x.events, layout.EventValues(&e)) }

func (x *expansion) stands(d *posthouse.Delivery) {
	x.ids, x.messages = append(x.ids, d.ID), append(x.messages, d.Message)
	if d.State.Open() {
		x.open = append(x.open, layout.DeliveryValues(d))
	} else {
		x.settled = append(x.settled, layout.DeliveryValues(d))
	}
}

func (t expanding) writeExpansion(x *expansion) error {
	t.flights.expanded(x.ids)
	var b sqldb.Bundle
	b.Each(expandSole, "id", x.messages)
	b.Insert(layout.Queue, x.open)
	layout.InsertSettled(&b, layout.Settled, x.settled)
	b.Insert(layout.Events, x.events)
	return t.Run(b)
}

// lockSole reads and locks the messages of clean deliveries, and returns these as they were accepted.
func (t expanding) lockSole(tenant string, ids []string) ([]posthouse.Delivery, error) {
	var messages []string
	for _, id := range ids {
		if posthouse.ValidID(id) && posthouse.DeliveryNumber(id) == 1 {
			messages = append(messages, posthouse.MessageID(id))
		}
	}
	slices.Sort(messages)
	var found []posthouse.Delivery
	for part := range sqldb.Parts(slices.Compact(messages), sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		clause += " AND sole = 1"
		if tenant != "" {
			clause, args = clause+" AND tenant = ?", append(args, tenant)
		}
		err := t.Query("SELECT "+layout.Clean.List+" FROM posthouse_messages"+t.DB.Dialect.By(sqldb.Primary)+" WHERE "+clause+" ORDER BY id"+t.DB.Dialect.Lock, args,
			func(scan func(...any) error) error {
				_, d, err := layout.ScanClean(scan)
				if err == nil {
					found = append(found, *d)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// takeWaiting deletes the entries of those that wait, and says which did.
func (t expanding) takeWaiting(found []posthouse.Delivery) (map[string]bool, error) {
	waiting := map[string]bool{}
	for i := range found {
		n, err := t.Exec("DELETE FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ? AND due_at = ? AND id = ?", layout.DueValues(&found[i])...)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			waiting[found[i].ID] = true
		}
	}
	return waiting, nil
}

// leaveFlights takes deliveries out of their flights, whose rows it locks, and returns the flight of each that is in one.
func (t expanding) leaveFlights(found []posthouse.Delivery, waiting map[string]bool) (map[string]*layout.Flight, error) {
	wanted := map[string]bool{}
	for i := range found {
		if !waiting[found[i].ID] {
			wanted[found[i].ID] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	seenNow, err := sqldb.All(t.Query, layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights ORDER BY id")
	if err != nil {
		return nil, err
	}
	in := map[string]*layout.Flight{}
	for _, seen := range seenNow {
		if !slices.ContainsFunc(seen.IDs, func(id string) bool { return wanted[id] }) {
			continue
		}
		f, there, err := sqldb.First(t.Query, layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights WHERE id = ?"+t.DB.Dialect.Lock, seen.ID)
		if err != nil {
			return nil, err
		}
		if !there {
			continue // its last result came in just now
		}
		for i, id := range f.IDs {
			if wanted[id] {
				in[id] = f.For(i)
				f.Gone = append(f.Gone, id)
			}
		}
		if _, err := t.Exec("UPDATE posthouse_flights SET gone = ? WHERE id = ?", layout.IDList(f.Gone), f.ID); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// takeLandings deletes the rows of those that were sent, and returns them.
func (t expanding) takeLandings(found []posthouse.Delivery, waiting map[string]bool) (map[string]layout.Landing, error) {
	landings := map[string]layout.Landing{}
	var ids []string
	for i := range found {
		if !waiting[found[i].ID] {
			ids = append(ids, found[i].ID)
		}
	}
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		list, err := sqldb.All(t.Query, layout.ReadLanding, "SELECT "+layout.Sent.List+" FROM posthouse_sent WHERE "+clause+" ORDER BY id"+t.DB.Dialect.Lock, args...)
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			landings[l.ID] = l
		}
		if _, err := t.Exec("DELETE FROM posthouse_sent WHERE "+clause, args...); err != nil {
			return nil, err
		}
	}
	return landings, nil
}

// expandLost expands what is left of the flights whose lease has ended, as the rescuer looks for it, and deletes their rows.
func (t expanding) expandLost(sel work.Selection, now int64) error {
	lost, err := sqldb.All(t.Query, layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights WHERE lease_until >= ? AND lease_until < ? ORDER BY lease_until LIMIT ?"+
		t.DB.Dialect.Skip, sqldb.Micros(sel.Since), now, max(1, sel.Max/8))
	if err != nil {
		return err
	}
	for i := range lost {
		if err := t.expandFlight(&lost[i]); err != nil {
			return err
		}
	}
	return nil
}

// expandFlight ends a flight whose row is locked.
func (t expanding) expandFlight(f *layout.Flying) error {
	landed := map[string]bool{}
	for part := range sqldb.Parts(f.IDs, sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_sent WHERE "+clause, args...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			landed[id] = true
		}
	}
	left := slices.DeleteFunc(slices.Clone(f.IDs), func(id string) bool { return landed[id] || slices.Contains(f.Gone, id) })
	found, err := t.lockSole("", left)
	if err != nil {
		return err
	}
	var x expansion
	for i := range found {
		d := &found[i]
		x.accepted(d)
		own := f.For(slices.Index(f.IDs, d.ID))
		x.add(layout.StartOf(d, cmp.Or(own.Account, d.Account), own.StartedAt, own.LeaseUntil, own.Epoch, own.Owner))
		layout.TakeOff(d, own)
		x.stands(d)
	}
	if len(found) > 0 {
		if err := t.writeExpansion(&x); err != nil {
			return err
		}
	}
	_, err = t.Exec("DELETE FROM posthouse_flights WHERE id = ?", f.ID)
	return err
}

// expandDue expands up to max entries of posthouse_due, of one lane where one is given, and returns how many there were. One
// whose message is gone goes too: nothing is left that could be sent.
func (t expanding) expandDue(lane *work.Lane, max int) (int, error) {
	where, args := "", []any{max}
	if lane != nil {
		where, args = " WHERE tenant = ? AND channel = ? AND priority = ?", []any{lane.Tenant, lane.Channel, layout.NumberOf(*lane), max}
	}
	ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_due"+where+" ORDER BY tenant, channel, priority, due_at, id LIMIT ?", args...)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	found, err := t.expand("", ids)
	if err != nil || len(found) == len(ids) {
		return len(ids), err
	}
	expanded := map[string]bool{}
	for i := range found {
		expanded[found[i].ID] = true
	}
	clause, more := t.Among("id", slices.DeleteFunc(ids, func(id string) bool { return expanded[id] }))
	_, err = t.Exec("DELETE FROM posthouse_due WHERE "+clause, more...)
	return len(expanded) + 1, err
}

// expandFlights expands everything that is in flight.
func (t expanding) expandFlights() error {
	list, err := sqldb.All(t.Query, layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights ORDER BY id"+t.DB.Dialect.Lock)
	for i := range list {
		if err == nil {
			err = t.expandFlight(&list[i])
		}
	}
	return err
}
