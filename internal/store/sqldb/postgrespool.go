package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/posthouse/posthouse"
)

// Way is how connections come to PostgreSQL, and so what may rest on one of them.
type Way string

// The ways.
const (
	// Direct connections are the server's sessions: what they set when they begin stays, and statements stay prepared.
	Direct Way = "direct"
	// BySession is a pooler that keeps a session for a client: it lets a client set things by SET alone.
	BySession Way = "session"
	// ByTransaction is a pooler that keeps a session for a transaction: each transaction sets what it needs, and nothing stays prepared.
	ByTransaction Way = "transaction"
)

// readCommitted is what the guarded writes are written for.
const readCommitted = "read committed"

// writePlans pin the plans of writes to the indexes, since a plan made while the tables were empty would scan them all later.
// Look-ups have the planner's own choice.
var writePlans = map[string]string{
	"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "enable_bitmapscan": "off", "jit": "off",
}

var readPlans = map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}

// openPostgres opens a pool for writes and one for look-ups, in the way that the DSN's parameter pool says. Without it the way is found
// out: a server that is met directly has given a connection its own number.
func openPostgres(ctx context.Context, dsn string, log *slog.Logger) (pools, error) {
	return openEither(ctx, dsn, log, false)
}

// openPostgresStandby does the same where the server may be a standby.
func openPostgresStandby(ctx context.Context, dsn string, log *slog.Logger) (pools, error) {
	return openEither(ctx, dsn, log, true)
}

func openEither(ctx context.Context, dsn string, log *slog.Logger, standby bool) (pools, error) {
	said, err := wayOf(dsn)
	if err != nil {
		return pools{}, err
	}
	p, err := openBy(ctx, dsn, cmp.Or(said, Direct), log, standby)
	if said != "" || !betweenUs(err) {
		return p, err
	}
	log.Info("a pooler stands before the database: nothing rests on a session; where it keeps a session for each client, pool=session in the DSN saves some time", "found", err)
	p, err = openBy(ctx, dsn, ByTransaction, log, standby)
	p.found = true
	return p, err
}

// wayOf reads the DSN's parameter pool.
func wayOf(dsn string) (Way, error) {
	config, err := postgresConfig(dsn)
	if err != nil {
		return "", err
	}
	switch way := Way(config.ConnConfig.RuntimeParams[poolParam]); way {
	case "", BySession, ByTransaction:
		return way, nil
	default:
		return "", fmt.Errorf("the DSN's parameter pool is %q: want session or transaction, as the pooler before the database is set; or none, and it is found out", string(way))
	}
}

// poolParam is the parameter of a DSN that names the way.
const poolParam = "pool"

func postgresConfig(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read: want postgres://user:password@host:port/database")
	}
	return config, nil
}

// openBy opens both pools, and a first connection to see whether the way is as it is said.
func openBy(ctx context.Context, dsn string, way Way, log *slog.Logger, standby bool) (p pools, err error) {
	p.way, p.primary = way, newPrimary(log)
	p.primary.standby = standby
	if way == ByTransaction {
		plans := writePlans
		if strings.Contains(dsn, ownMode+"cache_statement") {
			plans = generically(plans)
		}
		p.begin, p.pins = beginWith(plans), pinning(plans)
	}
	write, err := openWrites(ctx, dsn, way, p.primary, way != ByTransaction) // else no plan outlives its statement
	if err != nil {
		return pools{}, err
	}
	read, err := postgresPool(ctx, dsn, way, p.primary.guard, readPlans)
	if err != nil {
		write.Close()
		return pools{}, err
	}
	p.write, p.read = overPool(write, p.begin), overPool(read, "")
	p.own = int(write.Config().MaxConns+read.Config().MaxConns) + 1 // and the one that asks who is the primary
	return p, nil
}

// openWrites opens the pool for writes and sees whether the way is as it is said. Prepared statements have one plan for all values;
// a router of Citus cannot use such a one, since it sends each statement where its values belong.
func openWrites(ctx context.Context, dsn string, way Way, primary *primary, generic bool) (*pgxpool.Pool, error) {
	settings := writePlans
	if generic {
		settings = generically(settings)
	}
	pool, err := postgresPool(ctx, dsn, way, primary.guard, settings)
	if err != nil {
		return nil, err
	}
	routed := false
	if err = tryWay(ctx, pool, way); err == nil && generic {
		err = pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')").Scan(&routed)
	}
	if err == nil && !routed {
		return pool, nil
	}
	pool.Close()
	if err != nil {
		return nil, err
	}
	return openWrites(ctx, dsn, way, primary, false)
}

// generically plans a prepared statement once for all values.
func generically(plans map[string]string) map[string]string {
	plans = maps.Clone(plans)
	plans["plan_cache_mode"] = "force_generic_plan"
	return plans
}

// spare is how long a connection may be idle, and how often that is looked at: a process with nothing to do keeps those that it uses all
// the time, and what stands between may cut the others after a minute.
const spare = 20 * time.Second

// ownMode is pgx's parameter of a DSN for how statements are run. A pooler that keeps prepared statements in transaction mode, such as
// pgbouncer from 1.21 on, bears cache_statement.
const ownMode = "default_query_exec_mode="

const (
	// ownMost is pgx's parameter of a DSN for how many connections a pool has at most.
	ownMost = "pool_max_conns="
	// usualConns is how many that are where the DSN does not say, on few processors.
	usualConns = 8
	// leastConns leaves some for the others where one listens and another waits for a lock.
	leastConns = 4
)

// postgresPool is a pool of pgx whose connections are of a way. guard says to which servers they may be.
func postgresPool(ctx context.Context, dsn string, way Way, guard func(*pgxpool.Config), settings map[string]string) (*pgxpool.Pool, error) {
	config, err := postgresConfig(dsn)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(dsn, ownMost) {
		config.MaxConns = max(config.MaxConns, usualConns)
	} else if config.MaxConns < leastConns {
		return nil, fmt.Errorf("the DSN's parameter pool_max_conns is %d: want at least %d", config.MaxConns, leastConns)
	}
	config.MaxConnIdleTime, config.HealthCheckPeriod = spare, spare
	config.PingTimeout = cmp.Or(config.PingTimeout, 5*time.Second) // a connection that nobody knows any more must not hold up those behind it
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	own := config.ConnConfig.RuntimeParams
	delete(own, poolParam)
	if own["application_name"] == "" {
		own["application_name"] = "posthouse"
	}
	own["timezone"] = "UTC"
	settings = maps.Clone(settings)
	// Locks of a connection that nobody knows any more must not be held for hours. In milliseconds.
	settings["idle_in_transaction_session_timeout"] = fmt.Sprint(writeTimeout.Milliseconds())
	settings["default_transaction_isolation"] = readCommitted
	switch way {
	case Direct:
		maps.Copy(own, settings)
		config.AfterConnect = refusePooler
	case BySession:
		err = ofSession(own, settings)
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.PgConn().Exec(ctx, setting("SET", settings)).ReadAll()
			return err
		}
	case ByTransaction:
		err = ofNoSession(own)
		if !strings.Contains(dsn, ownMode) {
			config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	}
	if err != nil {
		return nil, err
	}
	guard(config)
	return pgxpool.NewWithConfig(ctx, config)
}

// tracked are the settings that poolers keep for a client themselves. All others that a connection begins with are refused, or
// silently left out.
var tracked = []string{"application_name", "client_encoding", "datestyle", "standard_conforming_strings", "timezone"}

// besides are the parameters of a DSN that poolers do not keep.
func besides(own map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains(tracked, strings.ToLower(name)) {
			names = append(names, name)
		}
	}
	return names
}

// ofSession moves what a DSN sets besides to the settings of the session.
func ofSession(own, settings map[string]string) error {
	for _, name := range besides(own) {
		if name == "options" {
			return errors.New("the DSN's parameter options does not pass a pooler: give each setting by its name, as in search_path=mail")
		}
		settings[name] = own[name]
		delete(own, name)
	}
	return nil
}

// ofNoSession refuses what a DSN sets besides.
func ofNoSession(own map[string]string) error {
	if names := besides(own); len(names) > 0 {
		return fmt.Errorf("the DSN sets %s for a session, and the pooler before the database keeps none: use ALTER ROLE … IN DATABASE … SET instead, as in SET search_path = mail", strings.Join(names, ", "))
	}
	return nil
}

// setting is a text that sets everything, by SET or SET LOCAL.
func setting(set string, settings map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		b.WriteString(set + " " + pgx.Identifier{name}.Sanitize() + " = '" + strings.ReplaceAll(settings[name], "'", "''") + "'; ")
	}
	return b.String()
}

// beginWith begins a transaction in which everything is set.
func beginWith(settings map[string]string) string {
	settings = maps.Clone(settings)
	settings["idle_in_transaction_session_timeout"] = fmt.Sprint(writeTimeout.Milliseconds())
	return "BEGIN ISOLATION LEVEL READ COMMITTED; " + setting("SET LOCAL", settings)
}

// pinning is a statement that sets everything for what follows it before the next Sync.
func pinning(settings map[string]string) string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		calls = append(calls, "set_config('"+name+"', '"+settings[name]+"', true)")
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// errPooler says that a connection is not the session that the server has for it.
var errPooler = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "a pooler has come between this process and the database: restart, and it is found out"}

// refusePooler looks whether a connection is the server's session. A pooler numbers its clients by itself.
func refusePooler(ctx context.Context, conn *pgx.Conn) error {
	number, err := sessionOf(ctx, conn)
	if err == nil && number != fmt.Sprint(conn.PgConn().PID()) {
		return errPooler
	}
	return err
}

func sessionOf(ctx context.Context, conn *pgx.Conn) (number string, err error) {
	results, err := conn.PgConn().Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err == nil && len(results) == 1 && len(results[0].Rows) == 1 {
		number = string(results[0].Rows[0][0])
	}
	return number, err
}

// betweenUs reports whether a direct connection met a pooler.
func betweenUs(err error) bool {
	var said *pgconn.PgError
	return errors.Is(err, errPooler) || errors.As(err, &said) && said.Code == "08P01" && strings.Contains(said.Message, "startup parameter")
}

// tryWay makes the first connection. Where sessions were promised it looks whether there are any: two connections that meet in one,
// or one that finds itself in another.
func tryWay(ctx context.Context, pool *pgxpool.Pool, way Way) error {
	first, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer first.Release()
	if way != BySession {
		return nil
	}
	second, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer second.Release()
	for range sessionTries {
		if err := trySessions(ctx, first.Conn(), second.Conn()); err != nil {
			return err
		}
	}
	return nil
}

// sessionTries is how often two connections look for each other: others may be served in between.
const sessionTries = 5

func trySessions(ctx context.Context, first, second *pgx.Conn) error {
	before, err := sessionOf(ctx, first)
	if err != nil {
		return err
	}
	tx, err := second.Begin(ctx) // which keeps its session from the first
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it was only read
	other, err := sessionOf(ctx, second)
	if err != nil {
		return err
	}
	after, err := sessionOf(ctx, first)
	if err == nil && (before == other || before != after) {
		err = errors.New("the DSN says pool=session, and the pooler keeps a session for a transaction alone: say pool=transaction, or leave pool out")
	}
	return err
}

// overPool is database/sql over a pool of pgx: it keeps no idle connections itself. begin is how transactions begin, empty for as usual.
func overPool(pool *pgxpool.Pool, begin string) *sql.DB {
	db := sql.OpenDB(closingPool{stdlib.GetPoolConnector(pool), pool, begin})
	db.SetMaxIdleConns(0)
	return db
}

// closingPool closes the pool with the sql.DB on top of it.
type closingPool struct {
	driver.Connector
	pool  *pgxpool.Pool
	begin string
}

// Connect takes a connection from the pool.
func (c closingPool) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if native, ok := conn.(*stdlib.Conn); ok && c.begin != "" {
		return pinnedConn{native, c.begin}, err
	}
	return conn, err
}

// Close is called by sql.DB.Close.
func (c closingPool) Close() error {
	c.pool.Close()
	return nil
}

// pinnedConn begins each transaction with what it needs.
type pinnedConn struct {
	*stdlib.Conn
	begin string
}

// BeginTx begins one; all of ours have no options.
func (c pinnedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o != (driver.TxOptions{}) {
		return c.Conn.BeginTx(ctx, o)
	}
	tx, err := c.Conn.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: c.begin})
	if err != nil {
		return nil, err
	}
	return pinnedTx{ctx, tx}, nil
}

type pinnedTx struct {
	ctx context.Context
	tx  pgx.Tx
}

// Commit commits.
func (t pinnedTx) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback undoes.
func (t pinnedTx) Rollback() error { return t.tx.Rollback(t.ctx) }

// native is pgx's connection below that of database/sql.
func native(raw any) (*pgx.Conn, error) {
	switch c := raw.(type) {
	case pinnedConn:
		return c.Conn.Conn(), nil
	case *stdlib.Conn:
		return c.Conn(), nil
	}
	return nil, errors.New("the connection is none of pgx")
}

// atOnce runs one statement that is a transaction by itself, on pgx's own connection. Behind a pooler what pins its plan travels with it.
func (s *DB) atOnce(ctx context.Context, query string, args []any, read func(rows pgx.Rows) error) error {
	conn, err := s.Writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(raw any) error {
		c, err := native(raw)
		if err != nil {
			return err
		}
		if s.pins == "" {
			rows, err := c.Query(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			return read(rows)
		}
		return pinnedQuery(ctx, c, s.pins, query, args, read)
	})
}

func pinnedQuery(ctx context.Context, c *pgx.Conn, pins, query string, args []any, read func(rows pgx.Rows) error) error {
	var both pgx.Batch
	both.Queue(pins)
	both.Queue(query, args...)
	results := c.SendBatch(ctx, &both)
	_, err := results.Exec()
	if err == nil {
		var rows pgx.Rows
		if rows, err = results.Query(); err == nil {
			err = read(rows)
			rows.Close()
			err = cmp.Or(err, rows.Err())
		}
	}
	closed := results.Close() // the commit is answered here
	return cmp.Or(err, closed)
}
