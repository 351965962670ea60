package store

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
)

// UsedKey notes that a key was shown.
func (s Keys) UsedKey(ctx context.Context, now time.Time, id string) error {
	return s.db.change(ctx, now, "note the use of a key", func(t *Tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		_, err = t.exec("UPDATE posthouse_api_keys SET last_used_at = ? WHERE id = ? AND last_used_at < ?", at, plain(id), at)
		return err
	})
}

// ExpireKey ends a key after a while, unless it ends before.
func (s Keys) ExpireKey(ctx context.Context, now time.Time, tenant, id string, after time.Duration) error {
	return s.db.change(ctx, now, "let a key expire", func(t *Tx) error {
		at, err := t.now()
		if err != nil {
			return err
		}
		end := at + after.Microseconds()
		n, err := t.exec("UPDATE posthouse_api_keys SET expires_at = CASE WHEN expires_at = 0 OR expires_at > ? THEN ? ELSE expires_at END WHERE tenant = ? AND id = ? AND revoked_at = 0",
			end, end, tenant, plain(id))
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no key %q that is not revoked", id)
		}
		return err
	})
}
