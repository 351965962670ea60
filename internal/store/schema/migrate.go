// Package schema makes the tables and the documents' views, brings them up to date and removes them, and touches nothing
// that is not ours. It also keeps how far the database has come (Tides). It is not what is stored in them.
package schema

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

//go:embed sqlite postgres mysql
var folders embed.FS

// FilesOf are a dialect's migrations.
func FilesOf(d *sqldb.Dialect) (fs.FS, error) {
	if d.Folder != nil {
		return d.Folder, nil
	}
	return fs.Sub(folders, d.Name)
}

// Newest is the version that this binary makes, of every database the same.
func Newest() (newest int64, err error) {
	files, err := FilesOf(sqldb.SQLite)
	if err != nil {
		return 0, err
	}
	names, err := fs.Glob(files, "*.sql")
	for _, name := range names {
		version, e := goose.NumericComponent(name)
		if e != nil {
			return 0, e
		}
		newest = max(newest, version)
	}
	return newest, err
}

// Of is the schema of a database.
func Of(db *sqldb.DB) Schema { return Schema{db} }

// Schema makes the tables and views, and removes them.
type Schema struct{ db *sqldb.DB }

// migrations is the library's provider over this dialect's folder.
func (s Schema) migrations(db *sql.DB) (*goose.Provider, error) {
	files, err := FilesOf(s.db.Dialect)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.db.Dialect.Goose, db, files, goose.WithLogger(goose.NopLogger()), goose.WithTableName(sqldb.VersionTable))
}

// Migrate brings the schema up to this binary's version and returns how many steps that
// took. It refuses a database that a newer binary has made for newer ones alone, one in which somebody else's table,
// view or index has a name of ours, one that is not what its version says, and one on which a process works that could not
// go on. Afterwards it makes the documents' views that are missing. A newer schema that works with this binary is left as it is.
func (s Schema) Migrate(ctx context.Context) (steps int, err error) {
	if newer, err := s.newer(ctx); newer || err != nil {
		return 0, err
	}
	err = s.db.Alone(ctx, func(db *sql.DB) (err error) {
		if s.db.Dialect.Unmake == nil { // elsewhere a killed migration may have done a part of the next version
			if err := s.RefuseDrift(ctx); err != nil {
				return err
			}
		}
		if err := s.clear(ctx, db); err != nil {
			return err
		}
		stop := s.telling(ctx)
		steps, err = s.migrateAll(ctx, db)
		stop()
		if err != nil {
			return err
		}
		if err := s.settleFloor(ctx, db); err != nil {
			return err
		}
		if err := s.RefuseDrift(ctx); err != nil {
			return err
		}
		return s.makeViews(ctx, db)
	})
	return steps, err
}

// MigrateDown removes everything that Migrate has made, with all that is stored in it, and nothing else.
func (s Schema) MigrateDown(ctx context.Context) error {
	if err := s.refuseNewer(ctx); err != nil {
		return err
	}
	return s.db.Alone(ctx, func(db *sql.DB) error {
		if have, _, err := s.Schema(ctx); err != nil || have == 0 {
			return err
		}
		if err := s.dropViews(ctx, db); err != nil {
			return err
		}
		p, err := s.migrations(db)
		if err != nil {
			return err
		}
		if _, err := p.DownTo(ctx, 0); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "DROP TABLE "+sqldb.VersionTable)
		return err
	})
}

// migrateTries is how often a step begins anew that met others on its tables.
const migrateTries = 10

// migrateAll takes the missing steps.
func (s Schema) migrateAll(ctx context.Context, db *sql.DB) (steps int, err error) {
	if !s.db.Dialect.OneWriter {
		// Those who send and accept meanwhile lock rows of several tables, and so does a step: the server ends one of two that wait for each other.
		for try := 1; ; try++ {
			more, err := s.migrateOnce(ctx, db)
			steps += more
			if err == nil || try == migrateTries || posthouse.CodeOf(s.db.Coded(err, "migrate")) != posthouse.CodeUnavailable || ctx.Err() != nil {
				return steps, err
			}
		}
	}
	// SQLite has no lock to wait for. A process that lost the race for a step fails whole, as the
	// step is one transaction, and finds it done when it looks again.
	for lost := true; lost; {
		had, _, e := s.Schema(ctx)
		var more int
		more, err = s.migrateOnce(ctx, db)
		steps += more
		has, _, again := s.Schema(ctx)
		lost = err != nil && e == nil && again == nil && has > had+int64(more)
	}
	return steps, err
}

func (s Schema) migrateOnce(ctx context.Context, db *sql.DB) (int, error) {
	if err := s.refuseStrangers(ctx, db); err != nil {
		return 0, err
	}
	if mend := s.db.Dialect.Mend; mend != nil {
		if err := mend(ctx, db); err != nil {
			return 0, err
		}
	}
	p, err := s.migrations(db)
	if err != nil {
		return 0, err
	}
	done, err := p.Up(ctx)
	steps := len(done)
	var failed *goose.PartialError
	if errors.As(err, &failed) {
		steps += len(failed.Applied)
	}
	return steps, err
}

// newer reports whether a newer binary has migrated the database, so that there is nothing to do. Where that made it for newer ones alone,
// it is an error.
func (s Schema) newer(ctx context.Context) (bool, error) {
	if err := s.Suits(ctx); err != nil {
		return false, err
	}
	have, want, err := s.Schema(ctx)
	return have > want, err
}

func (s Schema) refuseNewer(ctx context.Context) error {
	have, want, err := s.Schema(ctx)
	if err == nil && have > want {
		return fmt.Errorf("the database's schema is version %d and this binary knows up to %d: run the newer posthouse", have, want)
	}
	return err
}

// Schema is the database's schema version, 0 for an empty database, and this binary's.
func (s Schema) Schema(ctx context.Context) (have, want int64, err error) {
	p, err := s.migrations(s.db.Writer)
	if err != nil {
		return 0, 0, err
	}
	for _, source := range p.ListSources() {
		want = max(want, source.Version)
	}
	have, _, err = sqldb.First(s.db.Reads(ctx), sqldb.Number, "SELECT COALESCE(MAX(version_id), 0) FROM posthouse_schema_version")
	if err != nil && s.db.Dialect.Fault(err) == sqldb.FaultNoTable {
		return 0, want, nil
	}
	if err != nil && s.db.Dialect.Fault(err) == sqldb.FaultOther {
		return 0, want, errors.Join(Stranger(sqldb.Object{Name: sqldb.VersionTable, Kind: "table"}), err)
	}
	return have, want, s.db.Coded(err, "read the schema's version")
}
