package dbtest

import (
	"database/sql"
	"strings"
	"testing"
)

// SQL opens a database of a DSN of ours without the store, to look at its rows, to spoil them, or to do
// what the store would never do. The driver of SQLite is the one that the test links. It goes with the test.
func SQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	driver, source := "pgx", ForOthers(dsn)
	if rest, ok := strings.CutPrefix(dsn, "mysql://"); ok {
		login, place, _ := strings.Cut(rest, "@")
		addr, name, _ := strings.Cut(place, "/")
		driver, source = "mysql", login+"@tcp("+addr+")/"+name
	} else if rest, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+rest+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// few is what a DSN of PostgreSQL says for pools of at most four connections. A server that begins fills its pools, and each connection
// takes PostgreSQL a tenth of a second of the processor. Programs that are not Posthouse do not know it.
const few = "&pool_max_conns=4"

// ForOthers is a DSN as programs that know nothing of our pools take it.
func ForOthers(dsn string) string { return strings.ReplaceAll(dsn, few, "") }
