package sqldb_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// ignored is what the operators of poolers do with settings that they refuse else.
const ignored = "ignore_startup_parameters=extra_float_digits,enable_seqscan,enable_hashjoin,enable_mergejoin,enable_bitmapscan,jit,plan_cache_mode," +
	"max_parallel_workers_per_gather,idle_in_transaction_session_timeout,default_transaction_isolation,search_path"

func TestTheWayToTheDatabaseIsFoundOut(t *testing.T) {
	t.Parallel()
	dsn := dbtest.Postgres(t)
	session, transaction := dbtest.Pooler(t, dsn, "session"), dbtest.Pooler(t, dsn, "transaction")
	hidden := dbtest.Pooler(t, dsn, "transaction", ignored)
	for name, c := range map[string]struct {
		dsn   string
		way   sqldb.Way
		found bool
		err   string
	}{
		"the server itself":                              {dsn: dsn, way: sqldb.Direct},
		"the server itself, of which more is said":       {dsn: dsn + "&pool=transaction", way: sqldb.ByTransaction},
		"a pooler of transactions":                       {dsn: transaction.DSN, way: sqldb.ByTransaction, found: true},
		"one that leaves out what it does not keep":      {dsn: hidden.DSN, way: sqldb.ByTransaction, found: true},
		"a pooler of sessions, of which nothing is said": {dsn: session.DSN, way: sqldb.ByTransaction, found: true},
		"one that is said":                               {dsn: transaction.DSN + "&pool=transaction", way: sqldb.ByTransaction},
		"a pooler of sessions that is said":              {dsn: session.DSN + "&pool=session", way: sqldb.BySession},
		"sessions that there are not":                    {dsn: transaction.DSN + "&pool=session", err: "keeps a session for a transaction alone: say pool=transaction"},
		"another word":                                   {dsn: dsn + "&pool=statement", err: `pool is "statement": want session or transaction`},
		"a schema that would be left out":                {dsn: hidden.DSN + "&search_path=mail", err: "the DSN sets search_path for a session"},
		"a schema for a session":                         {dsn: session.DSN + "&search_path=mail&pool=session", way: sqldb.BySession},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: c.dsn, Log: slog.New(slog.DiscardHandler)})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("it opened with %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if way, found := db.Way(); way != c.way || found != c.found {
				t.Errorf("the way is %s, found out: %t; want %s, %t", way, found, c.way, c.found)
			}
		})
	}
}

// A router of Citus is known by its extension, which this test only claims to have.
func TestARouterPlansEachStatement(t *testing.T) {
	t.Parallel()
	dsn := dbtest.Postgres(t)
	mode := func() (mode string) {
		db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Writer.QueryRowContext(t.Context(), "SELECT current_setting('plan_cache_mode')").Scan(&mode); err != nil {
			t.Fatal(err)
		}
		return mode
	}
	if got := mode(); got != "force_generic_plan" {
		t.Errorf("plan_cache_mode is %s", got)
	}
	own := dbtest.SQL(t, dsn)
	own.SetMaxOpenConns(1)
	for _, q := range []string{"SET allow_system_table_mods = on", `INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
		SELECT 99999, 'citus', extowner, extnamespace, false, '13.2' FROM pg_extension LIMIT 1`} {
		if _, err := own.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if got := mode(); got != "auto" {
		t.Errorf("behind a router plan_cache_mode is %s, want auto", got)
	}
}

// A pool has as many connections as the DSN says, and never too few to work with.
func TestADSNSaysHowManyConnectionsAPoolHas(t *testing.T) {
	t.Parallel()
	dsn := dbtest.Postgres(t)
	for most, want := range map[string]int{"4": 9, "20": 41} {
		room, err := openQuietly(t, dsn+"&pool_max_conns="+most).Room(t.Context())
		if err != nil || room.Own != want {
			t.Errorf("%s: at most %d connections (%v), want %d", most, room.Own, err, want)
		}
	}
	if _, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn + "&pool_max_conns=3", Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "pool_max_conns is 3: want at least 4") {
		t.Errorf("three connections: %v", err)
	}
}

// One process makes an index beside those who write while another one waits for its turn: neither waits for the other.
func TestAnIndexIsMadeWhileAnotherProcessWaitsToMigrate(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"", "&pool=transaction"} {
		dsn := dbtest.Postgres(t) + way
		first, second := openQuietly(t, dsn), openQuietly(t, dsn)
		order := make(chan string, 2)
		ended := make(chan error, 1)
		err := first.Alone(t.Context(), func(db *sql.DB) error {
			go func() {
				ended <- second.Alone(t.Context(), func(*sql.DB) error { order <- "second"; return nil })
			}()
			for waits := 0; waits == 0; { // until the other one has asked
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%advisory%'").Scan(&waits); err != nil {
					return err
				}
			}
			for _, q := range []string{"CREATE TABLE posthouse_songs (name text)", "CREATE INDEX CONCURRENTLY posthouse_songs_name ON posthouse_songs (name)"} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					return err
				}
			}
			order <- "first"
			return nil
		})
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
		if one, other := <-order, <-order; one != "first" || other != "second" {
			t.Errorf("%q: the %s was before the %s", way, one, other)
		}
	}
}

func openQuietly(t *testing.T, dsn string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
