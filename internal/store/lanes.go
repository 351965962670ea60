package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

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
	list, err := sqldb.All(t.Query, layout.ReadDelivery, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+t.DB.Dialect.By("posthouse_queue_due")+
		" WHERE tenant = ? AND channel = ? AND priority = ? AND pin = '' AND state = 'pending' ORDER BY due_at, id LIMIT ?"+t.DB.Dialect.Skip,
		from.Tenant, from.Channel, layout.NumberOf(from), max)
	if err != nil {
		return 0, err
	}
	guards := make([]sqldb.Guard, len(list))
	after := make([]*posthouse.Delivery, len(list))
	tally := layout.Counting{}
	for i := range list {
		d := list[i]
		guards[i], after[i] = layout.GuardOf(&d), &d
		d.Pulled = !from.Pulled
		tally.Move(&list[i], &d)
	}
	var b sqldb.Bundle
	b.Amend(layout.Queue, layout.Mutable, guards, layout.MutableRows(after))
	tally.Into(&b)
	return len(list), t.Run(b)
}
