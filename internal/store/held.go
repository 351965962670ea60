package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Box counts a tenant's outbox and lists its rows that could not be accepted so far, a page at a time; it
// returns the next page's cursor.
func (s Outbox) Box(ctx context.Context, tenant, cursor string, limit int) (work.Box, string, error) {
	after, err := page.Key("outbox", cursor)
	if err != nil {
		return work.Box{}, "", err
	}
	var b work.Box
	err = s.db.Look(ctx, "SELECT COUNT(CASE WHEN failed_at = 0 THEN 1 END), COUNT(CASE WHEN failed_at > 0 THEN 1 END) FROM posthouse_outbox WHERE tenant = ?",
		[]any{tenant}, func(scan sqldb.Scanner) error { return scan(&b.Waiting, &b.Rejected) })
	if err != nil {
		return b, "", s.db.Coded(err, "count the outbox")
	}
	size := page.Size(limit)
	rows, err := sqldb.All(s.db.Reads(ctx), readHeld, "SELECT id, draft, created_at, failed_at, due_at, failures, error FROM posthouse_outbox"+
		" WHERE tenant = ? AND failed_at > 0 AND id > ? ORDER BY id LIMIT ?", tenant, after, size+1)
	if err != nil {
		return b, "", s.db.Coded(err, "list the outbox")
	}
	rows, next := page.Cut(rows, size, "outbox", func(r work.Held) string { return r.ID })
	b.Rows = rows
	return b, next, nil
}

func readHeld(scan sqldb.Scanner) (work.Held, error) {
	var r work.Held
	var created, failed, due int64
	err := scan(&r.ID, &r.Draft, &created, &failed, &due, &r.Failures, &r.Error)
	r.CreatedAt, r.FailedAt, r.DueAt = sqldb.TimeOf(created), sqldb.TimeOf(failed), sqldb.TimeOf(due)
	return r, err
}

// RetryRow lets a rejected row of the outbox be tried at the next look.
func (s Outbox) RetryRow(ctx context.Context, now time.Time, tenant, id string) error {
	return s.ofHeld(ctx, now, "UPDATE posthouse_outbox SET due_at = failed_at WHERE id = ? AND tenant = ? AND failed_at > 0", tenant, id)
}

// DropRow deletes a rejected row of the outbox: what it says will not be done.
func (s Outbox) DropRow(ctx context.Context, now time.Time, tenant, id string) error {
	return s.ofHeld(ctx, now, "DELETE FROM posthouse_outbox WHERE id = ? AND tenant = ? AND failed_at > 0", tenant, id)
}

// ofHeld changes one rejected row.
func (s Outbox) ofHeld(ctx context.Context, now time.Time, query, tenant, id string) error {
	return s.change(ctx, now, "change the outbox", func(t *tx) error {
		n, err := t.Exec(query, id, tenant)
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no rejected row %q in the outbox", id)
		}
		return err
	})
}
