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

// Routes are the ways that messages take over several channels, in versions.
type Routes struct{ db *sqldb.DB }

const routeColumns = "tenant, name, version, doc, created_at"

// readRoute reads the columns of routeColumns.
func readRoute(scan sqldb.Scanner) (posthouse.Route, error) {
	var r posthouse.Route
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

func latestRoute(from sqldb.Lookup, tenant, name string) (posthouse.Route, bool, error) {
	return sqldb.First(from, readRoute, "SELECT "+routeColumns+" FROM posthouse_routes WHERE tenant = ? AND name = ? ORDER BY version DESC LIMIT 1", tenant, name)
}

// PutRoute stores a new version of a route and returns it. One that equals the latest version makes none.
func (s Routes) PutRoute(ctx context.Context, now time.Time, r posthouse.Route) (posthouse.Route, error) {
	put := r
	err := s.db.Change(ctx, now, "store a route", func(t *sqldb.Tx) error {
		put = r
		if err := t.Serialize(); err != nil {
			return err
		}
		latest, found, err := latestRoute(t.Query, r.Tenant, r.Name)
		if err != nil {
			return err
		}
		if err := work.OnlyOf(ctx).Check("route", r.Name, tagOf(latest, found)); err != nil {
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
			return fmt.Errorf("write down a route: %w", err)
		}
		put.Version, put.CreatedAt = latest.Version+1, sqldb.TimeOf(at)
		_, err = t.Exec("INSERT INTO posthouse_routes ("+routeColumns+") VALUES ("+sqldb.Marks(5)+")", put.Tenant, put.Name, put.Version, string(text), at)
		return err
	})
	return put, err
}

// Route reads one version of a route; version 0 means the latest.
func (s Routes) Route(ctx context.Context, tenant, name string, version int) (posthouse.Route, error) {
	var r posthouse.Route
	var found bool
	var err error
	if version == 0 {
		r, found, err = latestRoute(s.db.Often(ctx), tenant, name)
	} else {
		r, found, err = sqldb.First(s.db.Often(ctx), readRoute, "SELECT "+routeColumns+" FROM posthouse_routes WHERE tenant = ? AND name = ? AND version = ?", tenant, name, version)
	}
	switch {
	case err != nil:
		return r, s.db.Coded(err, "read a route")
	case !found && version == 0:
		return r, noRoute(name)
	case !found:
		return r, posthouse.Errorf(posthouse.CodeNotFound, "there is no version %d of a route %q", version, name)
	}
	return r, nil
}

func noRoute(name string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no route %q", name)
}

// Routes lists the latest version of each route of a tenant by name.
func (s Routes) Routes(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Route, next string, err error) {
	after, err := page.Key("routes", cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), readRoute, "SELECT "+routeColumns+` FROM posthouse_routes r WHERE tenant = ? AND name > ?
		AND version = (SELECT MAX(version) FROM posthouse_routes l WHERE l.tenant = r.tenant AND l.name = r.name) ORDER BY name LIMIT ?`, tenant, after, size+1)
	list, next = page.Cut(list, size, "routes", func(r posthouse.Route) string { return r.Name })
	return list, next, s.db.Coded(err, "list the routes")
}

// DeleteRoute deletes all versions of a route. Notifications that follow it go on: they keep what they began with.
func (s Routes) DeleteRoute(ctx context.Context, tenant, name string) error {
	return s.db.Change(ctx, time.Time{}, "delete a route", func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_routes WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return noRoute(name)
		}
		return err
	})
}
