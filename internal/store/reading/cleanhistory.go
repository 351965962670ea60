package reading

import (
	"cmp"
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// soleAfter is the message from which the clean deliveries behind a delivery are listed.
func soleAfter(delivery string) string {
	if delivery == "" {
		return ""
	}
	if posthouse.DeliveryNumber(delivery) == 0 {
		return delivery
	}
	return posthouse.MessageID(delivery) + "~" // behind that message, whose own delivery is not behind
}

// cleanEvents are the events of up to max clean deliveries whose messages lie from one id to another, in order; an empty end
// is none. They follow from the rows.
func (s History) cleanEvents(ctx context.Context, tenant, from, to string, max int) ([]posthouse.Event, error) {
	where, args := "m.sole = 1 AND m.id >= ?", []any{from}
	if to != "" {
		where, args = where+" AND m.id <= ?", append(args, to)
	} else if from == "" && tenant != "" {
		return nil, nil
	}
	if tenant != "" {
		where, args = where+" AND m.tenant = ?", append(args, tenant)
	}
	return s.CleanEventsWhere(ctx, where, args, max)
}

// CleanEventsWhere are the events of up to max clean deliveries that a condition on their messages, m, selects.
func (s History) CleanEventsWhere(ctx context.Context, where string, args []any, max int) ([]posthouse.Event, error) {
	landed := layout.LandingColumns("s")
	var list []posthouse.Event
	var flying []posthouse.Delivery
	err := s.db.Look(ctx, "SELECT "+layout.SoleList("m")+", CASE WHEN q.id IS NULL THEN 0 ELSE 1 END, CASE WHEN s.id IS NULL THEN 0 ELSE 1 END, "+landed+
		" FROM "+layout.SoleRows(s.db.Dialect)+" WHERE "+where+" ORDER BY m.id LIMIT ?", append(args, max), func(scan sqldb.Scanner) error {
		var waits, sent int
		var l layout.Landing
		_, d, err := layout.ScanClean(func(clean ...any) error {
			return scan(append(clean, &waits, &sent, &l.At, &l.StartedAt, &l.LeaseUntil, &l.Owner, &l.Epoch, &l.Account, &l.Class, &l.Code, &l.Ref, &l.Request, &l.Response)...)
		})
		if err != nil {
			return err
		}
		list = append(list, layout.AcceptEvent(d))
		switch {
		case sent == 1:
			list = append(list, layout.StartOf(d, l.Account, l.StartedAt, l.LeaseUntil, l.Epoch, l.Owner), layout.SentOf(d, &l))
		case waits == 0:
			flying = append(flying, *d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.startEvents(ctx, list, flying)
}

// startEvents adds the starts of those that are in flight. What has landed or was expanded meanwhile has no more than it
// had when it was read.
func (s History) startEvents(ctx context.Context, list []posthouse.Event, inFlight []posthouse.Delivery) ([]posthouse.Event, error) {
	if len(inFlight) > 0 {
		flights, err := sqldb.All(s.db.Reads(ctx), layout.ReadFlying, "SELECT "+layout.FlyingColumns+" FROM posthouse_flights")
		if err != nil {
			return nil, err
		}
		of := map[string]*layout.Flight{}
		for i := range flights {
			for place, id := range flights[i].IDs {
				of[id] = flights[i].For(place)
			}
		}
		for i := range inFlight {
			if f := of[inFlight[i].ID]; f != nil {
				list = append(list, layout.StartOf(&inFlight[i], cmp.Or(f.Account, inFlight[i].Account), f.StartedAt, f.LeaseUntil, f.Epoch, f.Owner))
			}
		}
	}
	slices.SortStableFunc(list, byDelivery)
	for i := range list {
		list[i].Message = posthouse.MessageID(list[i].Delivery)
	}
	return list, nil
}

func byDelivery(a, b posthouse.Event) int {
	return cmp.Or(cmp.Compare(a.Delivery, b.Delivery), cmp.Compare(a.Version, b.Version))
}

// interleave puts two parts of the log into one order, up to where both are whole, and returns the last delivery. What
// stands in both was expanded between the two readings: then the rows count.
func interleave(rows, sole []posthouse.Event, moreRows, moreSole bool) (list []posthouse.Event, last string) {
	has := map[string]bool{}
	for i := range rows {
		has[rows[i].Delivery] = true
	}
	sole = slices.DeleteFunc(sole, func(e posthouse.Event) bool { return has[e.Delivery] })
	end := ""
	if moreRows && len(rows) > 0 {
		end = rows[len(rows)-1].Delivery
	}
	if moreSole && len(sole) > 0 && (end == "" || sole[len(sole)-1].Delivery < end) {
		end = sole[len(sole)-1].Delivery
	}
	list = append(slices.Clone(rows), sole...)
	slices.SortStableFunc(list, byDelivery)
	if end != "" {
		list = slices.DeleteFunc(list, func(e posthouse.Event) bool { return e.Delivery > end })
	}
	return list, list[len(list)-1].Delivery
}

// cleanRows fills in what the clean deliveries between two say that their events do not.
func (s History) cleanRows(ctx context.Context, rows map[string]*posthouse.Delivery, low, high string) error {
	return s.db.Look(ctx, "SELECT id, tenant, idem_key, policy FROM posthouse_messages WHERE id >= ? AND id <= ? AND sole = 1",
		[]any{posthouse.MessageID(low), high}, func(scan sqldb.Scanner) error {
			var message string
			var d posthouse.Delivery
			if err := scan(&message, &d.Tenant, &d.IdemKey, &d.OnUnknown); err != nil {
				return err
			}
			d.ID = posthouse.DeliveryID(message, 1)
			d.IdemKey = cmp.Or(d.IdemKey, d.ID)
			if known, asked := rows[d.ID]; asked && known == nil {
				rows[d.ID] = &d
			}
			return nil
		})
}
