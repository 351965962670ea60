package reading

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Events lists all that happened to a delivery, in order.
func (s History) Events(ctx context.Context, tenant, delivery string) ([]posthouse.Event, error) {
	return s.eventsOf(ctx, tenant, delivery, "version > 0", nil, math.MaxInt32, func(*posthouse.Event) bool { return true })
}

// EventPage lists a part of what happened to a delivery, in order.
func (s History) EventPage(ctx context.Context, tenant, delivery, cursor string, limit int) (list []posthouse.Event, next string, err error) {
	after, err := numberIn("events of a delivery", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = s.eventsOf(ctx, tenant, delivery, "version > ?", []any{after}, size+1, func(e *posthouse.Event) bool { return e.Version > after })
	list, next = page.Cut(list, size, "events of a delivery", func(e posthouse.Event) string { return fmt.Sprint(e.Version) })
	return list, next, err
}

// AttemptPage lists a part of a delivery's tries to send, in order. They are read from the event log: each is a start and the
// event that ended it, and both have its number.
func (s History) AttemptPage(ctx context.Context, tenant, delivery, cursor string, limit int) (list []posthouse.Attempt, next string, err error) {
	after, err := numberIn("attempts", cursor)
	if err != nil {
		return nil, "", err
	}
	m, _, err := Messages{s.reader}.Message(ctx, tenant, posthouse.MessageID(delivery))
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return nil, "", err
	}
	size := page.Size(limit)
	last := after + int64(size) + 1
	events, err := s.eventsOf(ctx, tenant, delivery, "attempt > ? AND attempt <= ?", []any{after, last}, math.MaxInt32, func(e *posthouse.Event) bool {
		return int64(e.Attempt) > after && int64(e.Attempt) <= last
	})
	list, next = page.Cut(AttemptsOf(m.Channel, events), size, "attempts", func(a posthouse.Attempt) string { return fmt.Sprint(a.Number) })
	return list, next, err
}

// numberIn is the number that a cursor leads behind, 0 for the beginning.
func numberIn(list, cursor string) (int64, error) {
	key, err := page.Key(list, cursor)
	if err != nil || key == "" {
		return 0, err
	}
	return strconv.ParseInt(key, 10, 64)
}

// eventsOf reads up to max of those events of a delivery that are where says; of a clean one, whose events stand in no
// table, among does.
func (s History) eventsOf(ctx context.Context, tenant, delivery, where string, args []any, max int, among func(*posthouse.Event) bool) ([]posthouse.Event, error) {
	d, err := Messages{s.reader}.Delivery(ctx, tenant, delivery)
	if err != nil {
		return nil, err
	}
	list, err := s.cleanEvents(ctx, tenant, layout.MessageOfSole(d.ID), layout.MessageOfSole(d.ID), 1)
	if err == nil && len(list) == 0 {
		list, err = sqldb.All(s.db.Reads(ctx), layout.ReadEvent, "SELECT "+layout.Events.List+" FROM posthouse_transitions WHERE delivery = ? AND tenant = ? AND "+where+" ORDER BY version LIMIT ?",
			append(append([]any{d.ID, tenant}, args...), max)...)
	} else {
		list = slices.DeleteFunc(list, func(e posthouse.Event) bool { return !among(&e) })
	}
	for i := range list {
		fill(&list[i], &d)
	}
	return list, s.db.Coded(err, "read the events of a delivery")
}

// fill adds to an event what its delivery knows and the log does not repeat.
func fill(e *posthouse.Event, d *posthouse.Delivery) {
	e.Idem, e.Deadline, e.Policy = d.IdemKey, d.Deadline, d.OnUnknown
}

// AttemptsOf pairs starts with their ends. An attempt without an end still runs.
func AttemptsOf(channel string, events []posthouse.Event) []posthouse.Attempt {
	var list []posthouse.Attempt
	for i := range events {
		e := &events[i]
		switch n := len(list); {
		case e.Type == posthouse.EventStart:
			list = append(list, posthouse.Attempt{
				Number: e.Attempt, Delivery: e.Delivery, Channel: channel, Account: e.Account, Token: e.Token,
				Owner: e.Owner, StartedAt: e.At, Tries: e.Tries, From: e.From,
			})
		case n > 0 && list[n-1].FinishedAt.IsZero() && e.From == posthouse.Sending && e.To != posthouse.Sending:
			end(&list[n-1], e)
		}
	}
	return list
}

func end(a *posthouse.Attempt, e *posthouse.Event) {
	a.FinishedAt, a.Duration, a.To, a.Tries = e.At, e.At.Sub(a.StartedAt), e.To, e.Tries
	a.Class, a.Code, a.Error, a.Ref, a.Request, a.Response = e.Class, e.Code, e.Error, e.Ref, e.Request, e.Response
	if a.Class == "" && e.To == posthouse.Unknown {
		a.Class = posthouse.ClassUnknown // its process is gone, and nobody saw the result
	}
	if e.Account != "" {
		a.Account = e.Account
	}
}

// ExportEvents calls each for every event of a tenant, in the order of delivery and version,
// and returns the cursor to go on from later; an empty tenant means all. The log itself says what there
// is: events whose delivery has no row any more are among them. It holds one part of the log in memory,
// and no connection while each runs. An event that no calendar has a date for is an error.
func (s History) ExportEvents(ctx context.Context, tenant, cursor string, each func(posthouse.Event) error) (string, error) {
	after, err := page.ID("events", cursor)
	if err != nil {
		return cursor, err
	}
	for {
		list, last, err := s.exportPart(ctx, tenant, after)
		if err != nil {
			return cursor, s.db.Coded(err, "read the event log")
		}
		if last == "" {
			return cursor, nil
		}
		for i := range list {
			if err := dated(&list[i]); err != nil {
				return cursor, err
			}
			if err := each(list[i]); err != nil {
				return cursor, err
			}
		}
		if len(list) > 0 {
			cursor = page.Cursor("events", list[len(list)-1].Delivery)
		}
		after = last
	}
}

// ExportStep is about how many events are read at a time.
const ExportStep = 2000

// exportPart reads the events of the next few deliveries, whole, and returns the last of these, empty at the end.
func (s History) exportPart(ctx context.Context, tenant, after string) (list []posthouse.Event, last string, err error) {
	// The clean ones first: what is expanded meanwhile has its rows by then, and they count.
	sole, err := s.cleanEvents(ctx, "", soleAfter(after), "", exportClean)
	if err != nil {
		return nil, "", err
	}
	list, more, err := s.EventsAfter(ctx, after)
	if err != nil || len(list) == 0 && len(sole) == 0 {
		return nil, "", err
	}
	wanted := len(sole) > 0 && countClean(sole) == exportClean
	list, last = interleave(list, sole, more, wanted)
	list, err = s.WithRows(ctx, tenant, list)
	return list, last, err
}

// exportClean is how many clean deliveries are read at a time.
const exportClean = ExportStep / 3

func countClean(list []posthouse.Event) (n int) {
	for i := range list {
		if list[i].Version == 1 {
			n++
		}
	}
	return n
}

// EventsAfter reads the events of the next few deliveries, and whether there may be more. The one that the step cuts in two
// is left for the next time, or is read alone.
func (s History) EventsAfter(ctx context.Context, after string) (list []posthouse.Event, more bool, err error) {
	list, err = sqldb.All(s.db.Reads(ctx), layout.ReadEvent, fmt.Sprintf("SELECT %s FROM posthouse_transitions WHERE delivery > ? ORDER BY delivery, version LIMIT %d", layout.Events.List, ExportStep), after)
	if err != nil || len(list) < ExportStep {
		return list, false, err
	}
	last := list[len(list)-1].Delivery
	whole := slices.IndexFunc(list, func(e posthouse.Event) bool { return e.Delivery == last })
	if whole > 0 {
		return list[:whole], true, nil
	}
	list, err = sqldb.All(s.db.Reads(ctx), layout.ReadEvent, "SELECT "+layout.Events.List+" FROM posthouse_transitions WHERE delivery = ? ORDER BY version", last)
	return list, true, err
}

// WithRows fills events, sorted by delivery, with what the rows of their deliveries say, and keeps those of
// the tenant. A delivery without a row was pruned since, and then its events are gone too, or it is lost.
func (s History) WithRows(ctx context.Context, tenant string, list []posthouse.Event) ([]posthouse.Event, error) {
	rows, err := s.rowsOf(ctx, list)
	if err != nil {
		return nil, err
	}
	pruned, err := s.prunedSince(ctx, list, rows)
	if err == nil {
		err = s.parted.Gone(ctx, list, pruned)
	}
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, e := range list {
		d, owner := rows[e.Delivery], e.Tenant
		if d != nil {
			fill(&e, d)
			owner = d.Tenant
		}
		if !pruned[e.Delivery] && (tenant == "" || owner == tenant) {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// rowsOf reads what there is of the deliveries of events, which are sorted by them. Both tables are read in
// one statement: a row that moves meanwhile is in one of them.
func (s History) rowsOf(ctx context.Context, list []posthouse.Event) (map[string]*posthouse.Delivery, error) {
	rows := map[string]*posthouse.Delivery{}
	for i := range list {
		rows[list[i].Delivery] = nil
	}
	low, high := list[0].Delivery, list[len(list)-1].Delivery
	const of = "SELECT id, tenant, idem_key, deadline, on_unknown FROM %s WHERE id >= ? AND id <= ?"
	err := s.db.Look(ctx, fmt.Sprintf(of+" UNION ALL "+of, layout.Queue.Name, layout.Settled.Name), []any{low, high, low, high}, func(scan sqldb.Scanner) error {
		var d posthouse.Delivery
		var deadline int64
		err := scan(&d.ID, &d.Tenant, &d.IdemKey, &deadline, &d.OnUnknown)
		d.Deadline = sqldb.TimeOf(deadline)
		if _, asked := rows[d.ID]; asked {
			rows[d.ID] = &d
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, s.cleanRows(ctx, rows, low, high)
}

// prunedSince tells which of the deliveries without a row have no events any more either. Both go in one
// transaction, so what has events now and had no row is not on its way out.
func (s History) prunedSince(ctx context.Context, list []posthouse.Event, rows map[string]*posthouse.Delivery) (map[string]bool, error) {
	pruned := map[string]bool{}
	var without []string
	for i := range list {
		if id := list[i].Delivery; rows[id] == nil && !pruned[id] {
			pruned[id] = true
			without = append(without, id)
		}
	}
	for part := range sqldb.Parts(without, sqldb.BulkStep) {
		clause, args := s.db.Dialect.Among("delivery", part)
		left, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT delivery FROM posthouse_transitions WHERE "+clause+" GROUP BY delivery", args...)
		if err != nil {
			return nil, err
		}
		for _, id := range left {
			delete(pruned, id)
		}
	}
	return pruned, nil
}

// lastSecond ends the year 9999: no later time can be written with four digits of a year.
const lastSecond = 253402300799

// dated refuses times that no row of ours has: before 1970, or none where one must be, or so late that they can
// not be written. A deadline is a column of the delivery and not of its events: who judges the log says what is wrong with it.
func dated(e *posthouse.Event) error {
	for _, x := range []struct {
		column string
		at     time.Time
		needed bool
	}{{"at", e.At, true}, {"lease_until", e.LeaseUntil, false}, {"due_at", e.Due, false}} {
		if x.at.IsZero() && !x.needed {
			continue
		}
		if seconds := x.at.Unix(); seconds < 0 || seconds > lastSecond {
			return fmt.Errorf("event %d of delivery %s: %s is %d, out of range: want microseconds since 1970, before the year 10000",
				e.Version, e.Delivery, x.column, sqldb.Micros(x.at))
		}
	}
	return nil
}

// MessageCounts counts the stored messages of each tenant.
func (s History) MessageCounts(ctx context.Context) (map[string]int, error) {
	return s.CountMessages(ctx, 20_000)
}

// CountMessages counts a part at a time: no database is silent for long.
func (s History) CountMessages(ctx context.Context, step int) (map[string]int, error) {
	counts := map[string]int{}
	for after := ""; ; {
		n := 0
		err := s.db.Look(ctx, fmt.Sprintf(`SELECT tenant, COUNT(*), MAX(id) FROM (SELECT id, tenant FROM posthouse_messages WHERE id > ? ORDER BY id LIMIT %d) part
			GROUP BY tenant`, step), []any{after}, func(scan sqldb.Scanner) error {
			var tenant, last string
			var here int
			err := scan(&tenant, &here, &last)
			counts[tenant] += here
			n += here
			after = max(after, last)
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "count the messages")
		}
		if n < step {
			return counts, nil
		}
	}
}
