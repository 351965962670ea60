package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// versionTable is where the migration library notes what it has done.
const versionTable = "posthouse_schema_version"

//go:embed schema
var schema embed.FS

// files are a dialect's migrations, and its views below views.
func (d *dialect) files() (fs.FS, error) {
	if d.folder != nil {
		return d.folder, nil
	}
	return fs.Sub(schema, "schema/"+d.name)
}

// migrations is the library's provider over this dialect's folder.
func (s Schema) migrations(db *sql.DB) (*goose.Provider, error) {
	files, err := s.db.dialect.files()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.db.dialect.goose, db, files, goose.WithLogger(goose.NopLogger()), goose.WithTableName(versionTable))
}

// locked runs fn while no other process migrates. The lock is ours and not the library's, which
// looks at its table before it takes one. The server gives it back when its holder dies.
func (s Schema) locked(ctx context.Context, db *sql.DB, fn func() error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got bool
	if err := conn.QueryRowContext(ctx, s.db.dialect.lockSchema).Scan(&got); err != nil {
		return fmt.Errorf("wait for another process that migrates: %w", err)
	}
	if !got {
		return errors.New("another process has been migrating for too long")
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), s.db.dialect.unlockSchema)
		err = errors.Join(err, unlock)
	}()
	return fn()
}

// Migrate brings the schema up to this binary's version and returns how many steps that
// took. It refuses a database that a newer binary has migrated, and one in which somebody else's table,
// view or index has a name of ours. Afterwards it makes the documents' views that are missing.
func (s Schema) Migrate(ctx context.Context) (steps int, err error) {
	if err := s.refuseNewer(ctx); err != nil {
		return 0, err
	}
	err = s.alone(ctx, func(db *sql.DB) (err error) {
		if steps, err = s.migrateAll(ctx, db); err != nil {
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
	return s.alone(ctx, func(db *sql.DB) error {
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
		_, err = db.ExecContext(ctx, "DROP TABLE "+versionTable)
		return err
	})
}

// alone runs fn while nobody else changes the schema. A change of a large table takes as long as it takes.
func (s Schema) alone(ctx context.Context, fn func(db *sql.DB) error) (err error) {
	if s.db.committer != nil {
		return s.db.committer.alone(func() error { return fn(s.db.write) })
	}
	db := s.db.write
	if s.db.dialect.patient != nil {
		if db, err = s.db.dialect.patient(s.db.dsn); err != nil {
			return err
		}
		defer db.Close()
	}
	return s.locked(ctx, db, func() error { return fn(db) })
}

// migrateAll takes the missing steps.
func (s Schema) migrateAll(ctx context.Context, db *sql.DB) (steps int, err error) {
	if s.db.committer == nil {
		return s.migrateOnce(ctx, db)
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
	if mend := s.db.dialect.mend; mend != nil {
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

func (s Schema) refuseNewer(ctx context.Context) error {
	have, want, err := s.Schema(ctx)
	if err == nil && have > want {
		return fmt.Errorf("the database's schema is version %d and this binary knows up to %d: run the newer posthouse", have, want)
	}
	return err
}

// Schema is the database's schema version, 0 for an empty database, and this binary's.
func (s Schema) Schema(ctx context.Context) (have, want int64, err error) {
	p, err := s.migrations(s.db.write)
	if err != nil {
		return 0, 0, err
	}
	for _, source := range p.ListSources() {
		want = max(want, source.Version)
	}
	have, _, err = first(s.db.reads(ctx), number, "SELECT COALESCE(MAX(version_id), 0) FROM posthouse_schema_version")
	if err != nil && s.db.dialect.fault(err) == faultNoTable {
		return 0, want, nil
	}
	if err != nil && s.db.dialect.fault(err) == faultOther {
		return 0, want, errors.Join(strangerError(object{name: versionTable, kind: "table"}), err)
	}
	return have, want, s.db.toError(err, "read the schema's version")
}
