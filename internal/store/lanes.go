package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// The column priority of queue and settled holds a lane's number: 0, 1, 2 by priority for what our workers
// send, ten more for what agents fetch, and twenty more for what agents fetch and has failed before. So the
// index of what is due finds each of them in order. Messages have the bare priority.
const (
	lanePulled = 10
	laneAgain  = 20
)

// laneNumber is what the column holds of a lane.
func laneNumber(p posthouse.Priority, pulled, again bool) int64 {
	switch n := sqldb.PriorityNumber(p); {
	case pulled && again:
		return n + laneAgain
	case pulled:
		return n + lanePulled
	default:
		return n
	}
}

// laneOf follows from the row alone: whoever writes a row writes its lane.
func laneOf(d *posthouse.Delivery) int64 { return laneNumber(d.Priority, d.Pulled, d.Tries > 0) }

// readLane is what laneNumber made of a priority, and of nonsense a pushed lane of priority normal.
func readLane(n int64) (p posthouse.Priority, pulled, again bool) {
	if n < 0 || n >= laneAgain+lanePulled || int(n%lanePulled) >= len(posthouse.Priorities()) {
		return posthouse.Normal, false, false
	}
	return sqldb.PriorityOf(n % lanePulled), n >= lanePulled, n >= laneAgain
}

func numberOf(l work.Lane) int64 { return laneNumber(l.Priority, l.Pulled, l.Again) }

// Turn moves up to max pending deliveries of a lane to the one that is theirs where agents fetch what our workers sent, or
// the other way, and returns how many. Their state stays as it is, so there is no event.
func (s Queue) Turn(ctx context.Context, now time.Time, from work.Lane, max int) (int, error) {
	return s.repeat(ctx, now, "turn deliveries", max, func(t *tx, step int) (int, error) { return claiming{t}.turn(from, step) })
}

// turn leaves what is locked for the next time.
func (t claiming) turn(from work.Lane, max int) (int, error) {
	if !from.Pulled {
		if _, err := (expanding{t.tx}).expandDue(&from, max); err != nil {
			return 0, err
		}
	}
	list, err := sqldb.All(t.Query, readDelivery, "SELECT "+queueTable.List+" FROM posthouse_queue"+t.DB.Dialect.By("posthouse_queue_due")+
		" WHERE tenant = ? AND channel = ? AND priority = ? AND pin = '' AND state = 'pending' ORDER BY due_at, id LIMIT ?"+t.DB.Dialect.Skip,
		from.Tenant, from.Channel, numberOf(from), max)
	if err != nil {
		return 0, err
	}
	guards := make([]sqldb.Guard, len(list))
	after := make([]*posthouse.Delivery, len(list))
	tally := counting{}
	for i := range list {
		d := list[i]
		guards[i], after[i] = guardOf(&d), &d
		d.Pulled = !from.Pulled
		tally.move(&list[i], &d)
	}
	var b sqldb.Bundle
	b.Amend(queueTable, mutableTable, guards, mutableRows(after))
	tally.into(&b)
	return len(list), t.Run(b)
}
