package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Claim takes up to c.Max due deliveries of a lane for c.Owner. For push channels claiming and starting are one write:
// the start is durable before the first byte leaves. Clean deliveries and others are taken earliest due first, each among
// their own.
func (s Queue) Claim(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	if c.Pin != "" { // nothing that is pinned is clean
		return s.claimRows(ctx, now, c)
	}
	rows := s.courses.rowsFirst(c.Lane, time.Now())
	items, others, err := s.claimKind(ctx, now, &c, rows)
	if err != nil || !others {
		return items, err
	}
	more, _, err := s.claimKind(ctx, now, &c, !rows)
	if err != nil && len(items) == 0 {
		return nil, err
	}
	return append(items, more...), nil //nolint:nilerr // what we have is ours, and the other claim's fault shows at the next
}

// claimKind claims rows or clean deliveries, takes them off the claim, and reports whether there is room left and may be something of
// the other kind.
func (s Queue) claimKind(ctx context.Context, now time.Time, c *work.Claim, rows bool) (items []work.Item, others bool, err error) {
	if others = true; rows {
		items, err = s.claimRows(ctx, now, *c)
	} else {
		items, others, err = s.claimClean(ctx, now, *c)
	}
	if err != nil {
		return nil, false, err
	}
	room := c.Took(items)
	s.courses.took(c.Lane, rows, items, !room)
	return items, others && room, nil
}

// claimRows claims the deliveries that have a row of their own in posthouse_queue: for several accounts in one step, and what
// has no seat in that for one account after the other, until one finds less than its share.
func (s Queue) claimRows(ctx context.Context, now time.Time, c work.Claim) (items []work.Item, err error) {
	if seats, _ := c.Seats(); len(c.By) > 1 && len(seats) > 0 {
		if items, err = s.claimStep(ctx, now, c); err != nil || !c.Took(items) || !c.Whole && len(items) < len(seats) {
			return items, err
		}
	}
	for _, one := range c.Each() {
		found, err := s.claimStep(ctx, now, one)
		if err != nil && len(items) == 0 {
			return nil, err
		}
		items = append(items, found...)
		if err != nil || one.Took(found) {
			return items, nil //nolint:nilerr // what we have is ours, whatever became of the rest
		}
	}
	return items, nil
}

func (s Queue) claimStep(ctx context.Context, now time.Time, c work.Claim) ([]work.Item, error) {
	c.Cut = c.Cut && len(c.By) < 2
	return claimSince(&s.lows, c, func(c work.Claim, from place) ([]work.Item, error) { return s.claimFrom(ctx, now, c, from) })
}

// claimSince claims from the place where a lane has anything left, and again from the beginning where that may not be all.
func claimSince(lows *lows, c work.Claim, claim func(c work.Claim, from place) ([]work.Item, error)) ([]work.Item, error) {
	asked, lane := time.Now(), c.Lane
	from := lows.from(lane, asked)
	items, err := claim(c, from)
	if err != nil {
		return nil, err // what was read before a failed commit is nobody's
	}
	lows.took(lane, from, items, c.Whole, asked)
	if from == (place{}) || !mayHaveLeft(&c, len(items)) {
		return items, nil
	}
	if !c.Took(items) {
		return items, nil
	}
	rest, err := claim(c, place{})
	if err != nil && len(items) == 0 {
		return nil, err
	}
	if err == nil { // else nothing of the rest is ours, whatever was read; what we have is
		lows.took(lane, place{}, rest, c.Whole, asked)
		items = append(items, rest...)
	}
	return items, nil
}

// mayHaveLeft reports whether a claim of n has to be asked again from the beginning at once: a claim of whole
// messages leaves parts of others behind, and who claims all that is due before some time believes that he has it
// when he is given less than he asked for.
func mayHaveLeft(c *work.Claim, n int) bool {
	return c.Whole && n == 0 || !c.DueBefore.IsZero() && n < c.Max
}

// claimFrom claims what is due, from a place on.
func (s Queue) claimFrom(ctx context.Context, now time.Time, c work.Claim, from place) (items []work.Item, err error) {
	if s.db.Dialect.AtOnce {
		return s.claimAtOnce(ctx, c, from)
	}
	err = s.change(ctx, now, "claim rows", func(t *tx) (err error) {
		items, err = claiming{t}.claim(c, from)
		return err
	})
	return items, err
}

// dueRows is the statement that finds in the order of the index what may be claimed of a lane from a place to a due time.
// The epoch stands in it, so that a process from before a restore claims nothing.
func dueRows(d *sqldb.Dialect, columns, since string) string {
	return "SELECT " + columns + " FROM posthouse_queue" + d.By("posthouse_queue_due") + ` WHERE tenant = ? AND channel = ? AND priority = ? AND pin = ? AND state = 'pending'
		AND ` + since + ` AND due_at <= ? AND (deadline = 0 OR deadline > ?) AND (SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?
		ORDER BY due_at, id LIMIT ?`
}

func (t claiming) claim(c work.Claim, from place) ([]work.Item, error) {
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	due := now
	if !c.DueBefore.IsZero() {
		due = min(due, sqldb.Micros(c.DueBefore))
	}
	var items []work.Item
	since, begin := from.since(t.DB.Dialect)
	err = t.Query(dueRows(t.DB.Dialect, layout.Queue.List, since)+t.DB.Dialect.Skip,
		slices.Concat([]any{c.Tenant, c.Channel, sqldb.PriorityNumber(c.Priority), string(c.Pin)}, begin, []any{due, now, fmt.Sprint(c.Epoch), c.Max}),
		func(scan func(...any) error) error {
			d, err := layout.ScanDelivery(scan)
			if err != nil {
				return err
			}
			items = append(items, work.Item{Delivery: *d})
			return nil
		})
	if err == nil {
		items, err = t.wholeOf(items, c, now)
	}
	if err == nil {
		items = boarded(&c, items)
	}
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if err := t.hold(items, c, now); err != nil {
		return nil, err
	}
	return items, t.attachMessages(items)
}

// boarded are the items of a claim with the accounts by which they are sent.
func boarded(c *work.Claim, items []work.Item) []work.Item {
	if len(c.By) > 1 {
		return c.Board(items)
	}
	for i := range items {
		for _, share := range c.By {
			items[i].Delivery.Account = share.Account
		}
	}
	return items
}

// wholeOf drops the messages of which more is due than was taken: the claim was full, or another process has
// locked the rest and is about to leave it. Where nothing is whole, a full claim may keep a part of the first.
func (t claiming) wholeOf(items []work.Item, c work.Claim, now int64) ([]work.Item, error) {
	if !c.Whole || len(items) == 0 {
		return items, nil
	}
	taken := map[string]int{}
	var messages []string // in the order in which they are due
	for i := range items {
		m := items[i].Delivery.Message
		if taken[m]++; taken[m] == 1 {
			messages = append(messages, m)
		}
	}
	whole := map[string]bool{}
	for part := range sqldb.Parts(messages, cmp.Or(c.Messages, len(messages))) { // most often the first part is enough
		for _, m := range part {
			whole[m] = true
		}
		if err := t.countDue(part, now, func(m string, due int) {
			if due > taken[m] {
				delete(whole, m)
			}
		}); err != nil {
			return nil, err
		}
		if c.Messages > 0 && len(whole) >= c.Messages {
			break
		}
	}
	if len(whole) > 0 || !c.Cut || len(items) < c.Max {
		return firstOf(slices.DeleteFunc(items, func(i work.Item) bool { return !whole[i.Delivery.Message] }), c.Messages), nil
	}
	return slices.DeleteFunc(items, func(i work.Item) bool { return i.Delivery.Message != messages[0] }), nil
}

// countDue counts what is due of each of some messages.
func (t claiming) countDue(messages []string, now int64, each func(message string, due int)) error {
	valid := slices.DeleteFunc(slices.Clone(messages), func(m string) bool { return layout.IDOnly(m) == "" }) // the others stand in no list
	return t.Query(dueOfText(t.DB.Dialect), []any{layout.IDList(valid), now, now}, func(scan func(...any) error) error {
		var message string
		var due int
		err := scan(&message, &due)
		each(message, due)
		return err
	})
}

// dueOfText is the statement of countDue. The messages are a table that is joined with the queue: with a term for each of them in the
// condition, each row that is found would be compared with all.
func dueOfText(d *sqldb.Dialect) string {
	return "SELECT j.value, COUNT(*) FROM " + d.Listed + " JOIN posthouse_queue q" + d.By(sqldb.Primary) +
		" ON q.id > j.value AND q.id <= " + d.Concat("substr(j.value, 1, 22)", "'ZZZZ'") +
		" WHERE q.state = 'pending' AND q.due_at <= ? AND (q.deadline = 0 OR q.deadline > ?) GROUP BY j.value"
}

// firstOf leaves of items those of the first few messages, all where there is no bound.
func firstOf(items []work.Item, messages int) []work.Item {
	if messages == 0 {
		return items
	}
	first := map[string]bool{}
	return slices.DeleteFunc(items, func(i work.Item) bool {
		if len(first) < messages {
			first[i.Delivery.Message] = true
		}
		return !first[i.Delivery.Message]
	})
}

// hold writes the claim into the locked rows and its events.
func (t claiming) hold(items []work.Item, c work.Claim, now int64) error {
	for i := range items {
		now = later(now, &items[i].Delivery)
	}
	lease := now + c.Lease.Microseconds()
	ids := make([]string, len(items))
	events := make([][]any, len(items))
	told := t.news()
	for i := range items {
		d := &items[i].Delivery
		ids[i] = d.ID
		d.State, d.Version, d.Token = posthouse.Sending, d.Version+1, d.Token+1
		d.LeaseUntil, d.LeaseOwner, d.UpdatedAt, d.StartedAt, d.Epoch = sqldb.TimeOf(lease), c.Owner, sqldb.TimeOf(now), sqldb.TimeOf(now), c.Epoch
		d.Attempts++
		if d.FirstStartAt.IsZero() {
			d.FirstStartAt = sqldb.TimeOf(now)
		}
		event := posthouse.Event{
			Delivery: d.ID, Version: d.Version, Tenant: d.Tenant, At: sqldb.TimeOf(now), Type: posthouse.EventStart,
			From: posthouse.Pending, To: posthouse.Sending, Token: d.Token, Owner: c.Owner,
			LeaseUntil: d.LeaseUntil, Due: d.DueAt, Epoch: c.Epoch, Account: d.Account, Tries: d.Tries, Attempt: d.Attempts,
		}
		events[i] = layout.EventValues(&event)
		told.add(d, &event, items[i].Message)
	}
	set := "UPDATE posthouse_queue" + t.DB.Dialect.By(sqldb.Primary) + ` SET state = 'sending', version = version + 1, token = token + 1, lease_until = ?, lease_owner = ?,
		updated_at = ?, started_at = ?, epoch = ?, attempts = attempts + 1, first_start_at = CASE WHEN first_start_at = 0 THEN ? ELSE first_start_at END`
	args := []any{lease, c.Owner, now, now, c.Epoch, now}
	switch {
	case len(c.By) == 1:
		set, args = set+", account = ?", append(args, c.By[0].Account)
	case len(c.By) > 1:
		text, values := boardText(items)
		set, args = set+", account = "+text, append(args, values...)
	}
	clause, more := t.Among("id", ids)
	n, err := t.Exec(set+" WHERE "+clause+" AND state = 'pending'", append(args, more...)...)
	if err != nil {
		return err
	}
	if int(n) != len(items) {
		return fmt.Errorf("%d of %d locked deliveries were claimed", n, len(items))
	}
	if err := t.Insert(layout.Events, events); err != nil {
		return err
	}
	return t.tell(told)
}

// boardText is an expression for the accounts of deliveries. As with IN, the number of its placeholders is rounded up, so that few
// texts stay prepared.
func boardText(items []work.Item) (text string, args []any) {
	size := 1
	for size < len(items) {
		size *= 2
	}
	for i := range size {
		d := &items[min(i, len(items)-1)].Delivery
		args = append(args, d.ID, d.Account)
	}
	return "CASE id" + strings.Repeat(" WHEN ? THEN ?", size) + " ELSE account END", args
}

// attachMessages reads the messages of claimed deliveries, each once.
func (t claiming) attachMessages(items []work.Item) error {
	return attach(t.DB.Dialect, t.Query, items)
}

func attach(d *sqldb.Dialect, from sqldb.Lookup, items []work.Item) error {
	found := map[string]*posthouse.Message{}
	var ids []string
	for i := range items {
		id := items[i].Delivery.Message
		if _, seen := found[id]; !seen {
			found[id] = nil
			ids = append(ids, id)
		}
	}
	clause, args := d.In("id", ids)
	err := from("SELECT "+layout.Messages.List+" FROM posthouse_messages WHERE "+clause, args, func(scan func(...any) error) error {
		m, _, err := layout.ScanMessage(scan)
		if err == nil {
			found[m.ID] = m
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range items {
		items[i].Message = found[items[i].Delivery.Message] // nil where it cannot be read: the engine quarantines
	}
	return nil
}

// readyLanes bounds the lanes of one look: SQLite takes five hundred terms in a statement, and each number of lanes has
// a text of its own, which is kept.
const readyLanes = 100

// Ready tells for each lane whether something is due: the look that precedes a claim. It asks for the first in the order of
// the index: for any one, PostgreSQL would read all the table where many wait in another lane.
func (s Queue) Ready(ctx context.Context, now time.Time, lanes []work.Lane) ([]bool, error) {
	ready := make([]bool, 0, len(lanes))
	for part := range sqldb.Parts(lanes, readyLanes) {
		found, err := s.readyPart(ctx, now, part)
		if err != nil {
			return nil, s.db.Coded(err, "look for due deliveries")
		}
		ready = append(ready, found...)
	}
	return ready, nil
}

func (s Queue) readyPart(ctx context.Context, now time.Time, lanes []work.Lane) ([]bool, error) {
	ready := make([]bool, len(lanes))
	asked, from, clean := time.Now(), make([]place, len(lanes)), make([]place, len(lanes))
	for i, l := range lanes {
		from[i], clean[i] = s.lows.from(l, asked), s.cleanLows.from(l, asked)
	}
	text, args := s.readyText(now, lanes, from, clean)
	err := s.db.Look(ctx, text, args, func(scan func(...any) error) error {
		var i int
		err := scan(&i)
		if err == nil {
			ready[i] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, l := range lanes {
		if !ready[i] {
			s.lows.none(l, from[i], asked)
			s.cleanLows.none(l, clean[i], asked)
		}
	}
	return ready, nil
}

// readyText is the statement that finds the numbers of lanes in which something is due since from.
func (s Queue) readyText(now time.Time, lanes []work.Lane, from, clean []place) (text string, args []any) {
	parts := make([]string, len(lanes))
	for i, l := range lanes {
		due, at := s.db.Instant(now)
		since, begin := from[i].since(s.db.Dialect)
		parts[i] = fmt.Sprintf(`SELECT %d FROM (SELECT id FROM posthouse_queue%s WHERE tenant = ? AND channel = ? AND priority = ? AND pin = ''
			AND state = 'pending' AND %s AND due_at <= %s ORDER BY due_at, id LIMIT 1) l%d`, i, s.db.Dialect.By("posthouse_queue_due"), since, due, i)
		args = append(append(append(args, l.Tenant, l.Channel, layout.NumberOf(l)), begin...), at...)
		if l.Pulled {
			continue
		}
		since, begin = clean[i].since(s.db.Dialect)
		parts[i] += fmt.Sprintf(` UNION ALL SELECT %d FROM (SELECT id FROM posthouse_due%s WHERE tenant = ? AND channel = ? AND priority = ?
			AND %s AND due_at <= %s ORDER BY due_at, id LIMIT 1) c%d`, i, s.db.Dialect.By(sqldb.Primary), since, due, i)
		args = append(append(append(args, l.Tenant, l.Channel, layout.NumberOf(l)), begin...), at...)
	}
	return strings.Join(parts, " UNION ALL "), args
}
