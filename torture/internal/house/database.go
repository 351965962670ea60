package house

import (
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
)

// Database is one of the three a test runs on.
type Database string

// The databases, by the names the rows use.
const (
	SQLite   Database = "sqlite"
	Postgres Database = "postgres"
	MariaDB  Database = "mariadb"
)

// Databases are all of them.
var Databases = []Database{SQLite, Postgres, MariaDB}

// EachDatabase runs a test on each database, one after the other: they share the machine.
func EachDatabase(t *testing.T, test func(t *testing.T, db Database)) {
	t.Helper()
	for _, db := range Databases {
		t.Run(string(db), func(t *testing.T) { test(t, db) })
	}
}

// DSN is a new, empty database on a server that the tests of this binary share; it goes with the
// test. In the full form the server syncs each commit, since figures are read off it; in the short one a commit survives
// the death of a client, not that of the server: Own is for those.
func (db Database) DSN(t testing.TB) string {
	t.Helper()
	switch {
	case db == SQLite:
		return dbtest.SQLite(t)
	case Full():
		return dbtest.Durable(t, db.kind())
	case db == MariaDB:
		return dbtest.MariaDB(t)
	}
	return dbtest.Postgres(t)
}

func (db Database) kind() dbtest.Kind {
	if db == MariaDB {
		return dbtest.KindMariaDB
	}
	return dbtest.KindPostgres
}

// Own is a durable server of this test alone, which it may kill. SQLite has none.
func (db Database) Own(t testing.TB, args ...string) *dbtest.Server {
	t.Helper()
	return dbtest.Own(t, dbtest.Options{Kind: db.kind(), Durable: true, Args: args})
}

// Several is how many processes may share the database: SQLite belongs to one.
func (db Database) Several(n int) int {
	if db == SQLite {
		return 1
	}
	return n
}
