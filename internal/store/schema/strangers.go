package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// madeNames finds the names that a migration makes.
var madeNames = regexp.MustCompile(`(?m)^(?:CREATE (?:UNIQUE )?(?:TABLE|VIEW|INDEX)|  KEY|  UNIQUE KEY) (posthouse_\w+)`)

// refuseStrangers ends a migration before it begins where somebody else's object has a name that it is about to
// make. So a migration needs no IF NOT EXISTS, and never touches what it did not make.
func (s Schema) refuseStrangers(ctx context.Context, db *sql.DB) error {
	there, err := s.Objects(ctx, db)
	if err != nil {
		return err
	}
	names, err := s.pendingNames(ctx)
	if err != nil {
		return err
	}
	same := func(name string) string { return name }
	if s.db.Dialect.FoldsNames {
		same = strings.ToLower
	}
	found := slices.DeleteFunc(there, func(o sqldb.Object) bool { return !names[same(o.Name)] })
	switch have, _, e := s.Schema(ctx); {
	case e != nil:
		return e
	case s.db.Dialect.Unmake == nil:
	case have > 0: // a table of a migration that was killed, which goes on: see Dialect.migrator
		found = slices.DeleteFunc(found, func(o sqldb.Object) bool { return o.Ours })
	default:
		if found, err = s.db.Dialect.Unmake(ctx, db, found); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return Stranger(found[0])
	}
	return nil
}

// ErrStranger is in every error that says that somebody else's object has a name of ours.
var ErrStranger = errors.New("is not of this program")

// Stranger is the error that names such an object.
func Stranger(o sqldb.Object) error {
	article := "a"
	if strings.HasPrefix(o.Kind, "i") { // an index
		article = "an"
	}
	return fmt.Errorf("the database has %s %s %s that %w: rename it, or give Posthouse a database or schema of its own", article, o.Kind, o.Name, ErrStranger)
}

// Objects are the tables, views and indexes beside which ours are made.
func (s Schema) Objects(ctx context.Context, db *sql.DB) ([]sqldb.Object, error) {
	var list []sqldb.Object
	err := sqldb.Each(ctx, db, s.db.Dialect.Objects, nil, func(scan func(...any) error) error {
		var o sqldb.Object
		var said string
		err := scan(&o.Name, &o.Kind, &said)
		o.Kind, o.Ours = strings.ToLower(o.Kind), said == sqldb.OurComment
		list = append(list, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the database's tables: %w", err)
	}
	return list, nil
}

// pendingNames are what the migrations make that have not been done yet.
func (s Schema) pendingNames(ctx context.Context) (map[string]bool, error) {
	have, _, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	files, err := FilesOf(s.db.Dialect)
	if err != nil {
		return nil, err
	}
	sources, err := s.sources()
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if source.Version <= have {
			continue
		}
		text, err := fs.ReadFile(files, source.Path)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, m := range madeNames.FindAllStringSubmatch(up, -1) {
			names[m[1]] = true
		}
	}
	return names, nil
}

func (s Schema) sources() ([]*goose.Source, error) {
	p, err := s.migrations(s.db.Writer)
	if err != nil {
		return nil, err
	}
	return p.ListSources(), nil
}
