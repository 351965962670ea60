package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// object is a table, view or index of the database.
type object struct {
	name string
	kind string // "table", "view", "index", or what else the database calls it
	ours bool   // it says of itself that we made it
}

// madeNames finds the names that a migration makes.
var madeNames = regexp.MustCompile(`(?m)^(?:CREATE (?:UNIQUE )?(?:TABLE|VIEW|INDEX)|  KEY|  UNIQUE KEY) (posthouse_\w+)`)

// refuseStrangers ends a migration before it begins where somebody else's object has a name that it is about to
// make. So a migration needs no IF NOT EXISTS, and never touches what it did not make.
func (s Schema) refuseStrangers(ctx context.Context, db *sql.DB) error {
	there, err := s.objects(ctx, db)
	if err != nil {
		return err
	}
	names, err := s.pendingNames(ctx)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(there, func(o object) bool { return !names[o.name] })
	if s.db.dialect.unmake != nil {
		if found, err = s.db.dialect.unmake(ctx, db, found); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return strangerError(found[0])
	}
	return nil
}

func strangerError(o object) error {
	return fmt.Errorf("the database has a %s %s that is not of this program: rename it, or give Posthouse a database or schema of its own", o.kind, o.name)
}

// objects are the tables, views and indexes beside which ours are made.
func (s Schema) objects(ctx context.Context, db *sql.DB) ([]object, error) {
	rows, err := db.QueryContext(ctx, s.db.dialect.objects)
	if err != nil {
		return nil, fmt.Errorf("list the database's tables: %w", err)
	}
	var list []object
	err = drain(rows, func(scan func(...any) error) error {
		var o object
		var said string
		err := scan(&o.name, &o.kind, &said)
		o.kind, o.ours = strings.ToLower(o.kind), said == ourComment
		list = append(list, o)
		return err
	})
	return list, err
}

// pendingNames are what the migrations make that have not been done yet.
func (s Schema) pendingNames(ctx context.Context) (map[string]bool, error) {
	have, _, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	files, err := s.db.dialect.files()
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
	p, err := s.migrations(s.db.write)
	if err != nil {
		return nil, err
	}
	return p.ListSources(), nil
}

// ourComment is what each of our tables says of itself on MySQL, where a migration is no transaction: what a killed
// process has left is known by it.
const ourComment = "posthouse"

// unmakeMySQL removes the empty tables that a killed migration has left, so that the next one begins anew, and
// returns what is not of that kind.
func unmakeMySQL(ctx context.Context, db *sql.DB, found []object) (strangers []object, err error) {
	ours := slices.ContainsFunc(found, func(o object) bool { return o.ours })
	for _, o := range found {
		switch {
		case o.kind == "view" && ours: // it reads our tables, so nobody else can have made it before them
			if _, err := db.ExecContext(ctx, "DROP VIEW "+o.name); err != nil {
				return nil, err
			}
		case !o.ours:
			strangers = append(strangers, o)
		default:
			if err := dropEmpty(ctx, db, o.name); err != nil {
				return nil, err
			}
		}
	}
	return strangers, nil
}

// dropEmpty removes a table that nothing was stored in: only a migration that was killed leaves such a one.
func dropEmpty(ctx context.Context, db *sql.DB, table string) error {
	var full bool
	if table != "posthouse_meta" { // the migration itself stores the first epoch there
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+")").Scan(&full); err != nil {
			return err
		}
	}
	if full {
		return fmt.Errorf("the table %s holds rows, and %s says that its migration was never done: restore %s, or remove the tables", table, versionTable, versionTable)
	}
	_, err := db.ExecContext(ctx, "DROP TABLE "+table)
	return err
}
