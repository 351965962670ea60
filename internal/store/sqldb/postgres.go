package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
	Blind:      "?",
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

	openStandby: openPostgresStandby,
	openReplica: openPostgresReplica,
	follows:     "SELECT pg_is_in_recovery()",
	position:    "SELECT pg_current_wal_lsn()::text",
	reached:     "SELECT COALESCE(pg_last_wal_replay_lsn() >= CAST(CAST(? AS text) AS pg_lsn), false)",
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

	trySchema: "SELECT pg_try_advisory_xact_lock(7077101, hashtext(current_schema()))",
	stand: `SELECT (SELECT system_identifier FROM pg_control_system())::text || ' ' || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint ||
		CASE WHEN current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply') THEN ' sync' ELSE ' async' END`,
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

// answeredByPostgres reports whether the server said an error: then a failed COMMIT is surely undone. An error of class 08 is
// a pooler's, which has lost its own connection to the server and does not know either.
func answeredByPostgres(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && !strings.HasPrefix(said.Code, "08") || errors.Is(err, pgx.ErrTxCommitRollback)
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
	var isolation string
	if err := db.QueryRowContext(ctx, "SELECT current_setting('default_transaction_isolation')").Scan(&isolation); err != nil {
		return nil, err
	}
	if isolation != readCommitted { // behind a pooler, where no session of ours can set it
		return nil, fmt.Errorf("default_transaction_isolation is %s and a pooler stands before the database: want ALTER ROLE … SET default_transaction_isolation = 'read committed'", isolation)
	}
	var replica bool
	if err := db.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&replica); err != nil {
		return nil, err
	}
	if replica {
		return nil, errReplica
	}
	return found, nil
}
