// Package sqltest gives tests of the store's parts a migrated database of each kind. Tests of the store itself have one as
// families of tables.
package sqltest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// EachDSN runs a test for an empty database of each kind.
func EachDSN(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Parallel()
	for _, db := range []struct {
		name string
		dsn  func(testing.TB) string
	}{{"sqlite", dbtest.SQLite}, {"postgres", dbtest.Postgres}, {"mariadb", dbtest.MariaDB}} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			test(t, db.dsn(t))
		})
	}
}

// Each runs a test on an empty, migrated database of each kind.
func Each(t *testing.T, test func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	EachDSN(t, func(t *testing.T, dsn string) { test(t, Open(t, dsn)) })
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
