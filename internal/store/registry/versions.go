package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// versions are the documents of a table that keeps each version of them.
type versions[T tagged] struct {
	db *sqldb.DB
	// noun is what one is called in errors, and plural the end of the table's name.
	noun, plural string
	// head are the parts of a document that have columns of their own.
	head func(*T) head
	// none is the error of a name that has no document, or not in that version; version 0 means the latest.
	none func(name string, version int) error
}

// head are the parts of a document that are columns.
type head struct {
	tenant, name *string
	version      *int
	created      *time.Time
}

const versionColumns = "tenant, name, version, doc, created_at"

// selects begins a query of documents.
func (s versions[T]) selects() string {
	return "SELECT " + versionColumns + " FROM posthouse_" + s.plural
}

func (s versions[T]) read(scan sqldb.Scanner) (d T, err error) {
	var tenant, name, doc string
	var version int
	var created int64
	if err = scan(&tenant, &name, &version, &doc, &created); err == nil {
		err = json.Unmarshal([]byte(doc), &d)
	}
	h := s.head(&d)
	*h.tenant, *h.name, *h.version, *h.created = tenant, name, version, sqldb.TimeOf(created)
	return d, err
}

func (s versions[T]) latest(from sqldb.Lookup, tenant, name string) (T, bool, error) {
	return sqldb.First(from, s.read, s.selects()+" WHERE tenant = ? AND name = ? ORDER BY version DESC LIMIT 1", tenant, name)
}

// put stores a new version of a document and returns it. One that equals the latest version makes none.
func (s versions[T]) put(ctx context.Context, now time.Time, d T) (T, error) {
	stored := d
	err := s.db.Change(ctx, now, "store a "+s.noun, func(t *sqldb.Tx) error {
		stored = d
		h := s.head(&stored)
		if err := t.Serialize(); err != nil {
			return err
		}
		latest, found, err := s.latest(t.Query, *h.tenant, *h.name)
		if err != nil {
			return err
		}
		if err := work.OnlyOf(ctx).Check(s.noun, *h.name, tagOf(latest, found)); err != nil {
			return err
		}
		last := s.head(&latest)
		*h.version, *h.created = *last.version, *last.created
		if found && reflect.DeepEqual(stored, latest) {
			return nil
		}
		at, err := t.Now()
		if err != nil {
			return err
		}
		doc := d
		bare := s.head(&doc)
		*bare.tenant, *bare.name, *bare.version, *bare.created = "", "", 0, time.Time{}
		text, err := json.Marshal(doc)
		if err != nil {
			return fmt.Errorf("write down a %s: %w", s.noun, err)
		}
		*h.version, *h.created = *last.version+1, sqldb.TimeOf(at)
		_, err = t.Exec("INSERT INTO posthouse_"+s.plural+" ("+versionColumns+") VALUES ("+sqldb.Marks(5)+")", *h.tenant, *h.name, *h.version, string(text), at)
		return err
	})
	return stored, err
}

// get reads one version of a document; version 0 means the latest.
func (s versions[T]) get(ctx context.Context, tenant, name string, version int) (d T, err error) {
	var found bool
	if version == 0 {
		d, found, err = s.latest(s.db.Reads(ctx), tenant, name)
	} else {
		d, found, err = sqldb.First(s.db.Reads(ctx), s.read, s.selects()+" WHERE tenant = ? AND name = ? AND version = ?", tenant, name, version)
	}
	switch {
	case err != nil:
		return d, s.db.Coded(err, "read a "+s.noun)
	case !found:
		return d, s.none(name, version)
	}
	return d, nil
}

// list lists the latest version of each document of a tenant by name.
func (s versions[T]) list(ctx context.Context, tenant, cursor string, limit int) (list []T, next string, err error) {
	after, err := page.Key(s.plural, cursor)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(limit)
	list, err = sqldb.All(s.db.Reads(ctx), s.read, s.selects()+" r WHERE tenant = ? AND name > ?"+
		" AND version = (SELECT MAX(version) FROM posthouse_"+s.plural+" l WHERE l.tenant = r.tenant AND l.name = r.name) ORDER BY name LIMIT ?", tenant, after, size+1)
	list, next = page.Cut(list, size, s.plural, func(d T) string { return *s.head(&d).name })
	return list, next, s.db.Coded(err, "list the "+s.plural)
}

// remove deletes all versions of a document.
func (s versions[T]) remove(ctx context.Context, tenant, name string) error {
	return s.db.Change(ctx, time.Time{}, "delete a "+s.noun, func(t *sqldb.Tx) error {
		n, err := t.Exec("DELETE FROM posthouse_"+s.plural+" WHERE tenant = ? AND name = ?", tenant, name)
		if err == nil && n == 0 {
			return s.none(name, 0)
		}
		return err
	})
}
