package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Digests are the rules by which messages are gathered, in versions.
type Digests struct{ db *sqldb.DB }

func (s Digests) versions() versions[posthouse.Digest] {
	return versions[posthouse.Digest]{
		db: s.db, noun: "digest", plural: "digests",
		head: func(d *posthouse.Digest) head { return head{&d.Tenant, &d.Name, &d.Version, &d.CreatedAt} },
		none: func(name string, version int) error {
			if version == 0 {
				return posthouse.Errorf(posthouse.CodeNotFound, "there is no digest %q", name)
			}
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no version %d of a digest %q", version, name)
		},
	}
}

// PutDigest stores a new version of a digest and returns it. One that equals the latest version makes none.
func (s Digests) PutDigest(ctx context.Context, now time.Time, d posthouse.Digest) (posthouse.Digest, error) {
	return s.versions().put(ctx, now, d)
}

// Digest reads one version of a digest; version 0 means the latest.
func (s Digests) Digest(ctx context.Context, tenant, name string, version int) (posthouse.Digest, error) {
	return s.versions().get(ctx, tenant, name, version)
}

// Digests lists the latest version of each digest of a tenant by name.
func (s Digests) Digests(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Digest, next string, err error) {
	return s.versions().list(ctx, tenant, cursor, limit)
}

// DeleteDigest deletes all versions of a digest. Collections that follow it go on: they keep what they began with.
func (s Digests) DeleteDigest(ctx context.Context, tenant, name string) error {
	return s.versions().remove(ctx, tenant, name)
}
