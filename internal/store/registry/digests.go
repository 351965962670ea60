package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Digests are the rules by which messages are gathered, in versions.
type Digests struct{ db *sqldb.DB }

const digestColumns = "tenant, name, version, doc, created_at"

// readDigest reads the columns of digestColumns.
func readDigest(scan sqldb.Scanner) (posthouse.Digest, error) {
	var r posthouse.Digest
	var tenant, name, doc string
	var version int
	var created int64
	err := scan(&tenant, &name, &version, &doc, &created)
	if err == nil {
		err = json.Unmarshal([]byte(doc), &r)
	}
	r.Tenant, r.Name, r.Version, r.CreatedAt = tenant, name, version, sqldb.TimeOf(created)
	return r, err
}

func latestDigest(from sqldb.Lookup, tenant, name string) (posthouse.Digest, bool, error) {
	return sqldb.First(from, readDigest, "SELECT "+digestColumns+" FROM posthouse_digests WHERE tenant = ? AND name = ? ORDER BY version DESC LIMIT 1", tenant, name)
}

// PutDigest stores a new version of a digest and returns it. One that equals the latest version makes none.
func (s Digests) PutDigest(ctx context.Context, now time.Time, r posthouse.Digest) (posthouse.Digest, error) {
	put := r
	err := s.db.Change(ctx, now, "store a digest", func(t *sqldb.Tx) error {
		put = r
		if err := t.Serialize(); err != nil {
			return err
		}
		latest, found, err := latestDigest(t.Query, r.Tenant, r.Name)
		if err != nil {
			return err
		}
		if err := work.OnlyOf(ctx).Check("digest", r.Name, tagOf(latest, found)); err != nil {
			return err
		}
		put.Version, put.CreatedAt = latest.Version, latest.CreatedAt
		if found && reflect.DeepEqual(put, latest) {
			return nil
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		doc := r
		doc.Tenant, doc.Name, doc.Version, doc.CreatedAt = "", "", 0, time.Time{}
		text, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("write down a digest: %w", err)
		}
		put.Version, put.CreatedAt = latest.Version+1, sqldb.TimeOf(at)
		_, err = t.Exec("INSERT INTO posthouse_digests ("+digestColumns+") VALUES ("+sqldb.Marks(5)+")", put.Tenant, put.Name, put.Version, string(text), at)
		return err
	})
	return put, err
}

// Digest reads one version of a digest; version 0 means the latest.
func (s Digests) Digest(ctx context.Context, tenant, name string, version int) (posthouse.Digest, error) {
	var r posthouse.Digest
	var found bool
	var err error
	if version == 0 {
		r, found, err = latestDigest(s.db.Often(ctx), tenant, name)
	} else {
		r, found, err = sqldb.First(s.db.Often(ctx), readDigest, "SELECT "+digestColumns+" FROM posthouse_digests WHERE tenant = ? AND name = ? AND version = ?", tenant, name, version)
	}
	switch {
	case err != nil:
		return r, s.db.Coded(err, "read a digest")
	case !found && version == 0:
		return r, noDigest(name)
	case !found:
		return r, posthouse.Errorf(posthouse.CodeNotFound, "there is no version %d of a digest %q", version, name)
	}
	return r, nil
}

func noDigest(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no digest %q", name)
}

// Digests lists the latest version of each digest of a tenant by name.
func (s Digests) Digests(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Digest, next string, err error) {
	after, err := page.Key("digests", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readDigest, "SELECT "+digestColumns+` FROM posthouse_digests r WHERE tenant = ? AND name > ?
		AND version = (SELECT MAX(version) FROM posthouse_digests l WHERE l.tenant = r.tenant AND l.name = r.name) ORDER BY name LIMIT ?`, tenant, after, size+1)
	list, next = page.Cut(list, size, "digests", func(r posthouse.Digest) string { return r.Name })
	return list, next, s.db.Coded(err, "list the digests")
}

// DeleteDigest deletes all versions of a digest. Collections that follow it go on: they keep what they began with.
func (s Digests) DeleteDigest(ctx context.Context, tenant, name string) error {
	return s.db.Change(ctx, time.Time{}, "delete a digest", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_digests WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return noDigest(name)
		}
		return err
	})
}
