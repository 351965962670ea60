package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// On PostgreSQL and MariaDB what is settled lies in partitions by the time of its ids, which are made ahead and dropped
// whole. The few deliveries that must stay beyond their partition are moved out in the same step: those that are open, and
// those that were settled late. A row that no partition was made for lies in the one that takes everything, and goes as on
// SQLite: row by row. So nothing stops where a partition cannot be made or dropped.

// inPartitions are the tables in partitions, with the column of the id. MariaDB drops them one after the other, in this
// order: a message goes first, and what is left of it then is seen by nobody (leaving.go).
var inPartitions = []struct{ table, key string }{
	{"posthouse_messages", "id"}, {"posthouse_sent", "id"}, {"posthouse_settled", "id"}, {"posthouse_transitions", "delivery"},
}

// partitionKey is the column by which a table lies in partitions.
func partitionKey(table string) string {
	for _, t := range inPartitions {
		if t.table == table {
			return t.key
		}
	}
	return ""
}

// slot is one partition of one table: the ids from one to before another.
type slot struct{ table, name, from, to string }

func (h slot) of(s span) bool { return h.from == layout.IDAt(s.from) && h.to == layout.IDAt(s.to) }

// partitions are those of a database, and what this process knows of them.
type partitions struct {
	db       *sqldb.DB
	denied   atomic.Bool  // the user may not make and drop them
	lookedAt atomic.Int64 // when Prune last looked after them, in Unix microseconds
}

// way is how the database does it; nil where what is settled lies in plain tables.
func (s *partitions) way() *partitioning {
	switch s.db.Dialect {
	case sqldb.Postgres:
		return postgresPartitions
	case sqldb.MySQL:
		return mysqlPartitions
	}
	return nil
}

// altering is a connection that makes and drops partitions.
type altering struct {
	*sqldb.Tx
	ctx    context.Context
	parted *partitions
}

// partitioning is how a database does it.
type partitioning struct {
	// list reads the partitions of all tables that have both ends.
	list func(from sqldb.Lookup) ([]slot, error)
	// add makes a partition of each table. It is errOccupied where rows of that time are stored elsewhere.
	add func(ctx context.Context, s *partitions, made []slot) error
	// retire drops the partitions of one time, but for the rows of deliveries that stay. It returns how many these are.
	retire func(ctx context.Context, s *partitions, of span, cutoff int64) (int, error)
	// resume ends what a killed process has begun to drop; nil where the tables lose their partitions in one step.
	resume func(ctx context.Context, s *partitions, cutoff int64) error
}

var (
	errOccupied  = errors.New("rows of that time are stored already")
	errElsewhere = errors.New("another process looks after the partitions")
	errTooMany   = fmt.Errorf("more than %d deliveries of that time are open or were settled late", keptMost)
)

const (
	// leastPartitioned is the shortest retention that waits for partitions to be dropped. Where it is shorter, rows are
	// deleted one by one, and the partitions are empty when they go.
	leastPartitioned = 4 * 24 * time.Hour
	// keptMost bounds how many deliveries are moved out of a partition while others wait.
	keptMost = 20_000
	// partitionEvery is how often Prune looks after the partitions.
	partitionEvery = time.Minute
	// patience is how long a partition may outlive its time before its rows are deleted one by one.
	patience = 24 * time.Hour
	// widest is what a partition spans where nothing is ever deleted.
	widest = 90 * 24 * time.Hour
)

// partitionWidth is the time that one partition spans: eight for what is kept, so that there are about ten.
func partitionWidth(keep time.Duration) time.Duration {
	return min(widest, max(12*time.Hour, (keep/8).Truncate(time.Hour)))
}

// span is a time that a partition is made for.
type span struct{ from, to time.Time }

// spansAhead are the partitions that are missing, so that there is one ahead of the current one. last is the end of the
// youngest there is.
func spansAhead(last, now time.Time, keep time.Duration) []span {
	width := partitionWidth(keep)
	start := now.UTC().Truncate(time.Hour)
	if last.After(start) {
		start = last
	}
	var list []span
	for ; !start.After(now.Add(width)); start = start.Add(width) {
		list = append(list, span{start, start.Add(width)})
	}
	return list
}

// slots are the partitions of a span, one for each table.
func (p span) slots() []slot {
	list := make([]slot, len(inPartitions))
	for i, t := range inPartitions {
		list[i] = slot{t.table, t.table + "_" + strings.ToLower(p.from.UTC().Format("20060102T15")), layout.IDAt(p.from), layout.IDAt(p.to)}
	}
	return list
}

// Partition makes the partitions ahead and drops those whose time is over. It does nothing on SQLite. An error that is
// ErrStranger names what stands in the way; after any other the next call tries again, and nothing stops meanwhile.
func (s Upkeep) Partition(ctx context.Context, keep work.Retention) error {
	if s.parted.way() == nil || s.parted.denied.Load() {
		return nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	return s.parted.partitionAt(ctx, now, keep.Longest())
}

// Partitioned is how many partitions a table has and until when they are made. Known is false where there are none by design.
type Partitioned struct {
	Known      bool
	Number     int
	Until, Now time.Time
}

// Partitions says how what is settled lies.
func (s Upkeep) Partitions(ctx context.Context) (p Partitioned, err error) {
	if s.parted.way() == nil {
		return p, nil
	}
	if p.Now, err = s.db.Now(ctx); err != nil {
		return p, err
	}
	have, err := s.parted.way().list(s.db.Reads(ctx))
	p.Known = err == nil
	for _, h := range have {
		if h.table == inPartitions[0].table {
			p.Number++
		}
		if to := layout.TimeOfID(h.to); to.After(p.Until) {
			p.Until = to
		}
	}
	return p, s.db.Coded(err, "list the partitions")
}

func (s *partitions) partitionAt(ctx context.Context, now time.Time, keep time.Duration) (err error) {
	cutoff := sqldb.Micros(now.Add(-keep))
	if resume := s.way().resume; resume != nil {
		err = resume(ctx, s, cutoff)
	}
	if err == nil {
		err = s.roundOfPartitions(ctx, now, keep, cutoff)
	}
	if errors.Is(err, errElsewhere) {
		return nil
	}
	if err != nil && s.db.Dialect.Fault(err) == sqldb.FaultDenied {
		s.denied.Store(true)
		s.db.Log.Info("the database's user may not make and drop partitions: what is old is deleted row by row", "error", err)
		return nil
	}
	return s.db.Coded(err, "look after the partitions")
}

func (s *partitions) roundOfPartitions(ctx context.Context, now time.Time, keep time.Duration, cutoff int64) error {
	have, err := s.way().list(s.db.Reads(ctx))
	if err != nil {
		return err
	}
	if err := s.addPartitions(ctx, now, keep, have); err != nil || keep == work.Forever {
		return err
	}
	for _, over := range spansOver(have, now, keep) {
		moved, err := s.way().retire(ctx, s, over, cutoff)
		if err != nil {
			return fmt.Errorf("drop the partition up to %s: %w", over.to.Format(time.RFC3339), err)
		}
		s.db.Log.Info("a partition of what is old was dropped", "up_to", over.to, "deliveries_that_stay", moved)
	}
	return nil
}

func (s *partitions) addPartitions(ctx context.Context, now time.Time, keep time.Duration, have []slot) error {
	end := time.Time{}
	for _, h := range have {
		if to := layout.TimeOfID(h.to); to.After(end) {
			end = to
		}
	}
	for _, add := range spansAhead(end, now, keep) {
		err := s.way().add(ctx, s, add.slots())
		if errors.Is(err, errOccupied) { // it begins when nothing can be stored yet
			add.from = now.UTC().Truncate(time.Hour).Add(2 * time.Hour)
			err = s.way().add(ctx, s, add.slots())
		}
		if err != nil {
			return fmt.Errorf("make a partition from %s: %w", add.from.Format(time.RFC3339), err)
		}
	}
	return nil
}

// spansOver are the times of partitions that are over, the oldest first.
func spansOver(have []slot, now time.Time, keep time.Duration) []span {
	var list []span
	for _, h := range have {
		of := span{layout.TimeOfID(h.from), layout.TimeOfID(h.to)}
		if of.to.Add(keep + layout.LateAfter).After(now) {
			continue
		}
		at := slices.IndexFunc(list, func(s span) bool { return s.to.Equal(of.to) })
		if at < 0 {
			list = append(list, of)
		} else if of.from.Before(list[at].from) { // a table that lacks the partition before has its rows in this one
			list[at].from = of.from
		}
	}
	slices.SortFunc(list, func(a, b span) int { return a.to.Compare(b.to) })
	return list
}

// kept lists the deliveries of a time that stay: what is open, and what was settled late and after the cutoff.
func (s *partitions) kept(from sqldb.Lookup, of span, cutoff int64, most int) ([]string, error) {
	low, high := layout.IDAt(of.from), layout.IDAt(of.to)
	in := func(column string) string { return fmt.Sprintf(" WHERE %s >= ? AND %[1]s < ?", column) }
	list, err := sqldb.All(from, sqldb.Word, "SELECT id FROM posthouse_queue"+in("id")+" UNION ALL SELECT id FROM posthouse_due"+in("id")+
		" UNION ALL SELECT j.value FROM "+s.db.Dialect.Flown+in("j.value")+" UNION ALL SELECT id FROM posthouse_late"+in("id")+" AND at >= ?"+
		fmt.Sprintf(" LIMIT %d", most+1), low, high, low, high, low, high, low, high, cutoff)
	if err == nil && len(list) > most {
		err = errTooMany
	}
	return list, err
}

// keptKeys are the keys of the rows of a table that belong to deliveries.
func keptKeys(table string, deliveries []string) []string {
	keys := slices.Clone(deliveries)
	if table == "posthouse_messages" {
		for i := range keys {
			keys[i] = posthouse.MessageID(keys[i])
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// oldRows bounds the ids of the rows that are deleted one by one. With whole, those that go with their partition lie beyond
// it; a partition that could not be dropped for long is none of these.
func (s *partitions) oldRows(ctx context.Context, now time.Time, keep time.Duration, whole bool) (string, error) {
	if s.db.SharedClock() {
		var err error
		if now, err = s.db.Now(ctx); err != nil {
			return "", err
		}
	}
	bound := layout.IDAt(now.Add(-keep))
	if s.way() == nil || !whole || keep < leastPartitioned {
		return bound, nil
	}
	have, err := s.way().list(s.db.Reads(ctx))
	for _, h := range have {
		if layout.TimeOfID(h.to).Add(keep + layout.LateAfter + patience).After(now) {
			bound = min(bound, cmp.Or(h.from, "0"))
		}
	}
	return bound, err
}
