package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A replica is a server that follows the primary by replication: a hot standby of PostgreSQL, or a replica of MariaDB or MySQL. It
// is only read, and by what only shows something: it is always some way behind. What it does not answer, the primary does.

// NoReplica says that a server is none, or cannot be one.
type NoReplica struct {
	Why string
	// Final says that waiting changes nothing: what it may lack is not yet replicated.
	Final bool
}

// Error is for people.
func (e *NoReplica) Error() string { return e.Why }

// takesWrites is said of a server that follows no other one.
const takesWrites = "this server takes writes, so it is no replica: want a hot standby of PostgreSQL, or a replica of MariaDB with read_only=ON"

// openReplica opens one. Nothing is connected to yet: a replica that is away keeps no server from its start.
func openReplica(ctx context.Context, o Options) (*DB, error) {
	d, dsn, err := DialectOf(o.DSN, []*Dialect{o.ReplicaOf.Dialect})
	if other, _, known := DialectOf(o.DSN, Known); err != nil && known == nil {
		return nil, &NoReplica{Why: fmt.Sprintf("the replica is %s and the database %s: want a replica of that very database", other.Title, o.ReplicaOf.Dialect.Title), Final: true}
	}
	if err != nil {
		return nil, err
	}
	if d.openReplica == nil {
		return nil, &NoReplica{Why: d.Title + " has no replicas: leave read_dsn out, or move to PostgreSQL or MariaDB", Final: true}
	}
	read, err := d.openReplica(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("open the replica: %w", err)
	}
	return &DB{Dialect: d, dsn: dsn, Writer: sql.OpenDB(readOnly{}), Reader: read, Log: o.Log, replicaOf: o.ReplicaOf}, nil
}

// readOnly are the connections for writes of what is only read: none.
type readOnly struct{}

// errReadOnly is a fault of ours: what writes was given a replica.
var errReadOnly = errors.New("a replica of the database is only read")

// Connect refuses.
func (readOnly) Connect(context.Context) (driver.Conn, error) { return nil, errReadOnly }

// Driver is needed by database/sql alone.
func (r readOnly) Driver() driver.Driver { return r }

// Open refuses.
func (readOnly) Open(string) (driver.Conn, error) { return nil, errReadOnly }

// Follows is a *NoReplica where a server that was opened as a replica follows no other one, and another error where it does not answer.
func (s *DB) Follows(ctx context.Context) error {
	var follows bool
	if err := s.Reader.QueryRowContext(ctx, s.Dialect.follows).Scan(&follows); err != nil {
		var none *NoReplica
		if errors.As(err, &none) {
			return none
		}
		return s.Coded(err, "ask the replica whom it follows")
	}
	if !follows {
		return &NoReplica{Why: takesWrites, Final: true}
	}
	return nil
}

// openPostgresReplica opens a pool whose connections are to hot standbys alone.
func openPostgresReplica(ctx context.Context, dsn string) (*sql.DB, error) {
	way, err := wayOf(dsn)
	if err != nil {
		return nil, err
	}
	if way == "" {
		way = Direct
	}
	plans := map[string]string{"default_transaction_read_only": "on"}
	for name, value := range readPlans {
		plans[name] = value
	}
	pool, err := postgresPool(ctx, dsn, way, guardReplica, plans)
	if err != nil {
		return nil, err
	}
	return overPool(pool, ""), nil
}

// guardReplica lets a pool connect to hot standbys alone: of several hosts that a DSN names, one that was promoted is passed over.
func guardReplica(config *pgxpool.Config) {
	c := &config.ConnConfig.Config
	c.ConnectTimeout = severalTimeout
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		results, err := conn.Exec(ctx, "SELECT pg_is_in_recovery()").ReadAll()
		if err == nil && string(results[0].Rows[0][0]) != "t" {
			err = &NoReplica{Why: takesWrites, Final: true}
		}
		return err
	}
}

// openMySQLReplica opens a pool of look-ups.
func openMySQLReplica(_ context.Context, dsn string) (*sql.DB, error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	return mysqlPool(config)
}

// replicaTimeout bounds one look-up on a replica, which the primary can answer in its place: one that hangs would hold up a page.
const replicaTimeout = 10 * time.Second

// elsewhere is the failure of a look-up on a replica in the midst of its rows: the primary answers it anew.
type elsewhere struct {
	error
	primary Lookup
}

// Unwrap is the failure.
func (e *elsewhere) Unwrap() error { return e.error }

// lookAside is Look on a replica. What it refuses is looked up on the primary: it was away, it cancelled the query so that it can go on
// following (40001), or a table that is new is not there yet. From then on the primary answers all, until Rejoin: what reads several
// things one after the other goes on in time and never back. A query that has given rows already is not repeated here: those would come twice.
func (s *DB) lookAside(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	if s.fellBack.Load() != 0 {
		s.fellBack.Store(time.Now().UnixMicro())
		return s.replicaOf.Look(ctx, query, args, each)
	}
	within, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	given := false
	var ended error // by the reader of the rows
	err := s.look(within, s.Text(query), args, func(scan func(...any) error) error {
		given = true
		ended = each(scan)
		return ended
	})
	if err == nil || ended != nil || ctx.Err() != nil {
		return err
	}
	s.doubt(err)
	if fault := s.Dialect.Fault(err); fault == FaultOther && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.Log.Debug("a look-up on the replica failed: the primary answers it", "error", err)
	s.fellBack.Store(time.Now().UnixMicro())
	if given {
		return &elsewhere{err, s.replicaOf.Reads(ctx)}
	}
	return s.replicaOf.Look(ctx, query, args, each)
}

// FellBack is when the primary last answered in the place of a replica, by this process's clock, zero where the replica answers.
func (s *DB) FellBack() time.Time {
	if us := s.fellBack.Load(); us != 0 {
		return time.UnixMicro(us)
	}
	return time.Time{}
}

// Rejoin has a replica answer again, where the primary has not answered in its place since a time of FellBack.
func (s *DB) Rejoin(since time.Time) { s.fellBack.CompareAndSwap(since.UnixMicro(), 0) }

// Own is the look-up on this very server: on a replica, what that one has itself, or an error.
func (s *DB) Own(ctx context.Context) Lookup {
	return func(query string, args []any, each func(scan Scanner) error) error {
		return s.look(ctx, s.Text(query), args, each)
	}
}

// Position is how far the primary has written, for Await. Empty where it does not tell.
func (s *DB) Position(ctx context.Context) (string, error) {
	var at sql.NullString
	err := s.Reader.QueryRowContext(ctx, s.Dialect.position).Scan(&at)
	return at.String, s.Coded(err, "ask how far the database has written")
}

// Reached reports whether a replica has all that the primary had written at a position.
func (s *DB) Reached(ctx context.Context, position string) (bool, error) {
	if position == "" {
		return false, nil
	}
	var reached bool
	err := s.Reader.QueryRowContext(ctx, s.Text(s.Dialect.reached), position).Scan(&reached)
	return reached, s.Coded(err, "ask how far the replica has followed")
}
