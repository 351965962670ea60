package dbtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// The servers that the tests of one binary share. They are fast, not durable: Durable, and Own with it, are for tests
// that care.
var (
	sharedPostgres = sync.OnceValues(func() (*Server, error) { return Start(Options{Kind: KindPostgres}) })
	sharedMariaDB  = sync.OnceValues(func() (*Server, error) { return Start(Options{Kind: KindMariaDB}) })
	sharedPooler   = sync.OnceValues(func() (*Server, error) {
		before, err := sharedPostgres()
		if err != nil {
			return nil, err
		}
		return Start(Options{Kind: KindPooler, Before: before.DSN, Args: []string{"pool_mode=" + os.Getenv(pooler), "default_pool_size=10", "server_idle_timeout=5"}})
	})
	durablePostgres = sync.OnceValues(func() (*Server, error) { return Start(Options{Kind: KindPostgres, Durable: true}) })
	durableMariaDB  = sync.OnceValues(func() (*Server, error) { return Start(Options{Kind: KindMariaDB, Durable: true}) })
)

// SQLite is the DSN of a new database file that goes with the test:
// "sqlite:PATH". The file itself is made by whoever opens it.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
}

// Postgres is the DSN of a new, empty database that goes with the test:
// "postgres://user:password@127.0.0.1:port/name?sslmode=disable". Its server runs
// with fsync=off.
func Postgres(t testing.TB) string {
	t.Helper()
	return pooled(t, database(t, sharedPostgres, (*Server).Database))
}

// pooled is the way to a database of the shared server by the pooler, where the tests go by one.
func pooled(t testing.TB, dsn string) string {
	t.Helper()
	if os.Getenv(pooler) == "" {
		return dsn
	}
	between, err := sharedPooler()
	require(t, err)
	if dsn = between.through(dsn); os.Getenv(pooler) == "session" {
		dsn += "&pool=session"
	}
	return dsn
}

// pooler is the variable of the environment by which all that use Postgres come to it by way of a pgbouncer: "session" or "transaction".
const pooler = "DBTEST_POOLER"

// MariaDB is the DSN of a new, empty utf8mb4 database that goes with the test:
// "mysql://user:password@127.0.0.1:port/name". Its server runs with
// innodb_flush_log_at_trx_commit=0.
func MariaDB(t testing.TB) string {
	t.Helper()
	return database(t, sharedMariaDB, (*Server).Database)
}

// Durable is the same as Postgres or MariaDB, whichever the kind says, on a server that syncs each commit, as in
// production.
func Durable(t testing.TB, kind Kind) string {
	t.Helper()
	if kind == KindMariaDB {
		return database(t, durableMariaDB, (*Server).Database)
	}
	return database(t, durablePostgres, (*Server).Database)
}

// Redis is the address, "127.0.0.1:port", of an empty server that only this test
// uses: one starts in some ten milliseconds.
func Redis(t testing.TB) string {
	t.Helper()
	return Own(t, Options{Kind: KindRedis}).Addr
}

// Own is a server that only this test uses and that is stopped when the test ends.
func Own(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	require(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop %s: %v", o.Kind, err)
		}
	})
	return s
}

// database is one that is made on a server, and dropped with the test.
func database(t testing.TB, server func() (*Server, error), made func(*Server) (dsn string, drop func() error, err error)) string {
	t.Helper()
	s, err := server()
	require(t, err)
	dsn, drop, err := made(s)
	require(t, err)
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return dsn
}

// servers is the variable of the environment that leaves all servers out when it is "none": make test-quick sets it.
const servers = "DBTEST_SERVERS"

var errLeftOut = errors.New("database servers are left out (" + servers + "=none): make test runs this")

// require ends the test on an error: as skipped when servers are left out, or when the
// server is not installed and CI is not set to true, as failed otherwise.
func require(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var missing *MissingError
	ci, _ := strconv.ParseBool(os.Getenv("CI"))
	if errors.Is(err, errLeftOut) || errors.As(err, &missing) && !ci {
		t.Skip(err)
	}
	t.Fatal(err)
}
