package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var awaitedTable = sqldb.NewTable("posthouse_awaited", "delivery", "tenant", "channel", "account?", "ref?", "due_at#", "until_at#", "asks#?")

func awaitedValues(a *work.Awaited) []any {
	return []any{a.Delivery, a.Tenant, a.Channel, a.Account, a.Ref, sqldb.Micros(a.DueAt), sqldb.Micros(a.UntilAt), int64(a.Asks)}
}

func readAwaited(scan sqldb.Scanner) (work.Awaited, error) {
	var a work.Awaited
	var due, until int64
	err := scan(&a.Delivery, &a.Tenant, &a.Channel, &a.Account, &a.Ref, &due, &until, &a.Asks)
	a.DueAt, a.UntilAt = sqldb.TimeOf(due), sqldb.TimeOf(until)
	return a, err
}

// Awaited hands out deliveries of all tenants whose receipts are to be asked for, the longest due first, and
// hands them to nobody else before hold has passed. What has no delivery any more, or one that is no longer
// sent, is dropped.
func (s Receipts) Awaited(ctx context.Context, now time.Time, max int, hold time.Duration) ([]work.Awaited, error) {
	due, args := s.db.Instant(now)
	_, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT delivery FROM posthouse_awaited WHERE due_at <= "+due+" LIMIT 1", args...)
	if err != nil || !found {
		return nil, s.db.Coded(err, "look for receipts to ask for")
	}
	var list []work.Awaited
	err = s.change(ctx, now, "take receipts to ask for", func(t *tx) (err error) {
		list, err = receiving{t}.takeAwaited(max, hold)
		return err
	})
	return list, err
}

func (t receiving) takeAwaited(most int, hold time.Duration) ([]work.Awaited, error) {
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	list, err := sqldb.All(t.Query, readAwaited, "SELECT "+awaitedTable.List+" FROM posthouse_awaited WHERE due_at <= ? ORDER BY due_at, delivery LIMIT ?"+
		t.DB.Dialect.Skip, now, most)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].Delivery
	}
	clause, args := t.Among("delivery", ids)
	if _, err := t.Exec("UPDATE posthouse_awaited SET due_at = ? WHERE "+clause, append([]any{now + hold.Microseconds()}, args...)...); err != nil {
		return nil, err
	}
	return t.addressed(list, ids)
}

// addressed fills in whom the deliveries were sent to, and drops those that are not sent any more.
func (t receiving) addressed(list []work.Awaited, ids []string) ([]work.Awaited, error) {
	to := map[string]posthouse.Recipient{}
	clause, args := t.Among("id", ids)
	err := t.Query("SELECT id, user_id, address, recipient_type FROM posthouse_settled WHERE "+clause+" AND state = 'sent'", args, func(scan func(...any) error) error {
		var id string
		var r posthouse.Recipient
		err := scan(&id, &r.User, &r.Address, &r.Type)
		to[id] = r
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := t.addressedClean(to, ids); err != nil {
		return nil, err
	}
	kept, gone := list[:0], []string(nil)
	for _, a := range list {
		var sent bool
		if a.Recipient, sent = to[a.Delivery]; sent {
			kept = append(kept, a)
		} else {
			gone = append(gone, a.Delivery)
		}
	}
	return kept, t.forgetAwaited(gone)
}

// Receive writes what a provider said of deliveries. decide is called with the transaction's time and the
// deliveries as they now are, which nobody else changes meanwhile, and again when the transaction is repeated.
func (s Receipts) Receive(ctx context.Context, now time.Time, ids []string, decide func(now time.Time, found []posthouse.Delivery) work.Learnt) error {
	return s.change(ctx, now, "write receipts", func(t *tx) error {
		found, err := settling{t}.lockRows(work.Selection{IDs: ids})
		if err != nil {
			return err
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		learnt := decide(sqldb.TimeOf(at), found)
		if err := (settling{t}).apply(at, learnt.Changes); err != nil {
			return err
		}
		if err := (receiving{t}).forgetAwaited(learnt.Done); err != nil || len(learnt.Later) == 0 {
			return err
		}
		clause, args := t.Among("delivery", learnt.Later)
		_, err = t.Exec("UPDATE posthouse_awaited SET due_at = ?, asks = asks + 1 WHERE "+clause, append([]any{sqldb.Micros(learnt.At)}, args...)...)
		return err
	})
}

func (t receiving) forgetAwaited(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	clause, args := t.Among("delivery", ids)
	_, err := t.Exec("DELETE FROM posthouse_awaited WHERE "+clause, args...)
	return err
}

// addressedClean fills in whom clean deliveries were sent to.
func (t receiving) addressedClean(to map[string]posthouse.Recipient, ids []string) error {
	clause, args := t.Among("s.id", ids)
	return t.Query("SELECT s.id, m.user_id, m.address, m.recipient_type FROM posthouse_sent s JOIN posthouse_messages m ON m.id = "+
		layout.SoleMessage(t.DB.Dialect, "s.id")+" AND m.sole = 1 WHERE "+clause, args, func(scan func(...any) error) error {
		var id string
		var r posthouse.Recipient
		err := scan(&id, &r.User, &r.Address, &r.Type)
		to[id] = r
		return err
	})
}
