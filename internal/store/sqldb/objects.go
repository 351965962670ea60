package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// VersionTable is where the migration library notes what it has done.
const VersionTable = "posthouse_schema_version"

// Object is a table, view or index of the database.
type Object struct {
	Name string
	Kind string // "table", "view", "index", or what else the database calls it
	Ours bool   // it says of itself that we made it
}

// OurComment is what each of our tables says of itself on MySQL, where a migration is no transaction: what a killed
// process has left is known by it.
const OurComment = "posthouse"

// unmakeMySQL removes the empty tables that a killed migration has left, so that the next one begins anew, and
// returns what is not of that kind.
func unmakeMySQL(ctx context.Context, db *sql.DB, found []Object) (strangers []Object, err error) {
	ours := slices.ContainsFunc(found, func(o Object) bool { return o.Ours })
	for _, o := range found {
		switch {
		case o.Kind == "view" && ours: // it reads our tables, so nobody else can have made it before them
			if _, err := db.ExecContext(ctx, "DROP VIEW "+o.Name); err != nil {
				return nil, err
			}
		case !o.Ours:
			strangers = append(strangers, o)
		default:
			if err := dropEmpty(ctx, db, o.Name); err != nil {
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
		return fmt.Errorf("the table %s holds rows, and %s says that its migration was never done: restore %s, or remove the tables", table, VersionTable, VersionTable)
	}
	_, err := db.ExecContext(ctx, "DROP TABLE "+table)
	return err
}
