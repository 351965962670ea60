// Package sqltest gives tests of the store's parts a migrated database of each kind. Tests of the store itself have one as
// families of tables.
package sqltest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Ready makes databases that have their tables. To migrate one does nothing more.
var Ready = dbtest.Copies{Fill: func(ctx context.Context, dsn string) error {
	db, err := sqldb.Open(ctx, sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = schema.Of(db).Migrate(ctx)
	return errors.Join(err, db.Close())
}}

// EachDSN runs a test for an empty database of each kind.
func EachDSN(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	each(t, kinds{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres, "mariadb": dbtest.MariaDB}, test)
}

type kinds map[string]func(testing.TB) string

func each(t *testing.T, of kinds, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Parallel()
	for name, dsn := range of {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dsn(t))
		})
	}
}

// Each runs a test on an empty, migrated database of each kind.
func Each(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	each(t, kinds{"sqlite": Ready.SQLite, "postgres": Ready.Postgres, "mariadb": Ready.MariaDB}, func(t *testing.T, dsn string) { test(t, Open(t, dsn)) })
}

// Open opens and migrates a database and closes it with the test.
func Open(t testing.TB, dsn string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	if _, err := schema.Of(db).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// Exec runs a statement of a test's own.
func Exec(t testing.TB, db *sqldb.DB, query string, args ...any) {
	t.Helper()
	err := db.Change(t.Context(), time.Now(), "tamper", func(x *sqldb.Tx) error {
		_, err := x.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Count reads one number.
func Count(t testing.TB, db *sqldb.DB, query string, args ...any) int64 {
	t.Helper()
	n, _, err := sqldb.First(db.Reads(t.Context()), sqldb.Number, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
