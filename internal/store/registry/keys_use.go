package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// UsedKey notes that a key was shown.
func (s Keys) UsedKey(ctx context.Context, now time.Time, id string) error {
	return s.db.Change(ctx, now, "note the use of a key", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		_, err = t.Exec("UPDATE posthouse_api_keys SET last_used_at = ? WHERE id = ? AND last_used_at < ?", at, sqldb.Plain(id), at)
		return err
	})
}

// ExpireKey ends a key after a while, unless it ends before.
func (s Keys) ExpireKey(ctx context.Context, now time.Time, tenant, id string, after time.Duration) error {
	return s.db.Change(ctx, now, "let a key expire", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		end := at + after.Microseconds()
		n, err := t.Exec("UPDATE posthouse_api_keys SET expires_at = CASE WHEN expires_at = 0 OR expires_at > ? THEN ? ELSE expires_at END WHERE tenant = ? AND id = ? AND revoked_at = 0",
			end, end, tenant, sqldb.Plain(id))
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no key %q that is not revoked", id)
		}
		return err
	})
}
