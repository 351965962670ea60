package registry

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Routes are the ways that messages take over several channels, in versions.
type Routes struct{ db *sqldb.DB }

func (s Routes) versions() versions[posthouse.Route] {
	return versions[posthouse.Route]{
		db: s.db, noun: "route", plural: "routes",
		head: func(d *posthouse.Route) head { return head{&d.Tenant, &d.Name, &d.Version, &d.CreatedAt} },
		none: func(name string, version int) error {
			if version == 0 {
				return posthouse.Errorf(posthouse.CodeNotFound, "there is no route %q", name)
			}
			return posthouse.Errorf(posthouse.CodeNotFound, "there is no version %d of a route %q", version, name)
		},
	}
}

// PutRoute stores a new version of a route and returns it. One that equals the latest version makes none.
func (s Routes) PutRoute(ctx context.Context, now time.Time, d posthouse.Route) (posthouse.Route, error) {
	return s.versions().put(ctx, now, d)
}

// Route reads one version of a route; version 0 means the latest.
func (s Routes) Route(ctx context.Context, tenant, name string, version int) (posthouse.Route, error) {
	return s.versions().get(ctx, tenant, name, version)
}

// Routes lists the latest version of each route of a tenant by name.
func (s Routes) Routes(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Route, next string, err error) {
	return s.versions().list(ctx, tenant, cursor, limit)
}

// DeleteRoute deletes all versions of a route. Notifications that follow it go on: they keep what they began with.
func (s Routes) DeleteRoute(ctx context.Context, tenant, name string) error {
	return s.versions().remove(ctx, tenant, name)
}
