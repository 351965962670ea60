package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Keys are those of callers, and the mark of the keyring.
type Keys struct{ db *sqldb.DB }

const keyColumns = "id, tenant, name, scope, agent, note, created_at, revoked_at, expires_at, last_used_at, limits, hash"

// AddKey stores a key with the hash of its secret.
func (s Keys) AddKey(ctx context.Context, now time.Time, key posthouse.Key, hash string) error {
	return s.db.Change(ctx, now, "store a key", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		return addKey(t, key, hash, at)
	})
}

func addKey(t *sqldb.Tx, key posthouse.Key, hash string, at int64) error {
	limits, err := limitsText(key)
	if err != nil {
		return err
	}
	_, err = t.Exec("INSERT INTO posthouse_api_keys ("+keyColumns+") VALUES ("+sqldb.Marks(12)+")",
		key.ID, key.Tenant, key.Name, string(key.Scope), key.Agent, key.Note, at, 0, sqldb.Micros(key.ExpiresAt), 0, limits, hash)
	return err
}

// keyBounds are the limits of a key as they are kept, with its quota.
type keyBounds struct {
	posthouse.KeyLimits
	Grants []posthouse.Grant `json:"grants,omitempty"`
	Quota  posthouse.Quota   `json:"quota,omitzero"`
}

// limitsText is how the limits of a key are kept: empty for none.
func limitsText(key posthouse.Key) (string, error) {
	if !key.KeyLimits.Any() && len(key.Grants) == 0 && !key.Quota.Any() {
		return "", nil
	}
	text, err := json.Marshal(keyBounds{key.KeyLimits, key.Grants, key.Quota})
	return string(text), err
}

// SetKeyQuota bounds what a key that is not revoked may ask for, and returns it as it stands.
func (s Keys) SetKeyQuota(ctx context.Context, now time.Time, tenant, id string, quota posthouse.Quota) (posthouse.Key, error) {
	var key hashedKey
	err := s.db.Change(ctx, now, "store a key's quota", func(t *sqldb.Tx) (err error) {
		var found bool
		key, found, err = sqldb.First(t.Query, readKey, "SELECT "+keyColumns+" FROM posthouse_api_keys WHERE tenant = ? AND id = ? AND revoked_at = 0"+t.DB.Dialect.Lock, tenant, sqldb.Plain(id))
		if err == nil && !found {
			err = posthouse.Errorf(posthouse.CodeNotFound, "there is no key %q that is not revoked", id)
		}
		if err != nil {
			return err
		}
		key.Quota = quota
		limits, err := limitsText(key.Key)
		if err == nil {
			_, err = t.Exec("UPDATE posthouse_api_keys SET limits = ? WHERE id = ?", limits, sqldb.Plain(id))
		}
		return err
	})
	return key.Key, err
}

type hashedKey struct {
	posthouse.Key
	hash string
}

func readKey(scan sqldb.Scanner) (hashedKey, error) {
	var k hashedKey
	var created, revoked, expires, used int64
	var limits string
	err := scan(&k.ID, &k.Tenant, &k.Name, &k.Scope, &k.Agent, &k.Note, &created, &revoked, &expires, &used, &limits, &k.hash)
	if err == nil && limits != "" {
		var b keyBounds
		err = json.Unmarshal([]byte(limits), &b) // a key whose limits cannot be read is no key
		k.KeyLimits, k.Grants, k.Quota = b.KeyLimits, b.Grants, b.Quota
	}
	k.CreatedAt, k.RevokedAt, k.ExpiresAt, k.LastUsedAt = sqldb.TimeOf(created), sqldb.TimeOf(revoked), sqldb.TimeOf(expires), sqldb.TimeOf(used)
	return k, err
}

// KeyHash reads a key of any tenant by its id, revoked or not: it is how a caller's tenant is
// found in the first place.
func (s Keys) KeyHash(ctx context.Context, id string) (key posthouse.Key, hash string, found bool, err error) {
	k, found, err := sqldb.First(s.db.Reads(ctx), readKey, "SELECT "+keyColumns+" FROM posthouse_api_keys WHERE id = ?", sqldb.Plain(id))
	return k.Key, k.hash, found, s.db.Coded(err, "look up a key")
}

// Keys lists a tenant's keys, oldest first, revoked ones too.
func (s Keys) Keys(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Key, next string, err error) {
	key, err := page.Key("keys", cursor)
	if err != nil {
		return nil, "", err
	}
	at, id, _ := strings.Cut(key, " ")
	after, _ := strconv.ParseInt(at, 10, 64) // of ours, or 0 for the beginning
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), func(scan sqldb.Scanner) (posthouse.Key, error) {
		k, err := readKey(scan)
		return k.Key, err
	}, "SELECT "+keyColumns+" FROM posthouse_api_keys WHERE tenant = ? AND (created_at > ? OR created_at = ? AND id > ?) ORDER BY created_at, id LIMIT ?", tenant, after, after, id, size+1)
	list, next = page.Cut(list, size, "keys", func(k posthouse.Key) string { return fmt.Sprint(sqldb.Micros(k.CreatedAt), " ", k.ID) })
	return list, next, s.db.Coded(err, "list the keys")
}

// RevokeKey ends a key. One that is revoked already keeps its time.
func (s Keys) RevokeKey(ctx context.Context, now time.Time, tenant, id string) error {
	return s.db.Change(ctx, now, "revoke a key", func(t *sqldb.Tx) error {
		at, err := t.Now()
		if err != nil {
			return err
		}
		n, err := t.Exec("UPDATE posthouse_api_keys SET revoked_at = CASE WHEN revoked_at = 0 THEN ? ELSE revoked_at END WHERE tenant = ? AND id = ?", at, tenant, sqldb.Plain(id))
		if err == nil && n == 0 {
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no key %q", id)
		}
		return err
	})
}
