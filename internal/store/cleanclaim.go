package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// claimClean claims clean deliveries of a lane: their entries leave posthouse_due, and one row of posthouse_flights
// stands for all of them. That row is their start, committed before a byte leaves.
func (s Queue) claimClean(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	c.Whole = false // a clean delivery is all of its message
	return claimSince(&s.cleanLows, c, func(c work.Claim, from place) ([]work.Item, error) { return s.claimCleanFrom(ctx, now, c, from) })
}

func (s Queue) claimCleanFrom(ctx context.Context, now time.Time, c work.Claim, from place) (items []work.Item, err error) {
	var orphans []posthouse.Delivery
	made := &flight{id: posthouse.NewID(), owner: c.Owner, account: c.Account, epoch: c.Epoch, pinned: map[string]string{}}
	if fly := s.db.dialect.fly; fly != nil {
		items, orphans, err = fly(s, ctx, c, from, made)
	} else {
		err = s.change(ctx, now, "claim", func(t *tx) (err error) {
			items, orphans, err = clearing{t}.fly(c, from, made)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if len(items) > 0 {
		s.flights.add(made, items)
	}
	if err := s.adopt(ctx, now, orphans); err != nil { // what was claimed is ours all the same
		s.db.log.Error("deliveries whose messages are gone could not be set aside", "deliveries", len(orphans), "error", err)
	}
	return items, nil
}

// adopt gives rows of their own to deliveries whose message is gone: the engine quarantines what it cannot read.
func (s Queue) adopt(ctx context.Context, now time.Time, orphans []posthouse.Delivery) error {
	if len(orphans) == 0 {
		return nil
	}
	return s.change(ctx, now, "keep deliveries without a message", func(t *tx) error {
		var x expansion
		for i := range orphans {
			x.accepted(&orphans[i])
			x.stands(&orphans[i])
		}
		if err := t.insert(queueTable, x.open); err != nil {
			return err
		}
		return t.insert(eventsTable, x.events)
	})
}

// fly is a claim of clean deliveries, statement by statement.
func (t clearing) fly(c work.Claim, from place, made *flight) (items []work.Item, orphans []posthouse.Delivery, err error) {
	now, err := t.now()
	if err != nil {
		return nil, nil, err
	}
	due := now
	if !c.DueBefore.IsZero() {
		due = min(due, micros(c.DueBefore))
	}
	var taken []place
	since, begin := t.db.dialect.since(from)
	lane := []any{c.Tenant, c.Channel, priorityNumber(c.Priority)}
	err = t.query("SELECT due_at, id FROM posthouse_due"+t.db.dialect.by(primary)+" WHERE tenant = ? AND channel = ? AND priority = ? AND "+since+
		" AND due_at <= ? AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ? ORDER BY due_at, id LIMIT "+t.db.dialect.limit+t.db.dialect.skip,
		slices.Concat(lane, begin, []any{due, fmt.Sprint(c.Epoch), c.Max}), func(scan func(...any) error) error {
			var p place
			err := scan(&p.due, &p.id)
			taken = append(taken, p)
			return err
		})
	if err != nil || len(taken) == 0 {
		return nil, nil, err
	}
	items, orphans, err = t.boarding(taken, &c)
	if err != nil {
		return nil, nil, err
	}
	made.startedAt = now
	for i := range items {
		made.startedAt = later(made.startedAt, &items[i].Delivery)
	}
	made.leaseUntil = made.startedAt + c.Lease.Microseconds()
	if err := t.leaveDue(lane, taken); err != nil || len(items) == 0 {
		return nil, orphans, err
	}
	ids := make([]string, len(items))
	for i := range items {
		made.board(&items[i].Delivery)
		ids[i] = items[i].Delivery.ID
	}
	row := append([]any{made.id}, lane...)
	return items, orphans, t.write(flightTable, [][]any{append(row, made.account, made.owner, made.epoch, made.startedAt, made.leaseUntil, idList(ids))}, "")
}

// board puts a delivery into a flight.
func (f *flight) board(d *posthouse.Delivery) {
	if d.Account != "" {
		f.pinned[d.ID] = d.Account
	}
	takeOff(d, f)
}

// idList is ids as a JSON array: they are plain letters.
func idList(ids []string) string { return `["` + strings.Join(ids, `","`) + `"]` }

// readList is what idList wrote.
func readList(text string) []string {
	text = strings.NewReplacer(`"`, "", " ", "").Replace(strings.Trim(text, "[]"))
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// leaveDue deletes entries of a lane that this transaction has found.
func (t clearing) leaveDue(lane []any, taken []place) error {
	total := int64(0)
	if t.db.dialect.oneWriter { // nothing else lies between them
		first, last := taken[0], taken[len(taken)-1]
		n, err := t.exec("DELETE FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ? AND (due_at, id) >= (?, ?) AND (due_at, id) <= (?, ?)",
			append(slices.Clone(lane), first.due, first.id, last.due, last.id)...)
		if err != nil {
			return err
		}
		total = n
	} else {
		for part := range sized(taken) {
			var args []any
			for _, p := range part {
				args = append(args, p.due, p.id)
			}
			n, err := t.exec(t.db.dialect.deleteListed("posthouse_due", []string{"due_at", "id"}, len(part))+
				" AND d.tenant = ? AND d.channel = ? AND d.priority = ?", append(args, lane...)...)
			if err != nil {
				return err
			}
			total += n
		}
	}
	if int(total) != len(taken) {
		return fmt.Errorf("%d of %d due deliveries were claimed", total, len(taken))
	}
	return nil
}

// boarding reads the messages of due deliveries, and tells apart those whose message is gone.
func (t clearing) boarding(taken []place, c *work.Claim) (items []work.Item, orphans []posthouse.Delivery, err error) {
	ids := make([]string, len(taken))
	for i, p := range taken {
		ids[i] = posthouse.MessageID(p.id)
	}
	found := make(map[string]work.Item, len(taken))
	clause, args := t.in("id", ids)
	err = t.query("SELECT "+cleanTable.list+" FROM posthouse_messages WHERE "+clause, args, func(scan func(...any) error) error {
		m, d, err := scanClean(scan)
		if err == nil {
			found[d.ID] = work.Item{Delivery: *d, Message: m}
		}
		return err
	})
	for _, p := range taken {
		if item, ok := found[p.id]; ok {
			items = append(items, item)
		} else {
			orphans = append(orphans, orphan(p, c))
		}
	}
	return items, orphans, err
}

// orphan is a due delivery without its message.
func orphan(p place, c *work.Claim) posthouse.Delivery {
	at := timeOf(p.due)
	return posthouse.Delivery{
		ID: p.id, Message: posthouse.MessageID(p.id), Tenant: c.Tenant, Channel: c.Channel, Priority: c.Priority, State: posthouse.Pending,
		Version: 1, IdemKey: p.id, OnUnknown: posthouse.Hold, Epoch: c.Epoch, CreatedAt: at, UpdatedAt: at, DueAt: at,
	}
}

// flyOnce is the claim of clean deliveries on PostgreSQL, in one statement. What is due is joined once, by the messages' key: the
// hot connections know nested loops alone, and a second join of what a claim has found costs its square.
var flyOnce = `WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now),
due AS MATERIALIZED (
	SELECT ctid AS row, due_at, id FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ?
		AND (due_at, id) >= (?::bigint, ?) AND due_at <= LEAST((SELECT now FROM clock), ?::bigint)
		AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
	ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM posthouse_due WHERE ctid = ANY(ARRAY(SELECT row FROM due))),
mine AS MATERIALIZED (
	SELECT due.due_at AS time, due.id AS delivery, m.* FROM due LEFT JOIN posthouse_messages m ON m.id = substr(due.id, 1, 22) || '0000'),
flight AS (
	INSERT INTO posthouse_flights (id, tenant, channel, priority, account, owner, epoch, started_at, lease_until, ids)
	SELECT ?, ?, ?, ?, ?, ?, ?, at, at + ?::bigint, ids FROM (
		SELECT GREATEST((SELECT now FROM clock), MAX(created_at)) AS at, json_agg(delivery ORDER BY time, delivery)::text AS ids, COUNT(*) AS n
		FROM mine WHERE id IS NOT NULL) f
	WHERE n > 0 RETURNING started_at, lease_until)
SELECT COALESCE(f.started_at, 0), COALESCE(f.lease_until, 0), mine.time, mine.delivery, ` + flyColumns() + `
FROM mine LEFT JOIN flight f ON true ORDER BY mine.time, mine.delivery`

func flyColumns() string {
	list := make([]string, len(cleanTable.columns))
	for i, c := range cleanTable.columns {
		empty := "''"
		if cleanTable.numbers[i] {
			empty = "0"
		}
		list[i] = "COALESCE(mine." + c + ", " + empty + ")"
	}
	return strings.Join(list, ", ")
}

// flyArgs are the values of flyOnce.
func flyArgs(c *work.Claim, from place, made *flight) []any {
	bound := int64(math.MaxInt64)
	if !c.DueBefore.IsZero() {
		bound = micros(c.DueBefore)
	}
	n := priorityNumber(c.Priority)
	return []any{
		c.Tenant, c.Channel, n, from.due, from.id, bound, fmt.Sprint(c.Epoch), c.Max,
		made.id, c.Tenant, c.Channel, n, made.account, made.owner, made.epoch, c.Lease.Microseconds(),
	}
}

// flyAtOnce is fly in one statement. Where its answer is lost, the lease ends and the rescuer finds what was claimed.
func (s Queue) flyAtOnce(ctx context.Context, c work.Claim, from place, made *flight) (items []work.Item, orphans []posthouse.Delivery, err error) {
	args := flyArgs(&c, from, made)
	err = s.db.insist(ctx, "claim", func(ctx context.Context) error {
		conn, err := s.db.write.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(raw any) error { // as claimAtOnce
			rows, err := raw.(*stdlib.Conn).Conn().Query(ctx, s.db.text(flyOnce), args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			items, orphans = nil, nil
			for rows.Next() {
				var p place
				m, d, err := scanClean(func(clean ...any) error {
					return rows.Scan(append([]any{&made.startedAt, &made.leaseUntil, &p.due, &p.id}, clean...)...)
				})
				if err != nil {
					return err
				}
				if m.ID == "" {
					orphans = append(orphans, orphan(p, &c))
					continue
				}
				made.board(d)
				items = append(items, work.Item{Delivery: *d, Message: m})
			}
			return rows.Err()
		})
	})
	return items, orphans, err
}

// courses remembers for each lane when a claim last began with the deliveries that are not clean, so that clean ones that
// come without a pause hold up no retry.
type courses struct {
	mu     sync.Mutex
	begins map[work.Lane]time.Time
}

// courseEvery is how often a claim of a lane begins with the deliveries that are not clean.
const courseEvery = 20 * time.Millisecond

// due reports whether a claim begins with them, and notes it.
func (c *courses) due(lane work.Lane, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.begins[lane]).Abs() < courseEvery {
		return false
	}
	if c.begins == nil {
		c.begins = map[work.Lane]time.Time{}
	}
	c.begins[lane] = now
	return true
}
