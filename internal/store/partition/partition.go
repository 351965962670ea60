package partition

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

// InPartitions are the tables in partitions, with the column of the id. MariaDB drops them one after the other, in this
// order: a message goes first, and what is left of it then is seen by nobody (leaving.go).
var InPartitions = []struct{ Table, key string }{
	{"posthouse_messages", "id"}, {"posthouse_sent", "id"}, {"posthouse_settled", "id"}, {"posthouse_transitions", "delivery"},
}

// partitionKey is the column by which a table lies in partitions.
func partitionKey(table string) string {
	for _, t := range InPartitions {
		if t.Table == table {
			return t.key
		}
	}
	return ""
}

// Slot is one partition of one table: the ids from one to before another.
type Slot struct{ Table, Name, from, To string }

func (h Slot) of(s Span) bool { return h.from == layout.IDAt(s.From) && h.To == layout.IDAt(s.To) }

// Partitions are those of a database, and what this process knows of them.
type Partitions struct {
	db       *sqldb.DB
	Denied   atomic.Bool  // the user may not make and drop them
	lookedAt atomic.Int64 // when KeepUpNow last looked after them, in Unix microseconds
}

// Of are those of an open database.
func Of(db *sqldb.DB) *Partitions { return &Partitions{db: db} }

// Parted reports whether what is settled lies in partitions.
func (s *Partitions) Parted() bool { return s.Way() != nil }

// Way is how the database does it; nil where what is settled lies in plain tables.
func (s *Partitions) Way() *partitioning {
	switch s.db.Dialect.Partitions {
	case sqldb.Detached:
		return postgresPartitions
	case sqldb.Exchanged:
		return mysqlPartitions
	}
	return nil
}

// Altering is a connection that makes and drops partitions.
type Altering struct {
	*sqldb.Tx
	ctx    context.Context
	parted *Partitions
}

// partitioning is how a database does it.
type partitioning struct {
	// list reads the partitions of all tables that have both ends.
	List func(from sqldb.Lookup) ([]Slot, error)
	// add makes a partition of each table. It is errOccupied where rows of that time are stored elsewhere.
	add func(ctx context.Context, s *Partitions, made []Slot) error
	// retire drops the partitions of one time, but for the rows of deliveries that stay. It returns how many these are.
	Retire func(ctx context.Context, s *Partitions, of Span, cutoff int64) (int, error)
	// resume ends what a killed process has begun to drop; nil where the tables lose their partitions in one step.
	Resume func(ctx context.Context, s *Partitions, cutoff int64) error
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
	// partitionEvery is how often KeepUpNow looks after the partitions.
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

// Span is a time that a partition is made for.
type Span struct{ From, To time.Time }

// SpansAhead are the partitions that are missing, so that there is one ahead of the current one. last is the end of the
// youngest there is.
func SpansAhead(last, now time.Time, keep time.Duration) []Span {
	width := partitionWidth(keep)
	start := now.UTC().Truncate(time.Hour)
	if last.After(start) {
		start = last
	}
	var list []Span
	for ; !start.After(now.Add(width)); start = start.Add(width) {
		list = append(list, Span{start, start.Add(width)})
	}
	return list
}

// Slots are the partitions of a span, one for each table.
func (p Span) Slots() []Slot {
	list := make([]Slot, len(InPartitions))
	for i, t := range InPartitions {
		list[i] = Slot{t.Table, t.Table + "_" + strings.ToLower(p.From.UTC().Format("20060102T15")), layout.IDAt(p.From), layout.IDAt(p.To)}
	}
	return list
}

// KeepUp makes the partitions ahead and drops those whose time is over. It does nothing on SQLite. An error that is
// ErrStranger names what stands in the way; after any other the next call tries again, and nothing stops meanwhile.
func (s *Partitions) KeepUp(ctx context.Context, keep time.Duration) error {
	if s.Way() == nil || s.Denied.Load() {
		return nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	return s.PartitionAt(ctx, now, keep)
}

// KeepUpNow is KeepUp once in a while.
func (s *Partitions) KeepUpNow(ctx context.Context, keep time.Duration) error {
	last := s.lookedAt.Load()
	if since := time.Since(sqldb.TimeOf(last)); last != 0 && since.Abs() < partitionEvery || !s.lookedAt.CompareAndSwap(last, time.Now().UnixMicro()) {
		return nil
	}
	return s.KeepUp(ctx, keep)
}

// State is how many partitions a table has and until when they are made. Known is false where there are none by design.
type State struct {
	Known      bool
	Number     int
	Until, Now time.Time
}

// State says how what is settled lies.
func (s *Partitions) State(ctx context.Context) (p State, err error) {
	if s.Way() == nil {
		return p, nil
	}
	if p.Now, err = s.db.Now(ctx); err != nil {
		return p, err
	}
	have, err := s.Way().List(s.db.Reads(ctx))
	p.Known = err == nil
	for _, h := range have {
		if h.Table == InPartitions[0].Table {
			p.Number++
		}
		if to := layout.TimeOfID(h.To); to.After(p.Until) {
			p.Until = to
		}
	}
	return p, s.db.Coded(err, "list the partitions")
}

// PartitionAt is KeepUp at a time.
func (s *Partitions) PartitionAt(ctx context.Context, now time.Time, keep time.Duration) (err error) {
	cutoff := sqldb.Micros(now.Add(-keep))
	if resume := s.Way().Resume; resume != nil {
		err = resume(ctx, s, cutoff)
	}
	if err == nil {
		err = s.roundOfPartitions(ctx, now, keep, cutoff)
	}
	if errors.Is(err, errElsewhere) {
		return nil
	}
	if err != nil && s.db.Dialect.Fault(err) == sqldb.FaultDenied {
		s.Denied.Store(true)
		s.db.Log.Info("the database's user may not make and drop partitions: what is old is deleted row by row", "error", err)
		return nil
	}
	return s.db.Coded(err, "look after the partitions")
}

func (s *Partitions) roundOfPartitions(ctx context.Context, now time.Time, keep time.Duration, cutoff int64) error {
	have, err := s.Way().List(s.db.Reads(ctx))
	if err != nil {
		return err
	}
	if err := s.addPartitions(ctx, now, keep, have); err != nil || keep == work.Forever {
		return err
	}
	for _, over := range SpansOver(have, now, keep) {
		moved, err := s.Way().Retire(ctx, s, over, cutoff)
		if err != nil {
			return fmt.Errorf("drop the partition up to %s: %w", over.To.Format(time.RFC3339), err)
		}
		s.db.Log.Info("a partition of what is old was dropped", "up_to", over.To, "deliveries_that_stay", moved)
	}
	return nil
}

func (s *Partitions) addPartitions(ctx context.Context, now time.Time, keep time.Duration, have []Slot) error {
	end := time.Time{}
	for _, h := range have {
		if to := layout.TimeOfID(h.To); to.After(end) {
			end = to
		}
	}
	for _, add := range SpansAhead(end, now, keep) {
		err := s.Way().add(ctx, s, add.Slots())
		if errors.Is(err, errOccupied) { // it begins when nothing can be stored yet
			add.From = now.UTC().Truncate(time.Hour).Add(2 * time.Hour)
			err = s.Way().add(ctx, s, add.Slots())
		}
		if err != nil {
			return fmt.Errorf("make a partition from %s: %w", add.From.Format(time.RFC3339), err)
		}
	}
	return nil
}

// SpansOver are the times of partitions that are over, the oldest first.
func SpansOver(have []Slot, now time.Time, keep time.Duration) []Span {
	var list []Span
	for _, h := range have {
		of := Span{layout.TimeOfID(h.from), layout.TimeOfID(h.To)}
		if of.To.Add(keep + layout.LateAfter).After(now) {
			continue
		}
		at := slices.IndexFunc(list, func(s Span) bool { return s.To.Equal(of.To) })
		if at < 0 {
			list = append(list, of)
		} else if of.From.Before(list[at].From) { // a table that lacks the partition before has its rows in this one
			list[at].From = of.From
		}
	}
	slices.SortFunc(list, func(a, b Span) int { return a.To.Compare(b.To) })
	return list
}

// kept lists the deliveries of a time that stay: what is open, and what was settled late and after the cutoff.
func (s *Partitions) kept(from sqldb.Lookup, of Span, cutoff int64, most int) ([]string, error) {
	low, high := layout.IDAt(of.From), layout.IDAt(of.To)
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

// OldRows bounds the ids of the rows that are deleted one by one. With whole, those that go with their partition lie beyond
// it; a partition that could not be dropped for long is none of these.
func (s *Partitions) OldRows(ctx context.Context, now time.Time, keep time.Duration, whole bool) (string, error) {
	if s.db.SharedClock() {
		var err error
		if now, err = s.db.Now(ctx); err != nil {
			return "", err
		}
	}
	bound := layout.IDAt(now.Add(-keep))
	if s.Way() == nil || !whole || keep < leastPartitioned {
		return bound, nil
	}
	have, err := s.Way().List(s.db.Reads(ctx))
	for _, h := range have {
		if layout.TimeOfID(h.To).Add(keep + layout.LateAfter + patience).After(now) {
			bound = min(bound, cmp.Or(h.from, "0"))
		}
	}
	return bound, err
}
