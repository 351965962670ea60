package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
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
	h.Delivered, h.Until = delivered > 0, sqldb.TimeOf(until)
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
		orphans, err := receiving{t}.hear(at, list, decide)
		if later = 0; err != nil || keep <= 0 || len(orphans) == 0 {
			return err
		}
		later = len(orphans)
		kept := map[string][]any{}
		for _, h := range orphans {
			id := heardID(h) // a provider may say the same twice
			kept[id] = []any{id, h.Tenant, h.Channel, h.Ref, h.Address, sqldb.Flag(h.Delivered), h.Code, h.Error, at + keep.Microseconds()}
		}
		rows := make([][]any, 0, len(kept))
		for _, id := range slices.Sorted(maps.Keys(kept)) { // in the order in which all transactions lock them
			rows = append(rows, kept[id])
		}
		return t.Put(heardTable, 1, rows)
	})
	return later, err
}

// call is what a provider names by a ref.
type call struct{ tenant, channel, ref string }

// hear writes what was told of deliveries that wait for it, all with the same few statements. orphans are told of none that waits.
func (t receiving) hear(at int64, list []work.Heard, decide func(time.Time, work.Heard, []work.Awaited, []posthouse.Delivery) work.Learnt) (orphans []work.Heard, err error) {
	groups, ids, err := t.waiting(list)
	if err != nil || len(groups) == 0 {
		return list, err
	}
	rows, err := settling{t.tx}.lockRows(work.Selection{IDs: ids})
	if err != nil {
		return nil, err
	}
	found := make(map[string]posthouse.Delivery, len(rows))
	for i := range rows {
		found[rows[i].ID] = rows[i]
	}
	var learnt work.Learnt
	var heard []string
	for _, h := range list {
		c := call{h.Tenant, h.Channel, h.Ref}
		group := groups[c]
		if len(group) == 0 {
			orphans = append(orphans, h)
			continue
		}
		var of []posthouse.Delivery
		for i := range group {
			if d, is := found[group[i].Delivery]; is {
				of = append(of, d)
			}
		}
		l := decide(sqldb.TimeOf(at), h, group, of)
		learnt.Changes, learnt.Done = append(learnt.Changes, l.Changes...), append(learnt.Done, l.Done...)
		heard = append(heard, heardID(h))
		groups[c] = slices.DeleteFunc(group, func(a work.Awaited) bool { return slices.Contains(l.Done, a.Delivery) })
	}
	if err := (settling{t.tx}).apply(at, learnt.Changes); err != nil {
		return nil, err
	}
	if err := t.forgetAwaited(learnt.Done); err != nil {
		return nil, err
	}
	clause, args := t.Among("id", heard)
	_, err = t.Exec("DELETE FROM posthouse_heard WHERE "+clause, args...)
	return orphans, err
}

// waiting are the deliveries that wait for what was told, by the calls that sent them.
func (t *tx) waiting(list []work.Heard) (groups map[call][]work.Awaited, ids []string, err error) {
	refs, told := map[string]bool{}, make(map[call]bool, len(list))
	for _, h := range list {
		refs[h.Ref], told[call{h.Tenant, h.Channel, h.Ref}] = true, true
	}
	groups = map[call][]work.Awaited{}
	for part := range sqldb.Parts(slices.Sorted(maps.Keys(refs)), sqldb.BulkStep) {
		clause, args := t.DB.Dialect.In("ref", part)
		some, err := sqldb.All(t.Query, readAwaited, "SELECT "+awaitedTable.List+" FROM posthouse_awaited WHERE "+clause+" ORDER BY delivery", args...)
		if err != nil {
			return nil, nil, err
		}
		for _, a := range some {
			if c := (call{a.Tenant, a.Channel, a.Ref}); told[c] {
				groups[c], ids = append(groups[c], a), append(ids, a.Delivery)
			}
		}
	}
	return groups, ids, nil
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

// InDoubt are the deliveries of a channel to some addresses of which it is not known whether they arrived, and became so since a time.
func (s Receipts) InDoubt(ctx context.Context, tenant, channel string, addresses []string, since time.Time) ([]posthouse.Delivery, error) {
	var list []posthouse.Delivery
	for part := range sqldb.Parts(addresses, sqldb.BulkStep) {
		address, to := s.db.Dialect.In("address", part)
		user, toUser := s.db.Dialect.In("user_id", part)
		some, err := sqldb.All(s.db.Reads(ctx), layout.ReadDelivery, "SELECT "+layout.Queue.List+" FROM posthouse_queue"+
			" WHERE tenant = ? AND state = 'unknown' AND channel = ? AND updated_at >= ? AND ("+address+" OR address = '' AND "+user+") ORDER BY id",
			append(append([]any{tenant, channel, sqldb.Micros(since)}, to...), toUser...)...)
		if err != nil {
			return nil, s.db.Coded(err, "look for what a provider told")
		}
		list = append(list, some...)
	}
	return list, nil
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
