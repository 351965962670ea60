package store

import (
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Renew makes leases last from now. What the owner does not hold with that token is left out of the answer.
// A lease that has ended is renewed as long as nobody has taken it away. It is no transition: no event says it.
func (s Handouts) Renew(ctx context.Context, now time.Time, tenant, owner string, holds []work.Hold, lease time.Duration) ([]work.Renewed, error) {
	var renewed []work.Renewed
	err := s.change(ctx, now, "renew leases", func(t *tx) error {
		renewed = nil
		held, err := handing{t}.lockHeld(tenant, owner, holds)
		if err != nil || len(held) == 0 {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		until := at + lease.Microseconds()
		ids := make([]string, len(held))
		for i := range held {
			ids[i] = held[i].ID
			renewed = append(renewed, work.Renewed{Delivery: held[i].ID, LeaseUntil: sqldb.TimeOf(until)})
		}
		clause, args := t.Among("id", ids)
		_, err = t.Exec("UPDATE posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+" SET lease_until = ? WHERE "+clause, append([]any{until}, args...)...)
		return err
	})
	return renewed, err
}

// lockHeld locks those deliveries that the owner holds with the token it names.
func (t handing) lockHeld(tenant, owner string, holds []work.Hold) ([]posthouse.Delivery, error) {
	tokens := map[string]int64{}
	ids := make([]string, 0, len(holds))
	for _, h := range holds {
		tokens[h.Delivery] = h.Token
		ids = append(ids, layout.IDOnly(h.Delivery))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	clause, args := t.Among("id", ids)
	held, err := sqldb.All(t.Query, layout.ReadDelivery, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+t.DB.Dialect.By(sqldb.Primary)+" WHERE "+clause+
		" AND tenant = ? AND lease_owner = ? AND state = 'sending' ORDER BY id"+t.DB.Dialect.Lock, append(args, tenant, owner)...)
	return slices.DeleteFunc(held, func(d posthouse.Delivery) bool { return tokens[d.ID] != d.Token }), err
}

// HeldPage lists a part of what an agent holds.
func (s Handouts) HeldPage(ctx context.Context, tenant, agent, cursor string, limit int) (list []posthouse.Delivery, next string, err error) {
	after, err := page.ID("handouts", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), layout.ReadDelivery, heldPage(s.db.Dialect), tenant, work.Owner(agent), after, size+1)
	list, next = page.Cut(list, size, "handouts", func(d posthouse.Delivery) string { return d.ID })
	return list, next, s.db.Coded(err, "list what an agent holds")
}

// heldPage reads what an agent holds. Few deliveries are held and many wait, so that an id that no index has leaves the planner none but
// that of the leases.
func heldPage(d *sqldb.Dialect) string {
	id := d.Concat("id", "''")
	return "SELECT " + layout.Queue.List + " FROM posthouse_queue" + d.By("posthouse_queue_lease") +
		" WHERE state = 'sending' AND lease_until > 0 AND tenant = ? AND lease_owner = ? AND " + id + " > ? ORDER BY " + id + " LIMIT ?"
}

// HeldBy lists what an agent holds, the oldest lease first.
func (s Handouts) HeldBy(ctx context.Context, tenant, agent string) ([]posthouse.Delivery, error) {
	list, err := sqldb.All(s.db.Reads(ctx), layout.ReadDelivery, "SELECT "+layout.Queue.List+
		" FROM posthouse_queue WHERE state = 'sending' AND lease_until > 0 AND tenant = ? AND lease_owner = ? ORDER BY lease_until, id", tenant, work.Owner(agent))
	return list, s.db.Coded(err, "list what an agent holds")
}
