package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// longestLimit is how long the text of an unused limit can matter: its window, at most 366
// days, and a day.
const longestLimit = 367 * 24 * time.Hour

// Prune deletes up to max deliveries that have been settled for longer than keep, with their
// events, and the messages that have none left; and what has expired of idempotency keys,
// dedup keys, limits, plans and marks, up to max of each. It returns how many deliveries went. Open
// deliveries always stay. What becomes free of an SQLite file goes back to the file system.
func (s Upkeep) Prune(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error) {
	n, err := s.pruneRows(ctx, now, keep, max)
	if err == nil && s.db.Dialect.GiveBack != nil {
		err = s.giveBack(ctx, now)
	}
	return n, err
}

// giveBack returns free space in steps so small that nobody waits for them.
func (s Upkeep) giveBack(ctx context.Context, now time.Time) error {
	_, err := s.repeat(ctx, now, "give free pages back", mostGivenBack, func(t *tx, step int) (int, error) {
		if some, err := s.db.Dialect.GiveBack(t.Tx); err != nil || !some {
			return 0, err
		}
		return step, nil
	})
	return err
}

// mostGivenBack bounds the pages that go back in one call.
const mostGivenBack = 20 * sqldb.BulkStep

func (s Upkeep) pruneRows(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error) {
	n := 0
	for _, prune := range []func(pruning, time.Duration, int) (int, error){pruning.pruneClean, pruning.pruneDeliveries} {
		more, err := s.repeat(ctx, now, "prune deliveries", max-n, func(t *tx, step int) (int, error) { return prune(pruning{t}, keep, step) })
		n += more
		if err != nil {
			return n, err
		}
	}
	for _, old := range []struct {
		table, column string
		keep          time.Duration
	}{{"posthouse_idempotency", "expires_at", 0}, {"posthouse_dedup", "expires_at", 0}, {"posthouse_audit", "keep_until", 0}, {"posthouse_limits", "updated_at", longestLimit}, {"posthouse_notify_marks", "updated_at", 2 * keep}, {"posthouse_job_numbers", "created_at", 2 * keep}} {
		_, err := s.repeat(ctx, now, "prune "+old.table, max, func(t *tx, step int) (int, error) {
			return pruning{t}.pruneExpired(old.table, old.column, old.keep, step)
		})
		if err != nil {
			return n, err
		}
	}
	if n == max {
		return n, nil // it is called again: tasks that go on are read once a round
	}
	return n, Plans{s.shared}.prunePlans(ctx, now, keep, max)
}

// pruneClean deletes the oldest clean deliveries, as pruneDeliveries does others.
func (t pruning) pruneClean(keep time.Duration, max int) (int, error) {
	now, err := t.Now()
	if err != nil {
		return 0, err
	}
	cutoff := sqldb.TimeOf(now).Add(-keep)
	ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_sent WHERE id < ? AND at < ? ORDER BY id LIMIT ?"+t.DB.Dialect.Skip,
		idAt(cutoff), sqldb.Micros(cutoff), max)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	messages := make([]string, len(ids))
	for i, id := range ids {
		messages[i] = posthouse.MessageID(id)
	}
	clause, args := t.In("id", ids)
	if _, err := t.Exec("DELETE FROM posthouse_sent WHERE "+clause, args...); err != nil {
		return 0, err
	}
	clause, args = t.In("id", messages)
	_, err = t.Exec("DELETE FROM posthouse_messages WHERE "+clause+" AND sole = 1", args...)
	return len(ids), err
}

// pruneDeliveries deletes the oldest. An id is never younger than its delivery's last change,
// so the scan stays at the low end of the table. What is locked, such as for a replay, is left
// for the next time.
func (t pruning) pruneDeliveries(keep time.Duration, max int) (int, error) {
	now, err := t.Now()
	if err != nil {
		return 0, err
	}
	cutoff := sqldb.TimeOf(now).Add(-keep)
	ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_settled WHERE id < ? AND updated_at < ? ORDER BY id LIMIT ?"+t.DB.Dialect.Skip,
		idAt(cutoff), sqldb.Micros(cutoff), max)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	for _, d := range []struct{ table, column string }{{"posthouse_transitions", "delivery"}, {"posthouse_settled", "id"}} {
		clause, args := t.In(d.column, ids)
		if _, err := t.Exec("DELETE FROM "+d.table+" WHERE "+clause, args...); err != nil {
			return 0, err
		}
	}
	return len(ids), t.pruneMessages(ids)
}

// pruneMessages deletes the messages of deliveries that are gone, where no other is left.
func (t pruning) pruneMessages(deliveries []string) error {
	messages := make([]string, len(deliveries))
	for i, id := range deliveries {
		messages[i] = posthouse.MessageID(id)
	}
	messages = slices.Compact(messages)
	left := map[string]bool{}
	for part := range sqldb.Parts(messages, 50) {
		var looks []string
		var args []any
		for _, m := range part {
			low, high := deliveryRange(m)
			for _, tab := range []*sqldb.Table{queueTable, settledTable} {
				looks = append(looks, fmt.Sprintf("SELECT * FROM (SELECT id FROM %s WHERE id > ? AND id <= ? LIMIT 1) l%d", tab.Name, len(looks)))
				args = append(args, low, high)
			}
		}
		found, err := sqldb.All(t.Query, sqldb.Word, strings.Join(looks, " UNION ALL "), args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			left[posthouse.MessageID(id)] = true
		}
	}
	messages = slices.DeleteFunc(messages, func(m string) bool { return left[m] })
	if len(messages) == 0 {
		return nil
	}
	clause, args := t.In("id", messages)
	_, err := t.Exec("DELETE FROM posthouse_messages WHERE "+clause, args...)
	return err
}

// pruneExpired deletes up to max rows, and those that expired in the same instant as the last.
func (t pruning) pruneExpired(table, column string, keep time.Duration, max int) (int, error) {
	now, err := t.Now()
	if err != nil {
		return 0, err
	}
	expired, err := sqldb.All(t.Query, sqldb.Number, "SELECT "+column+" FROM "+table+" WHERE "+column+" < ? ORDER BY "+column+" LIMIT ?",
		sqldb.Micros(sqldb.TimeOf(now).Add(-keep)), max)
	if err != nil || len(expired) == 0 {
		return 0, err
	}
	n, err := t.Exec("DELETE FROM "+table+" WHERE "+column+" <= ?", expired[len(expired)-1])
	return int(n), err
}
