package reading

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// byRange sorts as "id DESC" does, and keeps a planner from reading the whole table in that
// order where a condition names a few ranges of ids.
const byRange = "substr(id, 1) DESC"

// Deliveries lists what the filter selects, newest first, and returns the next page's cursor.
func (s Messages) Deliveries(ctx context.Context, f work.Filter) ([]posthouse.Delivery, string, error) {
	if !f.Sight.Sees {
		return nil, "", nil
	}
	before, err := page.ID("deliveries", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(f.Limit)
	f, rest, err := s.bounded(ctx, "deliveries", f, before)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the deliveries")
	}
	list, err := s.deliveriesBefore(ctx, f, before, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the deliveries")
	}
	list, next := page.Cut(list, size, "deliveries", deliveryID)
	return list, cmp.Or(next, rest), nil
}

// deliveriesBefore lists up to limit deliveries below an id, newest first.
func (s Messages) deliveriesBefore(ctx context.Context, f work.Filter, before string, limit int) ([]posthouse.Delivery, error) {
	where := sqldb.Where("tenant = ?", f.Tenant)
	if f.Channel != "" {
		where.And("channel = ?", f.Channel)
	}
	where.Among("channel", f.Sight.Channels)
	if f.User != "" {
		where.And("user_id <> '' AND user_id = ?", f.User) // the first half names the partial index
	}
	between(&where, f, before)
	in := stateCondition(&where, f.States)
	sole := everyClean(f.Tenant)
	in.ranged, sole.ranged, in.chosen = ranged(f), ranged(f), chosen(f)
	sole.filter(f, before)
	if f.Account != "" {
		where.And("account = ?", f.Account)
		sole.where.And("s.account = ?", f.Account)
		sole.pending, sole.sending = false, false // nothing that is pinned is clean
	}
	called(&where, sole, f)
	if f.Reason != "" || !f.ChangedUntil.IsZero() {
		stopped(&where, f)
		sole.pending, sole.sending, sole.sent = false, false, false // none of these has stopped
	}
	switch f.Tried {
	case work.TriedBefore:
		sole.pending = false
		where.And("(state <> 'pending' OR tries > 0)")
	case work.NeverTried:
		where.And("(state <> 'pending' OR tries = 0)")
	}
	if sole.pending && !sole.sending && !sole.sent {
		var err error
		if sole.crowded, err = s.manyDue(ctx); err != nil {
			return nil, err
		}
	}
	if f.Ref == "" && f.Kind == "" && len(f.Sight.Kinds) == 0 {
		return s.merged(ctx, in, where, sole, "id DESC", limit)
	}
	return s.ofMessages(ctx, f, before, in, where, sole, limit)
}

// stopped narrows a list of deliveries that stopped.
func stopped(where *sqldb.Condition, f work.Filter) {
	if f.Reason != "" {
		where.And("reason = ?", f.Reason)
	}
	if !f.ChangedUntil.IsZero() {
		where.And("updated_at <= ?", sqldb.Micros(f.ChangedUntil))
	}
}

// oneOf is the list of an IN, with its arguments.
func oneOf(texts []string) (text string, args []any) {
	for _, t := range texts {
		args = append(args, t)
	}
	return "(?" + strings.Repeat(", ?", len(texts)-1) + ")", args
}

// called narrows a list of deliveries to a priority, and to what goes to an address or has a provider's id.
func called(where *sqldb.Condition, sole *clean, f work.Filter) {
	if f.Priority != "" {
		where.And("priority IN (?, ?, ?)", layout.LaneNumber(f.Priority, false, false), layout.LaneNumber(f.Priority, true, false), layout.LaneNumber(f.Priority, true, true))
		sole.where.And("m.priority = ?", sqldb.PriorityNumber(f.Priority))
	}
	if f.KnownAs != "" {
		sole.known, sole.forms = f.KnownAs, append([]string{f.KnownAs}, f.Forms...)
		in, args := oneOf(sole.forms)
		where.And("(address IN "+in+" OR provider_ref = ?)", append(args, f.KnownAs)...)
	}
}

// ofMessages lists deliveries whose messages have the filter's kind and ref. It goes through
// the messages, newest first, a few at a time.
func (s Messages) ofMessages(ctx context.Context, f work.Filter, before string, in states, where sqldb.Condition, sole *clean, limit int) ([]posthouse.Delivery, error) {
	const step = 16 // few enough for each range to be looked up by its own
	var found []posthouse.Delivery
	for {
		ids, err := s.messagesBefore(ctx, f, before, step)
		if err != nil || len(ids) == 0 {
			return found, err
		}
		ranges := layout.IDRanges("id", ids)
		part := sqldb.Where(where.Text, slices.Clone(where.Args)...)
		part.And(ranges.Text, ranges.Args...)
		mine := *sole
		mine.named = true
		clause, args := s.db.Dialect.Among("m.id", ids)
		mine.where = sqldb.Where(sole.where.Text+" AND "+clause, slices.Concat(sole.where.Args, args)...)
		list, err := s.merged(ctx, in, part, &mine, byRange, limit-len(found))
		found = append(found, list...)
		if err != nil || len(found) == limit || len(ids) < step {
			return found, err
		}
		before = ids[len(ids)-1]
	}
}

// messagesBefore lists the ids of messages by the filter's channel, kind and ref, newest
// first. The message that a delivery's id falls into is included: its other deliveries may
// lie below.
func (s Messages) messagesBefore(ctx context.Context, f work.Filter, before string, limit int) ([]string, error) {
	where, by := messageCondition(f, before), ""
	if ranged(f) && f.Kind == "" && len(f.Sight.Kinds) == 0 {
		by = s.db.Dialect.By(sqldb.Primary)
	}
	return sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_messages"+by+" WHERE "+where.Text+" ORDER BY id DESC LIMIT ?", append(where.Args, limit)...)
}

// Messages lists the messages that the filter selects, newest first, with how their
// deliveries stand, and returns the next page's cursor. With User, Account or States a message is
// listed when at least one of its deliveries fits.
func (s Messages) Messages(ctx context.Context, f work.Filter) ([]work.Summary, string, error) {
	if !f.Sight.Sees {
		return nil, "", nil
	}
	before, err := page.ID("messages", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(f.Limit)
	f, rest, err := s.bounded(ctx, "messages", f, before)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the messages")
	}
	ids := s.messagesBefore
	if f.User+f.Account != "" || len(f.States) > 0 {
		ids = s.messagesByDelivery
	}
	found, err := ids(ctx, f, before, size+1)
	if err != nil {
		return nil, "", s.db.Coded(err, "list the messages")
	}
	found, next := page.Cut(found, size, "messages", func(id string) string { return id })
	list, err := s.summaries(ctx, f.Tenant, found)
	return list, cmp.Or(next, rest), s.db.Coded(err, "list the messages")
}

// messagesByDelivery finds messages through their deliveries. After each part it goes on below
// the last message, whatever else that one has.
func (s Messages) messagesByDelivery(ctx context.Context, f work.Filter, before string, limit int) ([]string, error) {
	const step = 200
	var ids []string
	for {
		list, err := s.deliveriesBefore(ctx, f, before, step)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if n := len(ids); n == 0 || ids[n-1] != list[i].Message {
				ids = append(ids, list[i].Message)
			}
		}
		if len(ids) >= limit || len(list) < step {
			return ids[:min(limit, len(ids))], nil
		}
		before = ids[len(ids)-1]
	}
}

// summaries reads messages by id, newest first, and counts their deliveries by state.
func (s Messages) summaries(ctx context.Context, tenant string, ids []string) ([]work.Summary, error) {
	list, err := s.messagesOf(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := range list {
		at[list[i].Message.ID] = i
	}
	for part := range sqldb.Parts(ids, 16) { // few enough for each range to be looked up by its own
		where := layout.IDRanges("id", part)
		count := " WHERE " + where.Text + " GROUP BY substr(id, 1, 22), state"
		sole := everyClean(tenant)
		clause, args := s.db.Dialect.Among("m.id", part)
		sole.where.And(clause, args...)
		clean, cleanArgs := cleanCounts(s.db.Dialect, sole)
		err := s.db.Look(ctx, "SELECT substr(id, 1, 22), state, COUNT(*) FROM posthouse_queue"+count+
			" UNION ALL SELECT substr(id, 1, 22), state, COUNT(*) FROM posthouse_settled"+count+" UNION ALL "+clean,
			slices.Concat(where.Args, where.Args, cleanArgs), func(scan sqldb.Scanner) error {
				var stem string
				var state posthouse.State
				var n int
				err := scan(&stem, &state, &n)
				if i, ok := at[stem+"0000"]; ok {
					list[i].Counts[state] += n
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// messagesOf reads messages by id, newest first, their counts empty.
func (s Messages) messagesOf(ctx context.Context, tenant string, ids []string) ([]work.Summary, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	clause, args := s.db.Dialect.Among("id", ids)
	return sqldb.All(s.db.Reads(ctx), layout.ReadSummary, "SELECT "+layout.Messages.List+" FROM posthouse_messages WHERE "+clause+" AND tenant = ? ORDER BY id DESC", append(args, tenant)...)
}

// MessagesOf reads the messages of deliveries, by their ids; one that is not there is empty.
func (s Messages) MessagesOf(ctx context.Context, tenant string, deliveries []posthouse.Delivery) (map[string]posthouse.Message, error) {
	var ids []string
	found := map[string]posthouse.Message{}
	for i := range deliveries {
		if _, known := found[deliveries[i].Message]; !known {
			found[deliveries[i].Message] = posthouse.Message{}
			ids = append(ids, deliveries[i].Message)
		}
	}
	list, err := s.messagesOf(ctx, tenant, ids)
	for i := range list {
		found[list[i].Message.ID] = list[i].Message
	}
	return found, s.db.Coded(err, "read the messages of deliveries")
}

// ByRef lists the open deliveries of the messages with a filter's kind and ref, at most 100,000.
func (s Messages) ByRef(ctx context.Context, f work.Filter) ([]string, error) {
	if !f.Sight.Sees {
		return nil, nil
	}
	const most = 100_000
	list, err := s.messagesBefore(ctx, f, "", most)
	if err != nil {
		return nil, s.db.Coded(err, "look up a ref")
	}
	return s.OpenOf(ctx, f.Tenant, list)
}

// OpenOf lists the open deliveries of messages.
func (s Messages) OpenOf(ctx context.Context, tenant string, messages []string) ([]string, error) {
	var ids []string
	for part := range sqldb.Parts(messages, 100) {
		where := layout.IDRanges("id", part)
		found, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_queue WHERE "+where.Text+" AND tenant = ?", append(where.Args, tenant)...)
		if err != nil {
			return nil, s.db.Coded(err, "look up open deliveries")
		}
		ids = append(ids, found...)
		if found, err = s.openClean(ctx, tenant, part); err != nil {
			return nil, s.db.Coded(err, "look up open deliveries")
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return ids, nil
}

// Stopped counts the newest deliveries of a state, up to most, by channel and reason. The state is one that is settled, or in
// doubt.
func (s Messages) Stopped(ctx context.Context, tenant string, state posthouse.State, most int) ([]work.Stopped, error) {
	where, table := sqldb.Where("tenant = ?", tenant), layout.Settled.Name
	if in := stateCondition(&where, []posthouse.State{state}); in.open {
		table = layout.Queue.Name
	}
	list, err := sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (g work.Stopped, err error) {
		return g, scan(&g.Channel, &g.Reason, &g.Count)
	}, "SELECT channel, reason, COUNT(*) FROM (SELECT channel, reason FROM "+table+" WHERE "+where.Text+" ORDER BY id DESC LIMIT ?) newest GROUP BY channel, reason ORDER BY COUNT(*) DESC, channel, reason", append(where.Args, most)...)
	return list, s.db.Coded(err, "count what stopped")
}
