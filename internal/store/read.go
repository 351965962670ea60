package store

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Message reads one message and how many recipients it was accepted with.
func (s *Store) Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error) {
	m, found, err := first(s.reads(ctx), readSummary, "SELECT "+messagesTable.list+" FROM messages WHERE id = ? AND tenant = ?", idOnly(id), tenant)
	if err != nil {
		return m.Message, 0, s.toError(err, "read a message")
	}
	if !found {
		return m.Message, 0, posthouse.Errorf(posthouse.CodeNotFound, "there is no message %q", id)
	}
	return m.Message, m.Recipients, nil
}

// idOnly is an id, and nothing in its place where a caller gave something else: id columns
// hold plain letters, and some databases will not even compare others.
func idOnly(id string) string {
	if posthouse.ValidID(id) {
		return id
	}
	return ""
}

// plain is a text for a column of plain letters: nothing in place of others, as idOnly.
func plain(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return ""
		}
	}
	return text
}

func readSummary(scan scanner) (work.Summary, error) {
	m, recipients, err := scanMessage(scan)
	if err != nil {
		return work.Summary{}, err
	}
	return work.Summary{Message: *m, Recipients: recipients, Counts: work.Counts{}}, nil
}

func readDelivery(scan scanner) (posthouse.Delivery, error) {
	d, err := scanDelivery(scan)
	if err != nil {
		return posthouse.Delivery{}, err
	}
	return *d, nil
}

// Delivery reads one delivery, open or settled. Both tables are read in one statement: a row
// that moves meanwhile is in one of them.
func (s *Store) Delivery(ctx context.Context, tenant, id string) (posthouse.Delivery, error) {
	d, found, err := first(s.reads(ctx), readDelivery, either("id = ? AND tenant = ?"), idOnly(id), tenant, idOnly(id), tenant)
	if err != nil {
		return d, s.toError(err, "read a delivery")
	}
	if !found {
		return d, posthouse.Errorf(posthouse.CodeNotFound, "there is no delivery %q", id)
	}
	return d, nil
}

// either selects deliveries from both tables; the condition's arguments are given twice.
func either(where string) string {
	return "SELECT " + queueTable.list + " FROM queue WHERE " + where +
		" UNION ALL SELECT " + settledTable.list + " FROM settled WHERE " + where
}

// DeliveriesOf lists the deliveries of a message in their order, a page at a time, and returns
// the next page's cursor.
func (s *Store) DeliveriesOf(ctx context.Context, tenant, message, cursor string, limit int) ([]posthouse.Delivery, string, error) {
	after, err := idAfter("of", cursor)
	if err != nil {
		return nil, "", err
	}
	low, high := deliveryRange(message)
	size := pageSize(limit)
	list, err := s.merged(ctx, states{open: true, settled: true},
		condition{"tenant = ? AND id > ? AND id <= ?", []any{tenant, max(low, after), high}}, "id", size+1)
	if err != nil {
		return nil, "", s.toError(err, "list the deliveries of a message")
	}
	list, next := page(list, size, "of", deliveryID)
	return list, next, nil
}

func deliveryID(d posthouse.Delivery) string { return d.ID }

// deliveryRange is the range that holds the ids of a message's deliveries: above low, up to
// high. It is empty for what is not the id of a message.
func deliveryRange(message string) (low, high string) {
	if !posthouse.ValidID(message) || posthouse.DeliveryNumber(message) != 0 {
		return "", ""
	}
	return message, posthouse.LastDeliveryID(message)
}

// condition is part of a WHERE with its arguments.
type condition struct {
	text string
	args []any
}

func (c *condition) and(text string, args ...any) {
	c.text += " AND " + text
	c.args = append(c.args, args...)
}

// states says which tables can hold what a filter wants.
type states struct {
	open, settled bool
}

// merged reads one page from the tables that states names, in one statement: each table's
// part is short. Order is "id", "id DESC" or byRange.
func (s *Store) merged(ctx context.Context, in states, where condition, order string, limit int) ([]posthouse.Delivery, error) {
	var selects []string
	var args []any
	for _, tab := range []*table{queueTable, settledTable} {
		if (tab == queueTable && in.open) || (tab == settledTable && in.settled) {
			selects = append(selects, "SELECT * FROM (SELECT "+tab.list+" FROM "+tab.name+
				" WHERE "+where.text+" ORDER BY "+order+" LIMIT ?) "+tab.name+"_part")
			args = append(append(args, where.args...), limit)
		}
	}
	if order == byRange {
		order = "id DESC"
	}
	return all(s.reads(ctx), readDelivery, strings.Join(selects, " UNION ALL ")+" ORDER BY "+order+" LIMIT ?", append(args, limit)...)
}

// byRange sorts as "id DESC" does, and keeps a planner from reading the whole table in that
// order where a condition names a few ranges of ids.
const byRange = "substr(id, 1) DESC"

// Deliveries lists what the filter selects, newest first, and returns the next page's cursor.
func (s *Store) Deliveries(ctx context.Context, f work.Filter) ([]posthouse.Delivery, string, error) {
	before, err := idAfter("deliveries", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	size := pageSize(f.Limit)
	list, err := s.deliveriesBefore(ctx, f, before, size+1)
	if err != nil {
		return nil, "", s.toError(err, "list the deliveries")
	}
	list, next := page(list, size, "deliveries", deliveryID)
	return list, next, nil
}

// deliveriesBefore lists up to limit deliveries below an id, newest first.
func (s *Store) deliveriesBefore(ctx context.Context, f work.Filter, before string, limit int) ([]posthouse.Delivery, error) {
	where := condition{"tenant = ?", []any{f.Tenant}}
	if f.Channel != "" {
		where.and("channel = ?", f.Channel)
	}
	if f.User != "" {
		where.and("user_id <> '' AND user_id = ?", f.User) // the first half names the partial index
	}
	between(&where, f, before)
	in := stateCondition(&where, f.States)
	if f.Ref == "" && f.Kind == "" {
		return s.merged(ctx, in, where, "id DESC", limit)
	}
	return s.ofMessages(ctx, f, before, in, where, limit)
}

// between bounds ids from above by a cursor and by the times of the filter: an id begins with
// the time it was made at.
func between(where *condition, f work.Filter, before string) {
	if !f.Since.IsZero() {
		where.and("id >= ?", idAt(f.Since))
	}
	if !f.Until.IsZero() {
		where.and("id < ?", idAt(f.Until))
	}
	if before != "" {
		where.and("id < ?", before)
	}
}

// idAt is the lowest id that can be made at a time.
func idAt(t time.Time) string {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // as posthouse.NewID
	ms := max(t.UnixMilli(), 0)
	out := []byte(strings.Repeat("0", 26))
	for i := 9; i >= 0; i-- {
		out[i] = alphabet[ms&31]
		ms >>= 5
	}
	return string(out)
}

// troubleStates is the condition of the partial index settled_trouble, word for word: SQLite
// uses it for no other.
const troubleStates = "state IN ('failed', 'undelivered', 'expired', 'suppressed', 'cancelled')"

// stateCondition adds the states to a condition and says which tables can hold them. The
// states stand in the text, not as arguments, so that a partial index is seen to fit.
func stateCondition(where *condition, wanted []posthouse.State) states {
	if len(wanted) == 0 {
		return states{true, true}
	}
	var in states
	var words []string
	trouble := true
	for _, s := range posthouse.States() {
		if slices.Contains(wanted, s) {
			word := "'" + string(s) + "'"
			words = append(words, word)
			in.open, in.settled = in.open || s.Open(), in.settled || !s.Open()
			trouble = trouble && strings.Contains(troubleStates, word)
		}
	}
	if len(words) == 0 {
		where.and("1 = 0")
		return states{open: true}
	}
	if trouble {
		where.and(troubleStates)
	}
	where.and("state IN (" + strings.Join(words, ", ") + ")")
	return in
}

// ofMessages lists deliveries whose messages have the filter's kind and ref. It goes through
// the messages, newest first, a few at a time.
func (s *Store) ofMessages(ctx context.Context, f work.Filter, before string, in states, where condition, limit int) ([]posthouse.Delivery, error) {
	const step = 64
	var found []posthouse.Delivery
	for {
		ids, err := s.messagesBefore(ctx, f, before, step)
		if err != nil || len(ids) == 0 {
			return found, err
		}
		ranges := idRanges("id", ids)
		part := condition{where.text, slices.Clone(where.args)}
		part.and(ranges.text, ranges.args...)
		list, err := s.merged(ctx, in, part, byRange, limit-len(found))
		found = append(found, list...)
		if err != nil || len(found) == limit || len(ids) < step {
			return found, err
		}
		before = ids[len(ids)-1]
	}
}

// idRanges is the condition that a delivery belongs to one of the messages.
func idRanges(column string, messages []string) condition {
	parts := make([]string, len(messages))
	var args []any
	for i, m := range messages {
		low, high := deliveryRange(m)
		parts[i] = "(" + column + " > ? AND " + column + " <= ?)"
		args = append(args, low, high)
	}
	return condition{"(" + strings.Join(parts, " OR ") + ")", args}
}

// messagesBefore lists the ids of messages by the filter's channel, kind and ref, newest
// first. The message that a delivery's id falls into is included: its other deliveries may
// lie below.
func (s *Store) messagesBefore(ctx context.Context, f work.Filter, before string, limit int) ([]string, error) {
	where := messageCondition(f, before)
	return all(s.reads(ctx), word, "SELECT id FROM messages WHERE "+where.text+" ORDER BY id DESC LIMIT ?", append(where.args, limit)...)
}

func messageCondition(f work.Filter, before string) condition {
	where := condition{"tenant = ?", []any{f.Tenant}}
	if f.Channel != "" {
		where.and("channel = ?", f.Channel)
	}
	if f.Kind != "" {
		where.and("kind = ?", f.Kind)
	}
	if f.Ref != "" {
		where.and("ref <> '' AND ref = ?", f.Ref) // the first half names the partial index
	}
	between(&where, f, before)
	return where
}

// Messages lists the messages that the filter selects, newest first, with how their
// deliveries stand, and returns the next page's cursor. With User or States a message is
// listed when at least one of its deliveries fits.
func (s *Store) Messages(ctx context.Context, f work.Filter) ([]work.Summary, string, error) {
	before, err := idAfter("messages", f.Cursor)
	if err != nil {
		return nil, "", err
	}
	size := pageSize(f.Limit)
	ids := s.messagesBefore
	if f.User != "" || len(f.States) > 0 {
		ids = s.messagesByDelivery
	}
	found, err := ids(ctx, f, before, size+1)
	if err != nil {
		return nil, "", s.toError(err, "list the messages")
	}
	found, next := page(found, size, "messages", func(id string) string { return id })
	list, err := s.summaries(ctx, f.Tenant, found)
	return list, next, s.toError(err, "list the messages")
}

// messagesByDelivery finds messages through their deliveries. After each part it goes on below
// the last message, whatever else that one has.
func (s *Store) messagesByDelivery(ctx context.Context, f work.Filter, before string, limit int) ([]string, error) {
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
func (s *Store) summaries(ctx context.Context, tenant string, ids []string) ([]work.Summary, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	clause, args := s.in("id", ids)
	list, err := all(s.reads(ctx), readSummary, "SELECT "+messagesTable.list+" FROM messages WHERE "+clause+" AND tenant = ? ORDER BY id DESC", append(args, tenant)...)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i := range list {
		at[list[i].Message.ID] = i
	}
	for part := range parts(ids, 100) {
		where := idRanges("id", part)
		where.and("tenant = ?", tenant)
		count := " WHERE " + where.text + " GROUP BY substr(id, 1, 22), state"
		err := s.look(ctx, "SELECT substr(id, 1, 22), state, COUNT(*) FROM queue"+count+
			" UNION ALL SELECT substr(id, 1, 22), state, COUNT(*) FROM settled"+count,
			slices.Concat(where.args, where.args), func(scan scanner) error {
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

// ByRef lists the open deliveries of the messages with a kind and ref, at most 100,000.
func (s *Store) ByRef(ctx context.Context, tenant, kind, ref string) ([]string, error) {
	const most = 100_000
	f := work.Filter{Tenant: tenant, Kind: kind, Ref: ref}
	list, err := s.messagesBefore(ctx, f, "", most)
	if err != nil {
		return nil, s.toError(err, "look up a ref")
	}
	return s.OpenOf(ctx, tenant, list)
}

// OpenOf lists the open deliveries of messages.
func (s *Store) OpenOf(ctx context.Context, tenant string, messages []string) ([]string, error) {
	var ids []string
	for part := range parts(messages, 100) {
		where := idRanges("id", part)
		found, err := all(s.reads(ctx), word, "SELECT id FROM queue WHERE "+where.text+" AND tenant = ?", append(where.args, tenant)...)
		if err != nil {
			return nil, s.toError(err, "look up open deliveries")
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return ids, nil
}
