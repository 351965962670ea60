package store

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// arrivals are the results of clean deliveries in one transaction: those that stay clean, and those that leave the clean
// course and are expanded by it.
type arrivals struct {
	sent                  [][]any
	open, settled, events [][]any
	expanded              []string // their messages
	flown                 map[*flight]int
	order                 []*flight
}

// add sorts a change of a delivery in flight. rows are its events.
func (a *arrivals) add(c *work.Change, known *flight, rows [][]any) {
	if a.flown == nil {
		a.flown = map[*flight]int{}
	}
	if a.flown[known] == 0 {
		a.order = append(a.order, known)
	}
	a.flown[known]++
	if row, ok := layout.LandingOf(c); ok {
		a.sent = append(a.sent, row)
		return
	}
	a.events = append(append(a.events, firstEvents(&c.Before, known.pinned[c.Before.ID])...), rows...)
	a.expanded = append(a.expanded, c.Before.Message)
	if c.After.State.Open() {
		a.open = append(a.open, layout.DeliveryValues(&c.After))
	} else {
		a.settled = append(a.settled, layout.DeliveryValues(&c.After))
	}
}

// firstEvents are the events that a delivery in flight has had: it was accepted and started. Its epoch when it was accepted
// is the one it was claimed in: an epoch that begins expands all that is clean.
func firstEvents(d *posthouse.Delivery, account string) [][]any {
	accepted := posthouse.Event{
		Delivery: d.ID, Version: 1, Tenant: d.Tenant, At: d.CreatedAt, Type: posthouse.EventAccept, To: posthouse.Pending,
		Due: d.DueAt, Epoch: d.Epoch, Account: account,
	}
	started := layout.StartOf(d, d.Account, sqldb.Micros(d.StartedAt), sqldb.Micros(d.LeaseUntil), d.Epoch, d.LeaseOwner)
	return [][]any{layout.EventValues(&accepted), layout.EventValues(&started)}
}

// The flights that results belong to must still be there with all their deliveries: whoever takes one out of a flight writes
// so into its row.
const (
	heldFlights = "SELECT id FROM posthouse_flights WHERE %s AND gone = '' ORDER BY id"
	overFlights = "DELETE FROM posthouse_flights WHERE %s AND gone = ''"
	noneFlights = "DELETE FROM posthouse_flights WHERE %s"
	expandSole  = "UPDATE posthouse_messages SET sole = 0 WHERE %s AND sole = 1"
)

func (a *arrivals) write(b *sqldb.Bundle, f *flights) {
	if f == nil {
		return
	}
	var held, over []string
	for _, known := range a.order {
		if f.ends(known, a.flown[known]) {
			over = append(over, known.ID)
		} else {
			held = append(held, known.ID)
		}
	}
	b.Each(expandSole, "id", a.expanded) // messages first and then flights by id, as who expands them locks them
	b.Each(heldFlights, "id", held)
	b.Each(overFlights, "id", over)
	layout.InsertSettled(b, layout.Sent, a.sent)
	b.Insert(layout.Queue, a.open)
	layout.InsertSettled(b, layout.Settled, a.settled)
	b.Insert(layout.Events, a.events)
	b.Free(noneFlights, "id", f.takeEmpty())
}
