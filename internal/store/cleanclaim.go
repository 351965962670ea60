package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// claimClean claims clean deliveries of a lane: their entries leave posthouse_due, and one row of posthouse_flights
// stands for all of them. That row is their start, committed before a byte leaves. others says whether deliveries that are not
// clean are due as well; where nothing was found or all that was asked for, it is not looked for.
func (s Queue) claimClean(ctx context.Context, now time.Time, c work.Claim) (items []work.Item, others bool, err error) {
	c.Whole = false // a clean delivery is all of its message
	c.By = slices.Clone(c.By)
	for i := range c.By {
		c.By[i].Max, c.By[i].Messages = bounded(c.By[i].Max, c.By[i].Messages), 0
	}
	if c.Max, c.Messages = bounded(c.Max, c.Messages), 0; len(c.By) > 0 { // what has no seat would be claimed and sent by nobody
		c.Max = min(c.Max, c.Places())
	}
	items, err = claimSince(&s.cleanLows, c, func(c work.Claim, from place) ([]work.Item, error) {
		items, more, err := s.claimCleanFrom(ctx, now, c, from)
		others = others || more
		return items, err
	})
	return items, others, err
}

// bounded is how many deliveries may be taken that are of so many messages at most, each a message.
func bounded(most, messages int) int {
	if messages == 0 {
		return most
	}
	return min(most, messages)
}

// boarding is one claim of clean deliveries.
type boarding struct {
	work.Claim
	by      []string              // the accounts of what is found, in its order; nil where there is one without a name
	from    place                 // where it begins
	others  place                 // where claims of deliveries that are not clean begin
	known   map[string]*work.Item // which no claim changes
	made    *flight
	items   []work.Item
	orphans []posthouse.Delivery // due deliveries without a message
	more    bool                 // deliveries that are not clean are due as well
}

func (s Queue) claimCleanFrom(ctx context.Context, now time.Time, c work.Claim, from place) (items []work.Item, others bool, err error) {
	lane := work.Lane{Tenant: c.Tenant, Channel: c.Channel, Priority: c.Priority}
	seats, _ := c.Seats()
	b := &boarding{
		Claim: c, by: seats, from: from, others: s.lows.from(lane, time.Now()),
		made: &flight{Flight: layout.Flight{ID: posthouse.NewID(), Owner: c.Owner, Epoch: c.Epoch}, pinned: map[string]string{}},
	}
	if s.db.Dialect.AtOnce {
		b.known = s.fresh.first(lane, c.Max, time.Now())
		err = s.flyAtOnce(ctx, b)
	} else {
		err = s.change(ctx, now, "claim", func(t *tx) error { return clearing{t}.fly(b) })
	}
	if err != nil {
		return nil, false, err
	}
	s.fresh.claimed(lane, b)
	if len(b.items) > 0 {
		s.flights.add(b.made, b.items)
	}
	if err := s.adopt(ctx, now, b.orphans); err != nil { // what was claimed is ours all the same
		s.db.Log.Error("deliveries whose messages are gone could not be set aside", "deliveries", len(b.orphans), "error", err)
	}
	return b.items, b.more || len(b.items) == 0, nil
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
		if err := t.Insert(layout.Queue, x.open); err != nil {
			return err
		}
		return t.Insert(layout.Events, x.events)
	})
}

// fly is a claim of clean deliveries, statement by statement.
func (t clearing) fly(b *boarding) error {
	b.items, b.orphans, b.more = nil, nil, false
	now, err := t.Now()
	if err != nil {
		return err
	}
	due := now
	if !b.DueBefore.IsZero() {
		due = min(due, sqldb.Micros(b.DueBefore))
	}
	var taken []place
	since, begin := b.from.since(t.DB.Dialect)
	lane := []any{b.Tenant, b.Channel, sqldb.PriorityNumber(b.Priority)}
	err = t.Query("SELECT due_at, id FROM posthouse_due"+t.DB.Dialect.By(sqldb.Primary)+" WHERE tenant = ? AND channel = ? AND priority = ? AND "+since+
		" AND due_at <= ? AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ? ORDER BY due_at, id LIMIT ?"+t.DB.Dialect.Skip,
		slices.Concat(lane, begin, []any{due, fmt.Sprint(b.Epoch), b.Max}), func(scan func(...any) error) error {
			var p place
			err := scan(&p.due, &p.id)
			taken = append(taken, p)
			return err
		})
	if err != nil || len(taken) == 0 {
		return err
	}
	if err := t.findMessages(b, taken); err != nil {
		return err
	}
	if len(taken) < b.Max {
		if err := t.lookForOthers(b, lane, now, due); err != nil {
			return err
		}
	}
	if err := t.leaveDue(lane, taken); err != nil || len(b.items) == 0 {
		return err
	}
	return t.takeOff(b, lane, now)
}

// takeOff writes the flight of what was found.
func (t clearing) takeOff(b *boarding, lane []any, now int64) error {
	f := b.made
	f.StartedAt = now
	for i := range b.items {
		f.StartedAt = later(f.StartedAt, &b.items[i].Delivery)
	}
	f.LeaseUntil = f.StartedAt + b.Lease.Microseconds()
	ids := make([]string, len(b.items))
	told := t.news()
	for i := range b.items {
		b.board(&b.items[i].Delivery, i)
		ids[i] = b.items[i].Delivery.ID
		told.started(&b.items[i])
	}
	if err := t.tell(told); err != nil {
		return err
	}
	row := append([]any{f.ID}, lane...)
	return t.Write(layout.Flights, [][]any{append(row, layout.Accounts(b.by[:min(len(b.by), len(ids))]), f.Owner, f.Epoch, f.StartedAt, f.LeaseUntil, layout.IDList(ids))}, "")
}

// lookForOthers finds out whether deliveries that are not clean are due as well.
func (t clearing) lookForOthers(b *boarding, lane []any, now, due int64) (err error) {
	since, begin := b.others.since(t.DB.Dialect)
	_, b.more, err = sqldb.First(t.Query, sqldb.Word, dueRows(t.DB.Dialect, "id", since), slices.Concat(lane, []any{""}, begin, []any{due, now, fmt.Sprint(b.Epoch), 1})...)
	return err
}

// board puts the delivery that was found at a place into the flight.
func (b *boarding) board(d *posthouse.Delivery, place int) {
	if d.Account != "" {
		b.made.pinned[d.ID] = d.Account
	}
	f := b.made.Flight
	if place < len(b.by) {
		f.Account = b.by[place]
	}
	layout.TakeOff(d, &f)
}

// leaveDue deletes entries of a lane that this transaction has found.
func (t clearing) leaveDue(lane []any, taken []place) error {
	total := int64(0)
	if t.DB.Dialect.OneWriter { // nothing else lies between them
		first, last := taken[0], taken[len(taken)-1]
		n, err := t.Exec("DELETE FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ? AND (due_at, id) >= (?, ?) AND (due_at, id) <= (?, ?)",
			append(slices.Clone(lane), first.due, first.id, last.due, last.id)...)
		if err != nil {
			return err
		}
		total = n
	} else {
		for part := range sqldb.Sized(taken) {
			var args []any
			for _, p := range part {
				args = append(args, p.due, p.id)
			}
			n, err := t.Exec(t.DB.Dialect.DeleteListed("posthouse_due", []string{"due_at", "id"}, len(part))+
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

// findMessages finds the messages of due deliveries, and tells apart those whose message is gone.
func (t clearing) findMessages(b *boarding, taken []place) error {
	found := make(map[string]*work.Item, len(taken))
	b.known = t.fresh.first(work.Lane{Tenant: b.Tenant, Channel: b.Channel, Priority: b.Priority}, b.Max, time.Now())
	var ids []string
	for _, p := range taken {
		if item, ok := b.known[p.id]; ok {
			found[p.id] = item
		} else {
			ids = append(ids, posthouse.MessageID(p.id))
		}
	}
	if len(ids) > 0 {
		clause, args := t.Among("id", ids)
		err := t.Query("SELECT "+layout.Clean.List+" FROM posthouse_messages WHERE "+clause, args, func(scan func(...any) error) error {
			m, d, err := layout.ScanClean(scan)
			if err == nil {
				found[d.ID] = &work.Item{Delivery: *d, Message: m}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	b.items = make([]work.Item, 0, len(found))
	for _, p := range taken {
		if item, ok := found[p.id]; ok {
			b.items = append(b.items, *item)
		} else {
			b.orphans = append(b.orphans, orphan(p, &b.Claim))
		}
	}
	return nil
}

// orphan is a due delivery without its message.
func orphan(p place, c *work.Claim) posthouse.Delivery {
	at := sqldb.TimeOf(p.due)
	return posthouse.Delivery{
		ID: p.id, Message: posthouse.MessageID(p.id), Tenant: c.Tenant, Channel: c.Channel, Priority: c.Priority, State: posthouse.Pending,
		Version: 1, IdemKey: p.id, OnUnknown: posthouse.Hold, Epoch: c.Epoch, CreatedAt: at, UpdatedAt: at, DueAt: at,
	}
}

// flyOnce is the claim of clean deliveries on PostgreSQL, in one statement. What is due is joined once, by the messages' key: the
// hot connections know nested loops alone, and a second join of what a claim has found costs its square. Of the messages that
// this process knows nothing is read. What is claimed is deleted by its whole key: a lane's name beside it would let the planner walk over
// the lane and look through the claim for each of its rows.
const flyOnce = `WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now),
due AS MATERIALIZED (
	SELECT tenant, channel, priority, due_at, id, jsonb_exists(?::jsonb, id) AS known FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ?
		AND (due_at, id) >= (?::bigint, ?) AND due_at <= LEAST((SELECT now FROM clock), ?::bigint)
		AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
	ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),
gone AS (DELETE FROM posthouse_due q USING due WHERE q.tenant = due.tenant AND q.channel = due.channel AND q.priority = due.priority AND q.due_at = due.due_at AND q.id = due.id),
mine AS MATERIALIZED (
	SELECT due.due_at AS time, due.id AS delivery, known, m.* FROM due LEFT JOIN posthouse_messages m
		ON m.id = CASE WHEN NOT known THEN substr(due.id, 1, 22) || '0000' END),
flight AS (
	INSERT INTO posthouse_flights (id, tenant, channel, priority, accounts, owner, epoch, started_at, lease_until, ids)
	SELECT ?, ?, ?, ?, ?, ?, ?, at, at + ?::bigint, ids FROM (
		SELECT GREATEST((SELECT now FROM clock), ?::bigint, MAX(created_at)) AS at, json_agg(delivery ORDER BY time, delivery)::text AS ids, COUNT(*) AS n
		FROM mine WHERE known OR id IS NOT NULL) f
	WHERE n > 0 RETURNING started_at, lease_until, ids)%s
SELECT EXISTS (SELECT 1 FROM posthouse_queue WHERE tenant = ? AND channel = ? AND priority = ? AND pin = '' AND state = 'pending'
		AND (due_at, id) >= (?::bigint, ?) AND due_at <= LEAST((SELECT now FROM clock), ?::bigint)),
	COALESCE(f.started_at, 0), COALESCE(f.lease_until, 0), mine.time, mine.delivery, %s
FROM mine LEFT JOIN flight f ON true ORDER BY mine.time, mine.delivery`

// flyTexts are the statements, by whether the claim goes into the feed.
var flyTexts = map[bool]string{
	false: fmt.Sprintf(flyOnce, "", flyColumns()),
	true: fmt.Sprintf(flyOnce, `,
fed AS (INSERT INTO posthouse_feed_inbox (id, version, at, ids) SELECT ?::text, 2, started_at, ids FROM flight)`, flyColumns()),
}

func flyColumns() string {
	list := make([]string, len(layout.Clean.Columns))
	for i, c := range layout.Clean.Columns {
		empty := "''"
		if layout.Clean.Numbers[i] {
			empty = "0"
		}
		list[i] = "COALESCE(mine." + c + ", " + empty + ")"
	}
	return strings.Join(list, ", ")
}

// flyArgs are the values of flyOnce.
func (b *boarding) flyArgs(fed bool) []any {
	bound, created := int64(math.MaxInt64), int64(0)
	if !b.DueBefore.IsZero() {
		bound = sqldb.Micros(b.DueBefore)
	}
	for _, item := range b.known {
		created = max(created, sqldb.Micros(item.Delivery.CreatedAt))
	}
	n := sqldb.PriorityNumber(b.Priority)
	args := []any{
		idSet(b.known), b.Tenant, b.Channel, n, b.from.due, b.from.id, bound, fmt.Sprint(b.Epoch), b.Max,
		b.made.ID, b.Tenant, b.Channel, n, layout.Accounts(b.by), b.made.Owner, b.made.Epoch, b.Lease.Microseconds(), created,
	}
	if fed {
		args = append(args, b.made.ID)
	}
	return append(args, b.Tenant, b.Channel, n, b.others.due, b.others.id, bound)
}

// flyAtOnce is fly in one statement. Where its answer is lost, the lease ends and the rescuer finds what was claimed.
func (s Queue) flyAtOnce(ctx context.Context, b *boarding) error {
	fed := s.feed.on()
	err := s.db.ReadAtOnce(ctx, "claim", flyTexts[fed], b.flyArgs(fed), func(rows sqldb.Found) error {
		b.items, b.orphans, b.more = make([]work.Item, 0, len(b.known)), nil, false // most of what is found is known
		for rows.Next() {
			if err := b.scan(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err == nil && fed && len(b.items) > 0 {
		told := news{of: map[int64]*reading.Tidings{}}
		for i := range b.items {
			told.started(&b.items[i])
		}
		s.feed.tell([]reading.Tidings{*told.of[2]}, true)
	}
	return err
}

// scan reads a line of flyOnce.
func (b *boarding) scan(scan sqldb.Scanner) error {
	var p place
	m, d, err := layout.ScanClean(func(clean ...any) error {
		return scan(append([]any{&b.more, &b.made.StartedAt, &b.made.LeaseUntil, &p.due, &p.id}, clean...)...)
	})
	if err != nil {
		return err
	}
	item, known := b.known[p.id]
	switch {
	case known:
		b.items = append(b.items, *item)
	case m.ID == "":
		b.orphans = append(b.orphans, orphan(p, &b.Claim))
		return nil
	default:
		b.items = append(b.items, work.Item{Delivery: *d, Message: m})
	}
	last := len(b.items) - 1
	b.board(&b.items[last].Delivery, last)
	return nil
}
