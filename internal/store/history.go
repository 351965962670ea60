package store

import (
	"context"

	"github.com/posthouse/posthouse"
)

func readEvent(scan scanner) (posthouse.Event, error) { return scanEvent(scan) }

// Events lists all that happened to a delivery, in order.
func (s *Store) Events(ctx context.Context, tenant, delivery string) ([]posthouse.Event, error) {
	d, err := s.Delivery(ctx, tenant, delivery)
	if err != nil {
		return nil, err
	}
	list, err := all(s.reads(ctx), readEvent, "SELECT "+eventsTable.list+" FROM events WHERE delivery = ? AND tenant = ? ORDER BY version", d.ID, tenant)
	for i := range list {
		fill(&list[i], &d)
	}
	return list, s.toError(err, "read the events of a delivery")
}

// fill adds to an event what its delivery knows and the log does not repeat.
func fill(e *posthouse.Event, d *posthouse.Delivery) {
	e.Idem, e.Deadline, e.Policy = d.IdemKey, d.Deadline, d.OnUnknown
}

// Attempts lists a delivery's tries to send, in order. They are read from the event log: each
// is a start and the event that ended it.
func (s *Store) Attempts(ctx context.Context, tenant, delivery string) ([]posthouse.Attempt, error) {
	m, _, err := s.Message(ctx, tenant, posthouse.MessageID(delivery))
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return nil, err
	}
	events, err := s.Events(ctx, tenant, delivery)
	if err != nil {
		return nil, err
	}
	return attemptsOf(m.Channel, events), nil
}

// attemptsOf pairs starts with their ends. An attempt without an end still runs.
func attemptsOf(channel string, events []posthouse.Event) []posthouse.Attempt {
	var list []posthouse.Attempt
	for i := range events {
		e := &events[i]
		switch n := len(list); {
		case e.Type == posthouse.EventStart:
			list = append(list, posthouse.Attempt{
				Number: e.Attempt, Delivery: e.Delivery, Channel: channel, Account: e.Account, Token: e.Token,
				Owner: e.Owner, StartedAt: e.At, Tries: e.Tries, From: e.From,
			})
		case n > 0 && list[n-1].FinishedAt.IsZero() && e.From == posthouse.Sending && e.To != posthouse.Sending:
			end(&list[n-1], e)
		}
	}
	return list
}

func end(a *posthouse.Attempt, e *posthouse.Event) {
	a.FinishedAt, a.Duration, a.To, a.Tries = e.At, e.At.Sub(a.StartedAt), e.To, e.Tries
	a.Class, a.Code, a.Error, a.Ref, a.Request, a.Response = e.Class, e.Code, e.Error, e.Ref, e.Request, e.Response
	if a.Class == "" && e.To == posthouse.Unknown {
		a.Class = posthouse.ClassUnknown // its process is gone, and nobody saw the result
	}
	if e.Account != "" {
		a.Account = e.Account
	}
}

// ExportEvents calls each for every event of a tenant, in the order of delivery and version,
// and returns the cursor to go on from later; an empty tenant means all. It holds one part of
// the log in memory, and no connection while each runs.
func (s *Store) ExportEvents(ctx context.Context, tenant, cursor string, each func(posthouse.Event) error) (string, error) {
	const step = 500
	after, err := idAfter("events", cursor)
	if err != nil {
		return cursor, err
	}
	for {
		list, err := s.exportPart(ctx, tenant, after, step)
		if err != nil {
			return cursor, s.toError(err, "read the event log")
		}
		if len(list) == 0 {
			return cursor, nil
		}
		for _, e := range list {
			if err := each(e); err != nil {
				return cursor, err
			}
		}
		after = list[len(list)-1].Delivery
		cursor = cursorAfter("events", after)
	}
}

// exportPart reads the events of the next few deliveries, whole.
func (s *Store) exportPart(ctx context.Context, tenant, after string, deliveries int) ([]posthouse.Event, error) {
	where := condition{"id > ?", []any{after}}
	if tenant != "" {
		where.and("tenant = ?", tenant)
	}
	next, err := s.merged(ctx, states{true, true}, where, "id", deliveries)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	last := next[len(next)-1].ID
	list, err := all(s.reads(ctx), readEvent, "SELECT "+eventsTable.list+" FROM events WHERE delivery > ? AND delivery <= ? ORDER BY delivery, version", after, last)
	return ofDeliveries(list, next), err
}

// ofDeliveries keeps the events of the given deliveries and fills them in; both lists are
// sorted by delivery.
func ofDeliveries(events []posthouse.Event, list []posthouse.Delivery) []posthouse.Event {
	kept := events[:0]
	for _, e := range events {
		for len(list) > 0 && list[0].ID < e.Delivery {
			list = list[1:]
		}
		if len(list) > 0 && list[0].ID == e.Delivery {
			fill(&e, &list[0])
			kept = append(kept, e)
		}
	}
	return kept
}
