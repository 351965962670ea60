package reading

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// FeedRow bounds the deliveries of one row of the feed.
const FeedRow = 500

// Head is the position of the newest row, 0 where there is none.
func (s Feed) Head(ctx context.Context) (int64, error) {
	pos, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT COALESCE(MAX(pos), 0) FROM posthouse_feed")
	return pos, s.db.Coded(err, "read the head of the feed")
}

// Oldest is the position and the time of the oldest row, 0 where there is none.
func (s Feed) Oldest(ctx context.Context) (pos int64, at time.Time, err error) { return s.from(ctx, 0) }

// from is the first row at a position or behind it.
func (s Feed) from(ctx context.Context, pos int64) (found int64, at time.Time, err error) {
	var us int64
	err = s.db.Look(ctx, "SELECT pos, at FROM posthouse_feed WHERE pos >= ? ORDER BY pos LIMIT 1", []any{pos},
		func(scan sqldb.Scanner) error { return scan(&found, &us) })
	return found, sqldb.TimeOf(us), s.db.Coded(err, "read the feed")
}

// feedSkew is how much earlier than its neighbours' the time of a row can be: clocks differ, and transactions last.
const feedSkew = time.Minute

// At is a position from which everything that happened at a time or later is found. What is found may be a little older.
func (s Feed) At(ctx context.Context, at time.Time) (int64, error) {
	at = at.Add(-feedSkew)
	low := int64(0)
	high, err := s.Head(ctx)
	if err != nil {
		return 0, err
	}
	for low < high {
		middle := low + (high-low)/2
		pos, then, err := s.from(ctx, middle)
		if err != nil {
			return 0, err
		}
		if pos == 0 || !then.Before(at) {
			high = middle
		} else {
			low = pos + 1
		}
	}
	return low, nil
}

// After reads up to max rows behind a position.
func (s Feed) After(ctx context.Context, pos int64, max int) ([]work.FeedRow, error) {
	list, err := sqldb.All(s.db.Reads(ctx), readFeedRow, "SELECT pos, version, at, ids FROM posthouse_feed WHERE pos > ? ORDER BY pos LIMIT ?", pos, max)
	return list, s.db.Coded(err, "read the feed")
}

func readFeedRow(scan sqldb.Scanner) (work.FeedRow, error) {
	var r work.FeedRow
	var at int64
	var ids string
	err := scan(&r.Pos, &r.Version, &at, &ids)
	r.At, r.Deliveries = sqldb.TimeOf(at), layout.ReadList(ids)
	return r, err
}

// occurrence names an event: what a delivery became with a version, or, with version 0 or less, what stands in a table of its own.
type occurrence struct {
	delivery string
	version  int64
}

// Events reads the events of rows, in their order. One whose delivery was pruned is left out.
func (s Feed) Events(ctx context.Context, rows []work.FeedRow) ([]work.FeedEvent, error) {
	recent := make([][]posthouse.FeedEvent, len(rows))
	var unknown []work.FeedRow
	n := 0
	for i := range rows {
		n += len(rows[i].Deliveries)
		if recent[i] = s.Recent.of(&rows[i]); recent[i] == nil {
			unknown = append(unknown, rows[i])
		}
	}
	found, err := s.look(ctx, unknown)
	if err != nil {
		return nil, s.db.Coded(err, "read the events of the feed")
	}
	list := make([]work.FeedEvent, 0, n)
	add := func(row int64, i int, e posthouse.FeedEvent) {
		at := posthouse.FeedPosition{Row: row, Index: i}
		e.ID = at.String()
		list = append(list, work.FeedEvent{Pos: at, FeedEvent: e})
	}
	for i := range rows {
		for j := range recent[i] {
			add(rows[i].Pos, j, recent[i][j])
		}
		for j, id := range rows[i].Deliveries {
			if e := found[occurrence{id, rows[i].Version}]; e != nil {
				add(rows[i].Pos, j, *e)
			}
		}
	}
	return list, nil
}

// look reads the events of rows that are not held, those of deliveries from their history.
func (s Feed) look(ctx context.Context, rows []work.FeedRow) (map[occurrence]*posthouse.FeedEvent, error) {
	found := map[occurrence]*posthouse.FeedEvent{}
	if len(rows) == 0 {
		return found, nil
	}
	wanted := map[occurrence]*posthouse.Event{}
	var ids []string
	told := map[string]int64{}
	for i := range rows {
		if rows[i].Version <= 0 {
			for _, id := range rows[i].Deliveries {
				told[id] = rows[i].Version
			}
			continue
		}
		for _, id := range rows[i].Deliveries {
			wanted[occurrence{id, rows[i].Version}] = nil
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	known, err := s.find(ctx, slices.Compact(ids), wanted)
	if err != nil {
		return nil, err
	}
	for at, e := range wanted {
		if e != nil {
			found[at] = new(EventOf(e, known[at.delivery]))
		}
	}
	return found, s.written(ctx, told, found)
}

// written reads what providers told by themselves, and what became of notifications, with the version that each has in the feed.
func (s Feed) written(ctx context.Context, told map[string]int64, into map[occurrence]*posthouse.FeedEvent) error {
	for part := range sqldb.Parts(slices.Sorted(maps.Keys(told)), FeedRow) {
		clause, args := s.db.In("id", part)
		err := s.db.Look(ctx, "SELECT id, doc FROM posthouse_callback_events WHERE "+clause, args, func(scan sqldb.Scanner) error {
			var id, doc string
			if err := scan(&id, &doc); err != nil {
				return err
			}
			e := new(posthouse.FeedEvent)
			into[occurrence{id, told[id]}] = e
			return json.Unmarshal([]byte(doc), e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// feedLooks is how often an event is looked for: a clean delivery has landed or was expanded between two looks at most as often as
// it can. What is not found then was pruned.
const feedLooks = 4

// find looks events up among the rows of history and among clean deliveries.
func (s Feed) find(ctx context.Context, ids []string, wanted map[occurrence]*posthouse.Event) (map[string]*About, error) {
	known := map[string]*About{}
	for part := range sqldb.Parts(ids, FeedRow) {
		missing := part
		for try := 0; try < feedLooks && len(missing) > 0; try++ {
			if err := s.findRows(ctx, missing, wanted); err != nil {
				return nil, err
			}
			if err := s.findClean(ctx, unfound(missing, wanted), wanted); err != nil {
				return nil, err
			}
			missing = unfound(missing, wanted)
		}
		if err := s.describe(ctx, part, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// unfound are the deliveries of which a wanted event is missing.
func unfound(ids []string, wanted map[occurrence]*posthouse.Event) []string {
	missing := map[string]bool{}
	for o, e := range wanted {
		if e == nil {
			missing[o.delivery] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !missing[id] })
}

func (s Feed) findRows(ctx context.Context, ids []string, wanted map[occurrence]*posthouse.Event) error {
	if len(ids) == 0 {
		return nil
	}
	clause, args := s.db.In("delivery", ids)
	return s.db.Look(ctx, "SELECT "+layout.Events.List+" FROM posthouse_transitions WHERE "+clause, args, func(scan sqldb.Scanner) error {
		e, err := layout.ScanEvent(scan)
		note(wanted, e)
		return err
	})
}

func note(wanted map[occurrence]*posthouse.Event, e posthouse.Event) {
	name := occurrence{e.Delivery, e.Version}
	if _, asked := wanted[name]; asked {
		wanted[name] = &e
	}
}

// About is what an event says of its message and recipient.
type About struct{ Channel, Kind, Ref, User string }

func (s Feed) findClean(ctx context.Context, ids []string, wanted map[occurrence]*posthouse.Event) error {
	if len(ids) == 0 {
		return nil
	}
	messages := make([]string, len(ids))
	for i, id := range ids {
		messages[i] = posthouse.MessageID(id)
	}
	clause, args := s.db.In("m.id", messages)
	list, err := (History{s.reader}).CleanEventsWhere(ctx, "m.sole = 1 AND "+clause, args, len(ids))
	for i := range list {
		note(wanted, list[i])
	}
	return err
}

// describe reads what is known of messages and recipients.
func (s Feed) describe(ctx context.Context, ids []string, known map[string]*About) error {
	of := map[string][]*About{}
	var messages, shared []string
	for _, id := range ids {
		known[id] = &About{}
		m := posthouse.MessageID(id)
		if of[m] == nil {
			messages = append(messages, m)
		}
		of[m] = append(of[m], known[id])
	}
	clause, args := s.db.In("id", messages)
	err := s.db.Look(ctx, "SELECT id, channel, kind, ref, user_id, sole FROM posthouse_messages WHERE "+clause, args, func(scan sqldb.Scanner) error {
		var id string
		var m About
		var sole int64
		err := scan(&id, &m.Channel, &m.Kind, &m.Ref, &m.User, &sole)
		for _, a := range of[id] {
			*a = m
		}
		if sole == 0 {
			shared = append(shared, id)
		}
		return err
	})
	if err != nil || len(shared) == 0 {
		return err
	}
	clause, args = s.db.In("id", slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(shared, posthouse.MessageID(id)) }))
	return s.db.Look(ctx, "SELECT id, user_id FROM posthouse_queue WHERE "+clause+" UNION ALL SELECT id, user_id FROM posthouse_settled WHERE "+clause,
		slices.Concat(args, args), func(scan sqldb.Scanner) error {
			var id, user string
			err := scan(&id, &user)
			if a := known[id]; a != nil {
				a.User = user
			}
			return err
		})
}

// EventOf is what others are told of a transition; of is nil where nothing is known of its message.
func EventOf(e *posthouse.Event, of *About) posthouse.FeedEvent {
	out := posthouse.FeedEvent{
		At: e.At, Tenant: e.Tenant, Message: posthouse.MessageID(e.Delivery), Delivery: e.Delivery, Version: e.Version,
		Event: e.Type, From: e.From, To: e.To, Attempt: e.Attempt, Reason: e.Reason, Class: e.Class, Code: e.Code, Error: e.Error,
		ProviderRef: e.Ref, Account: e.Account, Due: e.Due,
	}
	if of != nil {
		out.Channel, out.Kind, out.Ref, out.User = of.Channel, of.Kind, of.Ref, of.User
	}
	return out
}

// Decided is what became of a notification, as the transaction wrote it that decided it.
type Decided struct {
	At time.Time
	posthouse.NotificationEvent
}

// Decisions are those of the notifications from one id to another, each one's in their order, and since when none has gone with its age: zero where
// nobody knows. Of what an earlier program decided some are there only where somebody followed the feed.
func (s Feed) Decisions(ctx context.Context, from, to string) (of map[string][]Decided, kept time.Time, err error) {
	of = map[string][]Decided{}
	err = s.db.Look(ctx, "SELECT doc FROM posthouse_callback_events WHERE id >= ? AND id < ?", []any{from + "v", to + "w"}, func(scan sqldb.Scanner) error {
		var doc string
		if err := scan(&doc); err != nil {
			return err
		}
		var e posthouse.FeedEvent
		if err := json.Unmarshal([]byte(doc), &e); err != nil {
			return fmt.Errorf("what became of a notification cannot be read: %w", err)
		}
		if n := e.Notification; n != nil {
			of[n.ID] = append(of[n.ID], Decided{e.At, *n})
		}
		return nil
	})
	if err != nil {
		return nil, kept, s.db.Coded(err, "read what became of notifications")
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b Decided) int { return cmp.Compare(a.Version, b.Version) })
	}
	oldest, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT COALESCE(MIN(at), 0) FROM posthouse_callback_events") // after the others were read
	return of, sqldb.TimeOf(oldest), s.db.Coded(err, "read what became of notifications")
}
