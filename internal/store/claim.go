package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	begin := s.claimRows
	clean := !s.courses.due(c.Lane, time.Now())
	others := true
	if clean {
		begin = func(ctx context.Context, now time.Time, c work.Claim) (items []work.Item, err error) {
			items, others, err = s.claimClean(ctx, now, c)
			return items, err
		}
	}
	items, err := begin(ctx, now, c)
	if !took(&c, items) || err != nil || !others {
		return items, err
	}
	var more []work.Item
	if clean {
		more, err = s.claimRows(ctx, now, c)
	} else {
		more, _, err = s.claimClean(ctx, now, c)
	}
	if err != nil && len(items) == 0 {
		return nil, err
	}
	return append(items, more...), nil //nolint:nilerr // what we have is ours, and the other claim's fault shows at the next
}

// took takes off a claim what it has, and reports whether there is room for more.
func took(c *work.Claim, items []work.Item) bool {
	c.By = leftOf(c.By, items)
	if c.Max -= len(items); c.Messages == 0 {
		return c.Max > 0
	}
	c.Messages -= messagesOf(items)
	return c.Max > 0 && c.Messages > 0
}

// leftOf are the shares of accounts less what these were given.
func leftOf(by []work.Share, items []work.Item) []work.Share {
	left := by[:0:0]
	for _, share := range by {
		own := ownOf(items, share.Account)
		bounded := share.Messages > 0
		share.Max, share.Messages = share.Max-len(own), share.Messages-messagesOf(own)
		if share.Max > 0 && (!bounded || share.Messages > 0) {
			share.Messages = max(0, share.Messages)
			left = append(left, share)
		}
	}
	return left
}

// ownOf are the items that an account was given.
func ownOf(items []work.Item, account string) (own []work.Item) {
	for i := range items {
		if items[i].Delivery.Account == account {
			own = append(own, items[i])
		}
	}
	return own
}

// messagesOf is how many messages items are of, which stand together.
func messagesOf(items []work.Item) (n int) {
	for i := range items {
		if i == 0 || items[i].Delivery.Message != items[i-1].Delivery.Message {
			n++
		}
	}
	return n
}

// claimRows claims the deliveries that have a row of their own in posthouse_queue, for one account after the other until one
// finds less than its share.
func (s Queue) claimRows(ctx context.Context, now time.Time, c work.Claim) (items []work.Item, err error) {
	for _, one := range single(c) {
		found, err := claimSince(&s.lows, one, func(c work.Claim, from place) ([]work.Item, error) { return s.claimFrom(ctx, now, c, from) })
		if err != nil && len(items) == 0 {
			return nil, err
		}
		items = append(items, found...)
		if err != nil || len(found) < one.Max {
			return items, nil //nolint:nilerr // what we have is ours, whatever became of the rest
		}
	}
	return items, nil
}

// single are the claims that one of several accounts is made of.
func single(c work.Claim) []work.Claim {
	if len(c.By) < 2 {
		return []work.Claim{c}
	}
	list := make([]work.Claim, len(c.By))
	for i, share := range c.By {
		list[i] = c
		list[i].By, list[i].Max, list[i].Messages, list[i].Cut = c.By[i:i+1], share.Max, share.Messages, share.Cut
	}
	return list
}

// accountOf is the account of a claim that is of one.
func accountOf(c *work.Claim) string {
	if len(c.By) == 0 {
		return ""
	}
	return c.By[0].Account
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
	if !took(&c, items) {
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
		ORDER BY due_at, id LIMIT ` + d.Limit
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
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if err := t.hold(items, c, now); err != nil {
		return nil, err
	}
	return items, t.attachMessages(items)
}

// wholeOf drops the messages of which more is due than was taken: the claim was full, or another process has
// locked the rest and is about to leave it. Where nothing is whole, a full claim may keep a part of the first.
func (t claiming) wholeOf(items []work.Item, c work.Claim, now int64) ([]work.Item, error) {
	if !c.Whole || len(items) == 0 {
		return items, nil
	}
	left := map[string]int{} // of each message, what is due less what was taken
	for i := range items {
		left[items[i].Delivery.Message]--
	}
	for part := range sqldb.Parts(slices.Collect(maps.Keys(left)), 100) {
		where := layout.IDRanges("id", part)
		err := t.Query("SELECT substr(id, 1, 22), COUNT(*) FROM posthouse_queue WHERE "+where.Text+
			" AND state = 'pending' AND due_at <= ? AND (deadline = 0 OR deadline > ?) GROUP BY substr(id, 1, 22)",
			append(where.Args, now, now), func(scan func(...any) error) error {
				var stem string
				var due int
				err := scan(&stem, &due)
				left[stem+"0000"] += due
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	first, full := items[0].Delivery.Message, len(items) == c.Max
	whole := firstOf(slices.DeleteFunc(slices.Clone(items), func(i work.Item) bool { return left[i.Delivery.Message] > 0 }), c.Messages)
	if len(whole) > 0 || !c.Cut || !full {
		return whole, nil
	}
	return slices.DeleteFunc(items, func(i work.Item) bool { return i.Delivery.Message != first }), nil
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
	lease, account := now+c.Lease.Microseconds(), accountOf(&c)
	ids := make([]string, len(items))
	events := make([][]any, len(items))
	told := t.news()
	for i := range items {
		d := &items[i].Delivery
		ids[i] = d.ID
		d.State, d.Version, d.Token = posthouse.Sending, d.Version+1, d.Token+1
		d.LeaseUntil, d.LeaseOwner, d.UpdatedAt, d.StartedAt, d.Epoch = sqldb.TimeOf(lease), c.Owner, sqldb.TimeOf(now), sqldb.TimeOf(now), c.Epoch
		d.Account = cmp.Or(account, d.Account)
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
	if account != "" {
		set, args = set+", account = ?", append(args, account)
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
