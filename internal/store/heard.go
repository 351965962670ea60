package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var heardTable = sqldb.NewTable("posthouse_heard", "id", "tenant", "channel", "ref", "address?", "delivered#?", "code?", "error?", "until_at#")

// heardID stands for what is told of: a key of a table has no room for a long ref beside its channel.
func heardID(h work.Heard) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{h.Tenant, h.Channel, h.Ref, h.Address}, "\x00")))
	return hex.EncodeToString(sum[:])
}

func readHeard(scan sqldb.Scanner) (h work.Heard, err error) {
	var id string
	var delivered, until int64
	err = scan(&id, &h.Tenant, &h.Channel, &h.Ref, &h.Address, &delivered, &h.Code, &h.Error, &until)
	h.Delivered = delivered > 0
	return h, err
}

// Hear writes what a provider has told by itself. decide is called for each with the deliveries that wait for it as they now
// are, which nobody else changes meanwhile, and again when the transaction is repeated. What no delivery waits for, since its
// sending is not recorded yet or was not ours, is kept for a while and counted in later; with keep 0 it is forgotten.
func (s Receipts) Hear(ctx context.Context, now time.Time, list []work.Heard, keep time.Duration,
	decide func(now time.Time, h work.Heard, group []work.Awaited, found []posthouse.Delivery) work.Learnt,
) (later int, err error) {
	err = s.change(ctx, now, "write what a provider told", func(t *tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		later = 0
		var rows [][]any
		for _, h := range list {
			group, err := t.waiting(h)
			if err != nil {
				return err
			}
			if len(group) > 0 {
				if err := (receiving{t}).hear(at, h, group, decide); err != nil {
					return err
				}
			} else if keep > 0 {
				later++
				rows = append(rows, []any{heardID(h), h.Tenant, h.Channel, h.Ref, h.Address, sqldb.Flag(h.Delivered), h.Code, h.Error, at + keep.Microseconds()})
			}
		}
		for _, row := range rows { // one by one: a provider may say the same twice in one call
			if err := t.Put(heardTable, 1, [][]any{row}); err != nil {
				return err
			}
		}
		return nil
	})
	return later, err
}

func (t *tx) waiting(h work.Heard) ([]work.Awaited, error) {
	return sqldb.All(t.Query, readAwaited, "SELECT "+awaitedTable.List+" FROM posthouse_awaited WHERE ref = ? AND tenant = ? AND channel = ? ORDER BY delivery", h.Ref, h.Tenant, h.Channel)
}

func (t receiving) hear(at int64, h work.Heard, group []work.Awaited, decide func(time.Time, work.Heard, []work.Awaited, []posthouse.Delivery) work.Learnt) error {
	ids := make([]string, len(group))
	for i := range group {
		ids[i] = group[i].Delivery
	}
	found, err := settling{t.tx}.lockRows(work.Selection{IDs: ids})
	if err != nil {
		return err
	}
	learnt := decide(sqldb.TimeOf(at), h, group, found)
	if err := (settling{t.tx}).apply(at, learnt.Changes); err != nil {
		return err
	}
	if err := t.forgetAwaited(learnt.Done); err != nil {
		return err
	}
	_, err = t.Exec("DELETE FROM posthouse_heard WHERE id = ?", heardID(h))
	return err
}

// Unheard reads what was kept by Hear and has a delivery that waits for it now, and deletes what was kept for too long.
func (s Receipts) Unheard(ctx context.Context, now time.Time, most int) (list []work.Heard, lost int64, err error) {
	_, some, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_heard LIMIT 1")
	if err != nil || !some {
		return nil, 0, s.db.Coded(err, "look for what a provider told")
	}
	columns := "h." + strings.ReplaceAll(heardTable.List, ", ", ", h.")
	list, err = sqldb.All(s.db.Reads(ctx), readHeard, "SELECT "+columns+" FROM posthouse_heard h WHERE EXISTS"+
		" (SELECT 1 FROM posthouse_awaited a WHERE a.ref = h.ref AND a.tenant = h.tenant AND a.channel = h.channel) ORDER BY h.id LIMIT ?", most)
	if err != nil {
		return nil, 0, s.db.Coded(err, "look for what a provider told")
	}
	over, args := s.db.Instant(now)
	_, some, err = sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_heard WHERE until_at < "+over+" LIMIT 1", args...)
	if err != nil || !some { // nothing is written every second for what waits
		return list, 0, s.db.Coded(err, "look for what a provider told")
	}
	err = s.change(ctx, now, "forget what a provider told", func(t *tx) error {
		at, err := t.Now()
		if err == nil {
			lost, err = t.Exec("DELETE FROM posthouse_heard WHERE until_at < ?", at)
		}
		return err
	})
	return list, lost, err
}

// Kept reads up to most of what Hear has kept, in the order of its places, behind one of them.
func (s Receipts) Kept(ctx context.Context, behind string, most int) (list []work.Heard, last string, err error) {
	list, err = sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (work.Heard, error) {
		return readHeard(func(into ...any) error {
			err := scan(into...)
			last = *into[0].(*string)
			return err
		})
	}, "SELECT "+heardTable.List+" FROM posthouse_heard WHERE id > ? ORDER BY id LIMIT ?", behind, most)
	return list, last, s.db.Coded(err, "look for what a provider told")
}

// ForgetHeard deletes what Hear has kept.
func (s Receipts) ForgetHeard(ctx context.Context, now time.Time, list []work.Heard) error {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = heardID(list[i])
	}
	return s.change(ctx, now, "forget what a provider told", func(t *tx) error {
		clause, args := t.Among("id", ids)
		_, err := t.Exec("DELETE FROM posthouse_heard WHERE "+clause, args...)
		return err
	})
}
