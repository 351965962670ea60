package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
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
			x.add(startOf(d, landed.account, landed.startedAt, landed.leaseUntil, landed.epoch, landed.owner))
			x.add(sentOf(d, &landed))
			land(d, &landed)
		case known != nil:
			x.add(startOf(d, cmp.Or(known.account, d.Account), known.startedAt, known.leaseUntil, known.epoch, known.owner))
			takeOff(d, known)
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

func (x *expansion) accepted(d *posthouse.Delivery) { x.add(acceptEvent(d)) }
func (x *expansion) add(e posthouse.Event)          { x.events = append(x.events, eventValues(&e)) }

func (x *expansion) stands(d *posthouse.Delivery) {
	x.ids, x.messages = append(x.ids, d.ID), append(x.messages, d.Message)
	if d.State.Open() {
		x.open = append(x.open, deliveryValues(d))
	} else {
		x.settled = append(x.settled, deliveryValues(d))
	}
}

func (t expanding) writeExpansion(x *expansion) error {
	t.flights.expanded(x.ids)
	var b sqldb.Bundle
	b.Each(expandSole, "id", x.messages)
	b.Insert(queueTable, x.open)
	insertSettled(&b, settledTable, x.settled)
	b.Insert(eventsTable, x.events)
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
		err := t.Query("SELECT "+cleanTable.List+" FROM posthouse_messages"+t.DB.Dialect.By(sqldb.Primary)+" WHERE "+clause+" ORDER BY id"+t.DB.Dialect.Lock, args,
			func(scan func(...any) error) error {
				_, d, err := scanClean(scan)
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
		n, err := t.Exec("DELETE FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ? AND due_at = ? AND id = ?", dueValues(&found[i])...)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			waiting[found[i].ID] = true
		}
	}
	return waiting, nil
}

// flying is one flight's row with its deliveries.
type flying struct {
	flight
	ids, gone []string
}

func readFlying(scan sqldb.Scanner) (flying, error) {
	var f flying
	var ids, gone string
	err := scan(&f.id, &f.account, &f.owner, &f.epoch, &f.startedAt, &f.leaseUntil, &ids, &gone)
	f.ids, f.gone = readList(ids), readList(gone)
	return f, err
}

const flyingColumns = "id, account, owner, epoch, started_at, lease_until, ids, gone"

// leaveFlights takes deliveries out of their flights, whose rows it locks, and returns the flight of each that is in one.
func (t expanding) leaveFlights(found []posthouse.Delivery, waiting map[string]bool) (map[string]*flight, error) {
	wanted := map[string]bool{}
	for i := range found {
		if !waiting[found[i].ID] {
			wanted[found[i].ID] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	seenNow, err := sqldb.All(t.Query, readFlying, "SELECT "+flyingColumns+" FROM posthouse_flights ORDER BY id")
	if err != nil {
		return nil, err
	}
	in := map[string]*flight{}
	for _, seen := range seenNow {
		if !slices.ContainsFunc(seen.ids, func(id string) bool { return wanted[id] }) {
			continue
		}
		f, there, err := sqldb.First(t.Query, readFlying, "SELECT "+flyingColumns+" FROM posthouse_flights WHERE id = ?"+t.DB.Dialect.Lock, seen.id)
		if err != nil {
			return nil, err
		}
		if !there {
			continue // its last result came in just now
		}
		for _, id := range f.ids {
			if wanted[id] {
				in[id] = &f.flight
				f.gone = append(f.gone, id)
			}
		}
		if _, err := t.Exec("UPDATE posthouse_flights SET gone = ? WHERE id = ?", idList(f.gone), f.id); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// takeLandings deletes the rows of those that were sent, and returns them.
func (t expanding) takeLandings(found []posthouse.Delivery, waiting map[string]bool) (map[string]landing, error) {
	landings := map[string]landing{}
	var ids []string
	for i := range found {
		if !waiting[found[i].ID] {
			ids = append(ids, found[i].ID)
		}
	}
	for part := range sqldb.Parts(ids, sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		list, err := sqldb.All(t.Query, readLanding, "SELECT "+sentTable.List+" FROM posthouse_sent WHERE "+clause+" ORDER BY id"+t.DB.Dialect.Lock, args...)
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			landings[l.id] = l
		}
		if _, err := t.Exec("DELETE FROM posthouse_sent WHERE "+clause, args...); err != nil {
			return nil, err
		}
	}
	return landings, nil
}

// expandLost expands what is left of the flights whose lease has ended, as the rescuer looks for it, and deletes their rows.
func (t expanding) expandLost(sel work.Selection, now int64) error {
	lost, err := sqldb.All(t.Query, readFlying, "SELECT "+flyingColumns+" FROM posthouse_flights WHERE lease_until >= ? AND lease_until < ? ORDER BY lease_until LIMIT ?"+
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
func (t expanding) expandFlight(f *flying) error {
	landed := map[string]bool{}
	for part := range sqldb.Parts(f.ids, sqldb.BulkStep) {
		clause, args := t.Among("id", part)
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_sent WHERE "+clause, args...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			landed[id] = true
		}
	}
	left := slices.DeleteFunc(slices.Clone(f.ids), func(id string) bool { return landed[id] || slices.Contains(f.gone, id) })
	found, err := t.lockSole("", left)
	if err != nil {
		return err
	}
	var x expansion
	for i := range found {
		d := &found[i]
		x.accepted(d)
		x.add(startOf(d, cmp.Or(f.account, d.Account), f.startedAt, f.leaseUntil, f.epoch, f.owner))
		takeOff(d, &f.flight)
		x.stands(d)
	}
	if len(found) > 0 {
		if err := t.writeExpansion(&x); err != nil {
			return err
		}
	}
	_, err = t.Exec("DELETE FROM posthouse_flights WHERE id = ?", f.id)
	return err
}

// expandDue expands up to max entries of posthouse_due, of one lane where one is given, and returns how many there were. One
// whose message is gone goes too: nothing is left that could be sent.
func (t expanding) expandDue(lane *work.Lane, max int) (int, error) {
	where, args := "", []any{max}
	if lane != nil {
		where, args = " WHERE tenant = ? AND channel = ? AND priority = ?", []any{lane.Tenant, lane.Channel, numberOf(*lane), max}
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
	list, err := sqldb.All(t.Query, readFlying, "SELECT "+flyingColumns+" FROM posthouse_flights ORDER BY id"+t.DB.Dialect.Lock)
	for i := range list {
		if err == nil {
			err = t.expandFlight(&list[i])
		}
	}
	return err
}
