package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/store/reading"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// errEnough ends the reading of rows early.
var errEnough = errors.New("enough rows were read")

// Outbox lists rows of a kind of all tenants whose time has come, up to max and until their drafts have
// that many bytes: those that were never tried first, in the order they were handed in. It locks
// nothing; Relay does.
func (s Outbox) Outbox(ctx context.Context, now time.Time, kind work.Kind, max, bytes int) ([]work.Enqueued, error) {
	due, args := s.db.Instant(now)
	var list []work.Enqueued
	err := s.db.Look(ctx, "SELECT id, tenant, draft, created_at, failures FROM posthouse_outbox WHERE due_at <= "+due+ofKind(kind)+" ORDER BY due_at, created_at, seq LIMIT ?",
		append(args, max), func(scan sqldb.Scanner) error {
			var row work.Enqueued
			var created int64
			if err := scan(&row.ID, &row.Tenant, &row.Draft, &created, &row.Failures); err != nil {
				return err
			}
			row.CreatedAt = sqldb.TimeOf(created)
			list = append(list, row)
			if bytes -= len(row.Draft); bytes <= 0 {
				return errEnough
			}
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, s.db.Coded(err, "look into the outbox")
}

// ofKind is the condition of rows of a kind.
func ofKind(kind work.Kind) string {
	if kind == work.TaskEvents {
		return ` AND draft LIKE '%"task_event"%'`
	}
	return ` AND draft NOT LIKE '%"task_event"%'`
}

// Relay stores messages and deletes their rows of the outbox in one transaction, so that nothing
// is lost and nothing stands twice, whenever it ends. A row that another process holds, or has
// moved, is left alone: its outcome has no Accepted.
func (s Outbox) Relay(ctx context.Context, now time.Time, list []work.Relay) ([]work.Outcome, error) {
	var outcomes []work.Outcome
	err := s.change(ctx, now, "relay the outbox", func(t *tx) (err error) {
		outcomes, err = relaying{t}.relay(list)
		return err
	})
	return outcomes, err
}

func (t relaying) relay(list []work.Relay) ([]work.Outcome, error) {
	outcomes := make([]work.Outcome, len(list))
	if len(list) == 0 {
		return outcomes, nil
	}
	places := make(map[string]int, len(list))
	rows := make([]string, len(list))
	for i, r := range list {
		rows[i], places[r.Row] = r.Row, i
	}
	now, err := t.Now()
	if err != nil {
		return nil, err
	}
	clause, args := t.In("id", rows)
	free, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_outbox WHERE "+clause+" AND due_at <= ?"+t.DB.Dialect.Skip, append(args, now)...) // it may be held by now
	if err != nil || len(free) == 0 {
		return outcomes, err
	}
	slices.SortFunc(free, func(a, b string) int { return places[a] - places[b] }) // the database has its own order
	subs := make([]*work.Submission, len(free))
	for i, row := range free {
		subs[i] = list[places[row]].Submission
	}
	accepted, _, err := accepting{t.tx}.accept(subs, nil)
	if err != nil {
		return nil, err
	}
	for i, row := range free {
		outcomes[places[row]] = accepted[i]
	}
	if err := t.keepTold(list, outcomes); err != nil {
		return nil, err
	}
	return outcomes, t.dropOutbox(free)
}

// keepTold lets ids that callers were told lead to the messages they are duplicates of.
func (t relaying) keepTold(list []work.Relay, outcomes []work.Outcome) error {
	now, err := t.Now()
	if err != nil {
		return err
	}
	var rows [][]any
	seen := map[string]bool{}
	for i, o := range outcomes {
		if list[i].Keep <= 0 || len(o.Accepted) == 0 {
			continue
		}
		of, told := o.Accepted[0].DuplicateOf, list[i].Submission.MessageID()
		if of != "" && of != told && !seen[told] {
			seen[told] = true
			rows = append(rows, []any{list[i].Submission.Tenant, reading.ToldChannel, told, of, now, now + list[i].Keep.Microseconds()})
		}
	}
	return t.Put(dedupTable, 3, rows)
}

// Done deletes rows whose events have been applied. One that another process holds is left to it.
func (s Outbox) Done(ctx context.Context, now time.Time, rows []string) error {
	return s.change(ctx, now, "clear the outbox", func(t *tx) error {
		clause, args := t.In("id", rows)
		free, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_outbox WHERE "+clause+t.DB.Dialect.Skip, args...)
		if err != nil || len(free) == 0 {
			return err
		}
		return relaying{t}.dropOutbox(free)
	})
}

// dropOutbox deletes rows that this transaction has locked.
func (t relaying) dropOutbox(rows []string) error {
	total := 0
	for part := range sqldb.Sized(rows) {
		query, args := t.dropText(part)
		n, err := t.Exec(query, args...)
		if err != nil {
			return err
		}
		total += int(n)
	}
	if total != len(rows) {
		return fmt.Errorf("%d of %d locked rows of the outbox were deleted", total, len(rows))
	}
	return nil
}

// dropText finds each row by its key.
func (t relaying) dropText(rows []string) (string, []any) {
	if t.DB.Dialect.DeleteListed == nil {
		clause, args := t.In("id", rows)
		return "DELETE FROM posthouse_outbox WHERE " + clause, args
	}
	args := make([]any, len(rows))
	for i, row := range rows {
		args[i] = row
	}
	return t.DB.Dialect.DeleteListed("posthouse_outbox", []string{"id"}, len(rows)), args
}

// Reject writes into rows of the outbox why they cannot be accepted, and when they are tried
// again. It returns those that were still as they were read.
func (s Outbox) Reject(ctx context.Context, now time.Time, list []work.Rejection) ([]string, error) {
	var held []string
	err := s.change(ctx, now, "reject rows of the outbox", func(t *tx) error {
		held = nil
		at, err := t.Now()
		if err != nil {
			return err
		}
		for _, r := range list {
			n, err := t.Exec("UPDATE posthouse_outbox SET error = ?, failed_at = ?, failures = failures + 1, due_at = ? WHERE id = ? AND failures = ? AND due_at <= ?",
				r.Error, at, at+r.Wait.Microseconds(), r.Row, r.Failures, at)
			if err != nil {
				return err
			}
			if n == 1 {
				held = append(held, r.Row)
			}
		}
		return nil
	})
	return held, err
}

// OutboxDepth counts the rows of the outbox: those that wait for their first try, and those that
// could not be accepted so far.
func (s Outbox) OutboxDepth(ctx context.Context) (waiting, rejected int, err error) {
	err = s.db.Look(ctx, "SELECT COUNT(CASE WHEN failed_at = 0 THEN 1 END), COUNT(CASE WHEN failed_at > 0 THEN 1 END) FROM posthouse_outbox", nil,
		func(scan sqldb.Scanner) error { return scan(&waiting, &rejected) })
	return waiting, rejected, s.db.Coded(err, "count the outbox")
}

// holdOutbox leaves the rows of a restored outbox to a person: the original may have moved and sent
// them since the copy was made.
func (s Outbox) holdOutbox(ctx context.Context, now time.Time) error {
	held, err := s.inOrder(ctx, now, "hold the outbox", func(t *tx, last string) (int, string, error) { return relaying{t}.holdRows(last) })
	if held > 0 {
		s.db.Log.Warn("rows of the outbox are held: they may have been sent since the copy of the database was made", "rows", held)
	}
	return err
}

// holdRows holds the rows of the outbox that follow an id, from the very first one where it is empty: MariaDB has ids that stand
// before an empty one. It returns how many, and the last one's id, empty where none was left.
func (t relaying) holdRows(last string) (held int, next string, err error) {
	at, err := t.Now()
	if err != nil {
		return 0, "", err
	}
	after, args := "", []any{sqldb.BulkStep}
	if last != "" {
		after, args = " WHERE id > ?", []any{last, sqldb.BulkStep}
	}
	table := "posthouse_outbox" + t.DB.Dialect.By(sqldb.Primary)
	ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM "+table+after+" ORDER BY id LIMIT ?"+t.DB.Dialect.Lock, args...)
	if err != nil || len(ids) == 0 {
		return 0, "", err
	}
	clause, args := t.In("id", ids)
	_, err = t.Exec("UPDATE "+table+" SET error = ?, failed_at = ?, due_at = ? WHERE "+clause, append([]any{
		work.ReasonEpochHold + ": it may have been sent since the copy of the database was made; set due_at to 0 to send it, or delete the row", at, int64(math.MaxInt64),
	}, args...)...)
	return len(ids), ids[len(ids)-1], err
}
