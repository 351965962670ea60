package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// A status and a deletion are written apart from each other, so that neither undoes the other.
var (
	statusMarks = newTable("posthouse_notify_marks", "tenant", "job", "status#", "update_by", "updated_at#")
	deleteMarks = newTable("posthouse_notify_marks", "tenant", "job", "deleted#", "update_by", "updated_at#")
)

func readMark(scan scanner) (work.Mark, error) {
	var m work.Mark
	var deleted, updated int64
	err := scan(&m.Job, &m.Status, &deleted, &m.By, &updated)
	m.Deleted, m.At = deleted != 0, timeOf(updated)
	return m, err
}

// Marks reads what was said of jobs; one of which nothing was said is missing.
func (s Marks) Marks(ctx context.Context, tenant string, jobs []string) (map[string]work.Mark, error) {
	found := map[string]work.Mark{}
	for part := range parts(jobs, 500) {
		clause, args := s.db.in("job", part)
		list, err := all(s.db.reads(ctx), readMark, "SELECT job, status, deleted, update_by, updated_at FROM posthouse_notify_marks WHERE "+clause+" AND tenant = ?", append(args, tenant)...)
		if err != nil {
			return nil, s.db.toError(err, "read the marks of jobs")
		}
		for _, m := range list {
			found[m.Job] = m
		}
	}
	return found, nil
}

// MarkStatus says of jobs which status they have. A job is named once.
func (s Marks) MarkStatus(ctx context.Context, now time.Time, tenant string, jobs []string, status int, by string) error {
	return s.mark(ctx, now, statusMarks, tenant, jobs, int64(status), by, nil)
}

// MarkDeleted says of jobs that they are deleted, and frees their dedup keys: the next message with
// one of them is a new one. A job is named once.
func (s Marks) MarkDeleted(ctx context.Context, now time.Time, tenant string, jobs []string, by string, keys []work.DedupRow) error {
	return s.mark(ctx, now, deleteMarks, tenant, jobs, 1, by, keys)
}

func (s Marks) mark(ctx context.Context, now time.Time, tab *table, tenant string, jobs []string, value int64, by string, keys []work.DedupRow) error {
	if len(jobs) == 0 {
		return nil
	}
	return s.db.change(ctx, now, "mark jobs", func(t *Tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		rows := make([][]any, len(jobs))
		for i, job := range jobs {
			rows[i] = []any{tenant, job, value, by, at}
		}
		if err := t.put(tab, 2, rows); err != nil {
			return err
		}
		return freeDedup(t, tenant, keys)
	})
}

// freeDedup gives dedup keys back, those that still stand for the message.
func freeDedup(t *Tx, tenant string, keys []work.DedupRow) error {
	for _, k := range keys {
		if _, err := t.exec("DELETE FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ? AND message_id = ?", tenant, k.Channel, k.Key, k.Message); err != nil {
			return err
		}
	}
	return nil
}
