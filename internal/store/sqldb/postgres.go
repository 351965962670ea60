package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const postgresClock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// Postgres is PostgreSQL, by way of pgx.
var Postgres = &Dialect{
	Name:       "postgres",
	Title:      "PostgreSQL",
	Schemes:    []string{"postgres", "postgresql"},
	Pairs:      true,
	Parted:     true,
	Limit:      "?",
	Goose:      goose.DialectPostgres,
	clock:      postgresClock,
	instant:    postgresClock, // a sub-select is read once
	Lock:       " FOR UPDATE",
	Share:      " FOR SHARE",
	Skip:       " FOR UPDATE SKIP LOCKED",
	dollar:     true,
	Arrays:     true,
	AtOnce:     true,
	StartsLock: "LOCK TABLE posthouse_flights IN SHARE MODE",
	stale:      dividedByZero,
	Upsert:     onConflict,
	Partitions: Detached,
	Add:        addOnConflict,
	Fault:      postgresFault,
	answered:   answeredByPostgres,
	unsent:     pgconn.SafeToRetry,
	open:       openPostgres,
	check:      checkPostgres,
	IndexProgress: `SELECT COALESCE(c.relname, ''), p.phase,
  COALESCE(CASE WHEN p.tuples_total > 0 THEN p.tuples_done * 100 / p.tuples_total WHEN p.blocks_total > 0 THEN p.blocks_done * 100 / p.blocks_total END, 0)
FROM pg_stat_progress_create_index p LEFT JOIN pg_class c ON c.oid = p.index_relid
WHERE p.datname = current_database() LIMIT 1`,
	Former: Former{
		Open: openFormerPostgres, Guard: guardFormerPostgres, Text: "TEXT",
		Tables: "SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = ANY (current_schemas(false))",
		// A time without a zone becomes one of the session's; one without an end is none.
		Moment: func(column string) string {
			return "CASE WHEN isfinite(" + column + ") THEN (EXTRACT(EPOCH FROM CAST(" + column + " AS timestamptz)) * 1000000)::bigint END"
		},
	},

	Phrases: postgresPhrases,
	Concat:  concatByBars,
	Flown:   `posthouse_flights f CROSS JOIN LATERAL (SELECT value COLLATE "C" AS value FROM json_array_elements_text(f.ids::json)) j`,
	Objects: `SELECT relname, CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
		WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' ELSE 'relation' END, '' FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		UNION ALL SELECT typname, 'type', '' FROM pg_type WHERE typnamespace = current_schema()::regnamespace AND typrelid = 0 AND typelem = 0`,
	Catalogue: postgresCatalogue,
	ViewText:  "SELECT definition FROM pg_views WHERE schemaname = COALESCE(NULLIF(?, ''), current_schema()) AND viewname = ?",
	Schemas:   true,

	lockSchema:   "SELECT pg_advisory_lock(7077101, hashtext(current_schema()))::text = ''",
	unlockSchema: "SELECT pg_advisory_unlock(7077101, hashtext(current_schema()))",
}

// openPostgres opens a write pool whose plans are pinned to the indexes, since a plan made
// while the tables were empty would scan them all later, and a read pool with the
// planner's own choice.
func openPostgres(ctx context.Context, dsn string, _ *slog.Logger) (p pools, err error) {
	p.write, err = postgresPool(ctx, dsn, map[string]string{
		"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "enable_bitmapscan": "off",
		"jit": "off", "plan_cache_mode": "force_generic_plan",
	})
	if err != nil {
		return pools{}, err
	}
	if p.read, err = postgresPool(ctx, dsn, map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}); err != nil {
		p.write.Close()
		return pools{}, err
	}
	return p, nil
}

// postgresPool is a pool of pgx behind database/sql, which keeps no idle connections itself.
func postgresPool(ctx context.Context, dsn string, settings map[string]string) (*sql.DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read: want postgres://user:password@host:port/database")
	}
	config.MaxConns = max(config.MaxConns, 8)
	config.MaxConnIdleTime = 5 * time.Minute
	config.PingTimeout = cmp.Or(config.PingTimeout, 5*time.Second) // a connection that nobody knows any more must not hold up those behind it
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "posthouse"
	}
	for name, value := range settings {
		config.ConnConfig.RuntimeParams[name] = value
	}
	// Locks of a connection that nobody knows any more must not be held for hours. In milliseconds.
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(writeTimeout.Milliseconds())
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed" // what the guarded writes are written for
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(closingPool{stdlib.GetPoolConnector(pool), pool})
	db.SetMaxIdleConns(0)
	return db, nil
}

// closingPool closes the pool with the sql.DB on top of it.
type closingPool struct {
	driver.Connector
	pool *pgxpool.Pool
}

// Close is called by sql.DB.Close.
func (c closingPool) Close() error {
	c.pool.Close()
	return nil
}

func postgresFault(err error) Fault {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case e.Code == "40001", e.Code == "40P01", e.Code == "55P03":
			return faultBusy
		case e.Code == "53100":
			return faultFull
		case e.Code == "23505":
			return faultTaken
		case e.Code == "42P01":
			return FaultNoTable
		case e.Code == "42501":
			return FaultDenied
		case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57"), e.Code == "53200", e.Code == "53300", e.Code == "25006":
			return faultConnection
		}
		return FaultOther
	}
	return networkFault(err)
}

// answeredByPostgres reports whether the server said an error: then a failed COMMIT is surely undone.
func answeredByPostgres(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) || errors.Is(err, pgx.ErrTxCommitRollback)
}

// dividedByZero recognises how the one statement of a bundle undoes itself when fewer rows than expected were as the
// guards say: an error is the only way.
func dividedByZero(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code == "22012"
}

// networkFault recognises a connection that broke, whatever the driver wrapped it in.
func networkFault(err error) Fault {
	var netErr net.Error
	var connect *pgconn.ConnectError
	if errors.As(err, &netErr) || errors.As(err, &connect) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) ||
		strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "bad connection") || strings.Contains(err.Error(), "invalid connection") {
		return faultConnection
	}
	return FaultOther
}

func checkPostgres(ctx context.Context, db *sql.DB) ([]Finding, error) {
	var found []Finding
	var version int
	if err := db.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return nil, err
	}
	if version < 130000 {
		return nil, fmt.Errorf("PostgreSQL %d is too old: want 13 or newer", version/10000)
	}
	for _, s := range []struct{ name, want, why string }{
		{"fsync", "on", "a crash of the machine can corrupt the whole database"},
		{"synchronous_commit", "on", "accepted messages can be lost in a crash"},
		{"full_page_writes", "on", "a power cut can tear pages"},
	} {
		var got string
		if err := db.QueryRowContext(ctx, "SELECT current_setting($1)", s.name).Scan(&got); err != nil {
			return nil, err
		}
		stronger := s.name == "synchronous_commit" && (got == "remote_apply" || got == "remote_write" || got == "local")
		if got != s.want && !stronger {
			found = append(found, Finding{s.name, got, s.why + ": want " + s.want})
		}
	}
	var replica bool
	if err := db.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&replica); err != nil {
		return nil, err
	}
	if replica {
		return nil, errors.New("this server is a read-only replica: want the primary")
	}
	return found, nil
}
