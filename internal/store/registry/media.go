package registry

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Media are the files that were handed in to be sent: a row each, and their bytes in parts.
type Media struct{ db *sqldb.DB }

var mediaTable = sqldb.NewTable("posthouse_media", "id", "tenant", "name", "type", "size#", "sum", "complete#", "created_at#", "expires_at#")

const mediaColumns = "id, tenant, name, type, size, sum, created_at, expires_at"

// mediaPart is how many bytes one row holds, and one transaction writes.
const mediaPart = 512 << 10

// unfinished is after how long a file counts as left behind whose writing was begun and not ended.
const unfinished = time.Hour

func readMedia(scan sqldb.Scanner) (m work.Media, err error) {
	var created, expires int64
	err = scan(&m.ID, &m.Tenant, &m.Name, &m.Type, &m.Size, &m.Sum, &created, &expires)
	m.CreatedAt, m.ExpiresAt = sqldb.TimeOf(created), sqldb.TimeOf(expires)
	return m, err
}

// PutMedia stores a file for so long, or answers the one of the same name and bytes that is there, for as long from now on.
// The files of a tenant have at most so many bytes together. Nobody sees a file before all of it is there.
func (s Media) PutMedia(ctx context.Context, now time.Time, m work.Media, body []byte, keep time.Duration, most int64) (stored work.Media, created bool, err error) {
	there := false
	begin := func(t *sqldb.Tx) (err error) {
		stored, there, err = s.same(t, m, keep)
		if err != nil || there {
			return err
		}
		at, err := s.room(t, m, most)
		if err != nil {
			return err
		}
		return t.Insert(mediaTable, [][]any{{m.ID, m.Tenant, m.Name, m.Type, m.Size, m.Sum, int64(0), at, at + unfinished.Microseconds()}})
	}
	if err := s.db.Change(ctx, now, "store a file", begin); err != nil || there {
		return stored, false, err
	}
	for n := 0; n*mediaPart < len(body); n++ {
		part := body[n*mediaPart : min(len(body), (n+1)*mediaPart)]
		err := s.db.Change(ctx, now, "store a part of a file", func(t *sqldb.Tx) error {
			_, err := t.Exec("INSERT INTO posthouse_media_parts (media, n, bytes) VALUES (?, ?, ?)", m.ID, int64(n), part)
			return err
		})
		if err != nil {
			return m, false, err
		}
	}
	err = s.db.Change(ctx, now, "store a file", func(t *sqldb.Tx) (err error) { // somebody may have stored the same meanwhile
		if stored, there, err = s.same(t, m, keep); err != nil {
			return err
		}
		if there {
			return s.drop(t, []string{m.ID})
		}
		at, err := s.room(t, m, most)
		if err != nil {
			return err
		}
		stored = m
		stored.CreatedAt, stored.ExpiresAt = sqldb.TimeOf(at), sqldb.TimeOf(at+keep.Microseconds())
		n, err := t.Exec("UPDATE posthouse_media SET complete = 1, created_at = ?, expires_at = ? WHERE id = ?", at, at+keep.Microseconds(), m.ID)
		if err == nil && n == 0 {
			err = posthouse.Errorf(posthouse.CodeUnavailable, "the file took longer than %s to be stored: store it again", posthouse.Duration(unfinished))
		}
		return err
	})
	return stored, err == nil && !there, err
}

// same finds the file of the same name and bytes, and keeps it for longer.
func (s Media) same(t *sqldb.Tx, m work.Media, keep time.Duration) (work.Media, bool, error) {
	if err := t.Serialize(); err != nil {
		return m, false, err
	}
	at, err := t.Now()
	if err != nil {
		return m, false, err
	}
	list, err := sqldb.All(t.Query, readMedia, "SELECT "+mediaColumns+" FROM posthouse_media WHERE tenant = ? AND sum = ? AND complete = 1 AND expires_at > ? ORDER BY id", m.Tenant, m.Sum, at)
	for _, found := range list {
		if found.Name != m.Name || found.Type != m.Type {
			continue
		}
		if until := at + keep.Microseconds(); until > sqldb.Micros(found.ExpiresAt) {
			found.ExpiresAt = sqldb.TimeOf(until)
			_, err = t.Exec("UPDATE posthouse_media SET expires_at = ? WHERE id = ?", until, found.ID)
		}
		return found, true, err
	}
	return m, false, err
}

// room refuses a file for which the tenant's files leave none, and returns the time.
func (s Media) room(t *sqldb.Tx, m work.Media, most int64) (int64, error) {
	at, err := t.Now()
	if err != nil {
		return 0, err
	}
	held, _, err := sqldb.First(t.Query, sqldb.Number, "SELECT COALESCE(SUM(size), 0) FROM posthouse_media WHERE tenant = ? AND complete = 1 AND expires_at > ?", m.Tenant, at)
	if err == nil && most > 0 && held+m.Size > most {
		err = posthouse.Errorf(posthouse.CodeQuota, "the tenant's files have %d bytes, and may have %d: there is no room for %d more until some are deleted", held, most, m.Size)
	}
	return at, err
}

// Media reads what is known of a file; an error of code not_found says that there is none, or that its time is over.
func (s Media) Media(ctx context.Context, now time.Time, tenant, id string) (work.Media, error) {
	m, found, err := sqldb.First(s.db.Reads(ctx), readMedia, "SELECT "+mediaColumns+" FROM posthouse_media WHERE tenant = ? AND id = ? AND complete = 1 AND expires_at > ?", tenant, sqldb.Plain(id), sqldb.Micros(now))
	if err == nil && !found {
		return m, noMedia(id)
	}
	return m, s.db.Coded(err, "read a file")
}

func noMedia(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no file %.80q: it was deleted, or its time is over", id)
}

// MediaBody reads the bytes of a file.
func (s Media) MediaBody(ctx context.Context, now time.Time, tenant, id string) (work.Media, []byte, error) {
	m, err := s.Media(ctx, now, tenant, id)
	if err != nil {
		return m, nil, err
	}
	body := make([]byte, 0, m.Size)
	for n := 0; int64(len(body)) < m.Size; n++ {
		part, found, err := sqldb.First(s.db.Reads(ctx), func(scan sqldb.Scanner) (b []byte, err error) { return b, scan(&b) },
			"SELECT bytes FROM posthouse_media_parts WHERE media = ? AND n = ?", m.ID, n)
		if err == nil && !found {
			return m, nil, noMedia(id) // deleted meanwhile
		}
		if err != nil {
			return m, nil, s.db.Coded(err, "read a file")
		}
		body = append(body, part...)
	}
	return m, body, nil
}

// MediaList lists the files of a tenant, the newest first.
func (s Media) MediaList(ctx context.Context, now time.Time, tenant, cursor string, limit int) (list []work.Media, next string, err error) {
	before, err := page.ID("media", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readMedia, "SELECT "+mediaColumns+" FROM posthouse_media WHERE tenant = ? AND id < ? AND complete = 1 AND expires_at > ? ORDER BY id DESC LIMIT ?",
		tenant, cmp.Or(before, "~"), sqldb.Micros(now), size+1) // ~ is behind all ids
	list, next = page.Cut(list, size, "media", func(m work.Media) string { return m.ID })
	return list, next, s.db.Coded(err, "list files")
}

// KeepMedia keeps a file at least until a time.
func (s Media) KeepMedia(ctx context.Context, now time.Time, tenant, id string, until time.Time) error {
	return s.db.Change(ctx, now, "keep a file", func(t *sqldb.Tx) error {
		_, err := t.Exec("UPDATE posthouse_media SET expires_at = ? WHERE tenant = ? AND id = ? AND complete = 1 AND expires_at < ?", sqldb.Micros(until), tenant, id, sqldb.Micros(until))
		return err
	})
}

// DeleteMedia deletes a file.
func (s Media) DeleteMedia(ctx context.Context, now time.Time, tenant, id string) error {
	return s.db.Change(ctx, now, "delete a file", func(t *sqldb.Tx) error {
		_, found, err := sqldb.First(t.Query, sqldb.Word, "SELECT id FROM posthouse_media WHERE tenant = ? AND id = ? AND complete = 1"+t.DB.Dialect.Lock, tenant, id)
		if err == nil && !found {
			err = noMedia(id)
		}
		if err != nil {
			return err
		}
		return s.drop(t, []string{id})
	})
}

// PruneMedia deletes files whose time is over, at most so many, and returns how many it did.
func (s Media) PruneMedia(ctx context.Context, now time.Time, most int) (n int, err error) {
	err = s.db.Change(ctx, now, "delete files whose time is over", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		ids, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM posthouse_media WHERE expires_at < ? ORDER BY expires_at LIMIT ?", at, most)
		n = len(ids)
		if err != nil || n == 0 {
			return err
		}
		return s.drop(t, ids)
	})
	return n, err
}

func (s Media) drop(t *sqldb.Tx, ids []string) error {
	clause, args := t.Among("media", ids)
	if _, err := t.Exec("DELETE FROM posthouse_media_parts WHERE "+clause, args...); err != nil {
		return err
	}
	clause, args = t.Among("id", ids)
	_, err := t.Exec("DELETE FROM posthouse_media WHERE "+clause, args...)
	return err
}
