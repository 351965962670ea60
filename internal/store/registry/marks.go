package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Marks are what was said of jobs of workflow notices.
type Marks struct{ db *sqldb.DB }

// A status and a deletion are written apart from each other, so that neither undoes the other.
var (
	statusMarks = sqldb.NewTable("posthouse_notify_marks", "tenant", "job", "status#", "update_by", "updated_at#")
	deleteMarks = sqldb.NewTable("posthouse_notify_marks", "tenant", "job", "deleted#", "update_by", "updated_at#")
)

func readMark(scan sqldb.Scanner) (work.Mark, error) {
	var m work.Mark
	var deleted, updated int64
	err := scan(&m.Job, &m.Status, &deleted, &m.By, &updated)
	m.Deleted, m.At = deleted != 0, sqldb.TimeOf(updated)
	return m, err
}

// Marks reads what was said of jobs; one of which nothing was said is missing.
func (s Marks) Marks(ctx context.Context, tenant string, jobs []string) (map[string]work.Mark, error) {
	found := map[string]work.Mark{}
	for part := range sqldb.Parts(jobs, 500) {
		clause, args := s.db.In("job", part)
		list, err := sqldb.All(s.db.Reads(ctx), readMark, "SELECT job, status, deleted, update_by, updated_at FROM posthouse_notify_marks WHERE "+clause+" AND tenant = ?", append(args, tenant)...)
		if err != nil {
			return nil, s.db.Coded(err, "read the marks of jobs")
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

func (s Marks) mark(ctx context.Context, now time.Time, tab *sqldb.Table, tenant string, jobs []string, value int64, by string, keys []work.DedupRow) error {
	if len(jobs) == 0 {
		return nil
	}
	return s.db.Change(ctx, now, "mark jobs", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		rows := make([][]any, len(jobs))
		for i, job := range jobs {
			rows[i] = []any{tenant, job, value, by, at}
		}
		if err := t.Put(tab, 2, rows); err != nil {
			return err
		}
		return freeDedup(t, tenant, keys)
	})
}

// freeDedup gives dedup keys back, those that still stand for the message.
func freeDedup(t *sqldb.Tx, tenant string, keys []work.DedupRow) error {
	for _, k := range keys {
		if _, err := t.Exec("DELETE FROM posthouse_dedup WHERE tenant = ? AND channel = ? AND dedup_key = ? AND message_id = ?", tenant, k.Channel, k.Key, k.Message); err != nil {
			return err
		}
	}
	return nil
}

// Numbers are those that jobs have; one without is missing.
func (s Marks) Numbers(ctx context.Context, tenant string, jobs []string) (map[string]int64, error) {
	found := map[string]int64{}
	for part := range sqldb.Parts(jobs, 500) {
		clause, args := s.db.In("job", part)
		err := s.db.Look(ctx, "SELECT job, number FROM posthouse_job_numbers WHERE "+clause+" AND tenant = ?", append(args, tenant), func(scan sqldb.Scanner) error {
			var job string
			var n int64
			err := scan(&job, &n)
			found[job] = n
			return err
		})
		if err != nil {
			return nil, s.db.Coded(err, "read the numbers of jobs")
		}
	}
	return found, nil
}

// Numbered is the job that has a number, "" where none has.
func (s Marks) Numbered(ctx context.Context, tenant string, n int64) (string, error) {
	job, _, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT job FROM posthouse_job_numbers WHERE tenant = ? AND number = ?", tenant, n)
	return job, s.db.Coded(err, "look for the job of a number")
}

// Number gives a job a number, in place of the job that had it before, "" for none. False says that the number has another job
// by now, or the job another number.
func (s Marks) Number(ctx context.Context, now time.Time, tenant string, n int64, before, job string) (held bool, err error) {
	err = s.db.Change(ctx, now, "number a job", func(t *sqldb.Tx) error {
		had, _, err := sqldb.First(t.Query, sqldb.Word, "SELECT job FROM posthouse_job_numbers WHERE tenant = ? AND number = ?"+t.DB.Dialect.Lock, tenant, n)
		if err != nil {
			return err
		}
		other, numbered, err := sqldb.First(t.Query, sqldb.Number, "SELECT number FROM posthouse_job_numbers WHERE tenant = ? AND job = ?"+t.DB.Dialect.Lock, tenant, job)
		switch held = had == before && (!numbered || other == n); {
		case err != nil || !held || had == job:
			return err
		case had != "":
			_, err = t.Exec("UPDATE posthouse_job_numbers SET job = ? WHERE tenant = ? AND number = ?", job, tenant, n)
			return err
		}
		at, err := t.Now()
		if err == nil {
			_, err = t.Exec("INSERT INTO posthouse_job_numbers (number, job, tenant, created_at) VALUES (?, ?, ?, ?)", n, job, tenant, at)
		}
		if t.DB.Taken(err) {
			held = false // another call was faster, and this one goes back
		}
		return err
	})
	if !held {
		err = nil
	}
	return held, err
}
