package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

// Accept stores submissions in one transaction. A nil error means that every outcome without
// an Err is committed. All of it waits for its claim.
func (s Submissions) Accept(ctx context.Context, now time.Time, subs []*work.Submission) ([]work.Outcome, error) {
	var outcomes []work.Outcome
	err := s.acceptBy(ctx, now, subs, func(t *tx) (err error) {
		outcomes, _, err = accepting{t}.accept(subs, nil)
		return err
	})
	return outcomes, err
}

// acceptBy runs the transaction of an accept.
func (s Submissions) acceptBy(ctx context.Context, now time.Time, subs []*work.Submission, fn func(t *tx) error) error {
	change := s.changeFirst
	if s.db.Dialect.AtOnce && !slices.ContainsFunc(subs, intricate) {
		change = s.changeAtOnce // the bundle is all there is to write
	}
	if s.place != "" {
		change, fn = s.changeFirst, s.ofPlace(fn)
	}
	return change(ctx, now, "accept", fn)
}

// intricate reports whether a submission has keys or plans, which take statements of their own.
func intricate(sub *work.Submission) bool {
	return sub.Key != "" || len(sub.Plans) > 0 || len(sub.Routed) > 0 || hasDedup(sub) || gathers(sub)
}

// accept stores submissions, and returns what has begun by that where seats, which may be nil, gave it room.
func (t accepting) accept(subs []*work.Submission, seats work.Seats) ([]work.Outcome, []*boarding, error) {
	now, err := t.Now()
	if err != nil {
		return nil, nil, err
	}
	outcomes := make([]work.Outcome, len(subs))
	for i, sub := range subs {
		outcomes[i].Accepted = acceptedBy(sub, now)
	}
	if err := t.resolveKeys(now, subs, outcomes); err != nil {
		return nil, nil, err
	}
	if err := t.resolvePlans(now, subs, outcomes); err != nil {
		return nil, nil, err
	}
	if err := t.resolveDedup(now, subs, outcomes); err != nil {
		return nil, nil, err
	}
	if err := t.beginRouted(now, subs, outcomes); err != nil {
		return nil, nil, err
	}
	if err := t.gather(now, subs, outcomes); err != nil {
		return nil, nil, err
	}
	var clean []arrival
	var messages, due, queued, settled, events, sealed, charges, asked [][]any
	tally := layout.Counting{}
	told := t.news()
	for i, sub := range subs {
		if outcomes[i].Err != nil || outcomes[i].Replayed {
			continue
		}
		charges = append(charges, chargesOf(sub, outcomes[i].Accepted)...)
		for j := range sub.Entries {
			if outcomes[i].Accepted[j].DuplicateOf != "" {
				continue
			}
			entry := &sub.Entries[j]
			sole := layout.BeginsClean(entry)
			messages = append(messages, append(layout.MessageValues(entry), layout.SoleValues(entry, sole)...))
			if sole {
				told.accepted(entry, &entry.Deliveries[0])
				clean = append(clean, arrival{entry, &outcomes[i], j})
				continue
			}
			asked = append(asked, answerable(entry, now)...)
			if entry.Sealed != nil {
				sealed = append(sealed, sealedValues(entry.Sealed))
			}
			for k := range entry.Deliveries {
				d := &entry.Deliveries[k]
				event := layout.AcceptEvent(d)
				if !transition.Legal("", event.Type, d.State) {
					return nil, nil, fmt.Errorf("a delivery cannot begin as %s", d.State)
				}
				events = append(events, layout.EventValues(&event))
				told.add(d, &event, &entry.Message)
				tally.Add(d, 1)
				if d.State.Open() {
					queued = append(queued, layout.DeliveryValues(d))
				} else {
					settled = append(settled, layout.DeliveryValues(d))
				}
			}
		}
	}
	for i, sub := range subs {
		for j := range sub.Routed {
			if r := &sub.Routed[j]; r.Sealed != nil && outcomes[i].Err == nil && !outcomes[i].Replayed && outcomes[i].Accepted[len(sub.Entries)+j].DuplicateOf == "" {
				sealed = append(sealed, sealedValues(r.Sealed))
			}
		}
	}
	made, waiting, err := t.seat(seats, clean)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range waiting {
		due = append(due, layout.DueValues(&a.entry.Deliveries[0]))
	}
	t.fresh.add(waiting, time.Now()) // before the commit, after which it may be claimed at once
	var b sqldb.Bundle
	b.Insert(layout.Clean, messages)
	b.Insert(layout.Due, due)
	b.Insert(layout.Queue, queued)
	layout.InsertSettled(&b, layout.Settled, settled)
	b.Insert(layout.Events, events)
	b.Insert(sealedTable, sealed)
	b.Insert(chargesTable, charges)
	b.Insert(answerableTable, asked)
	b.Put(linesTable, 3, linesOf(subs, outcomes, now))
	tally.Into(&b)
	if err := t.announce(&b, told); err != nil {
		return nil, nil, err
	}
	if made, err = t.writeStarts(b, made, now); err != nil {
		return nil, nil, err
	}
	if err := (settling{t.tx}).tellNotifications(now, suppressedOf(subs, outcomes)); err != nil {
		return nil, nil, err
	}
	return outcomes, made, t.keepAnswers(now, subs, outcomes)
}

// acceptedBy is what the sender of a submission is told, if it is stored now.
func acceptedBy(sub *work.Submission, now int64) []posthouse.Accepted {
	list := make([]posthouse.Accepted, len(sub.Entries), len(sub.Entries)+len(sub.Routed)+len(sub.Plans))
	for i := range sub.Entries {
		stamp(&sub.Entries[i], now)
		list[i] = acceptedOf(&sub.Entries[i])
	}
	for i := range sub.Routed {
		list = append(list, posthouse.Accepted{ID: sub.Routed[i].ID, CreatedAt: sqldb.TimeOf(now), Deliveries: []posthouse.AcceptedDelivery{}})
	}
	if len(list) == 0 {
		for i := range sub.Plans {
			list = append(list, posthouse.Accepted{ID: sub.Plans[i].ID, CreatedAt: sqldb.TimeOf(now), Deliveries: []posthouse.AcceptedDelivery{}})
		}
	}
	return list
}

// stamp gives an entry the time of the transaction that stores it.
func stamp(e *work.Entry, now int64) {
	at := sqldb.TimeOf(now)
	e.Message.CreatedAt = at
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		d.CreatedAt, d.UpdatedAt, d.Version = at, at, 1
		if d.State == posthouse.Pending && d.DueAt.Before(at) {
			d.DueAt = at
		}
	}
}

func acceptedOf(e *work.Entry) posthouse.Accepted {
	r := posthouse.Accepted{ID: e.Message.ID, CreatedAt: e.Message.CreatedAt}
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		r.Deliveries = append(r.Deliveries, posthouse.AcceptedDelivery{ID: d.ID, User: d.User, State: d.State, Reason: d.Reason})
	}
	return r
}

// ofPlace lets an accept look first whether its place still holds the database.
func (s Submissions) ofPlace(fn func(t *tx) error) func(t *tx) error {
	return func(t *tx) error {
		if err := (accepting{t}).held(s.place); err != nil {
			return err
		}
		return fn(t)
	}
}
