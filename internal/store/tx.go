package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse"
)

// conn is what a transaction runs its statements on.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// tx is one write transaction. now is fixed for all of it.
type tx struct {
	ctx   context.Context
	store *Store
	conn  conn
	clock int64
	alone bool // each statement commits by itself; see changeAtOnce
}

// writeTimeout bounds one transaction, locks included.
const writeTimeout = 30 * time.Second

// busyTries is how often a transaction that met a deadlock is repeated.
const busyTries = 8

// change runs fn in one write transaction and repeats it when the database had to undo it
// for another's sake. So fn may run more than once: it must set its results, not add to them.
//
// A nil error means committed and, in the default settings, on disk. An error of code
// outcome_unknown means that the commit's answer was lost: the caller must look before it
// repeats.
func (s *Store) change(ctx context.Context, now time.Time, doing string, fn func(*tx) error) error {
	return s.changeInTurn(ctx, now, false, doing, fn)
}

// changeFirst is change for what a caller waits for: on SQLite it goes before what the engine writes.
func (s *Store) changeFirst(ctx context.Context, now time.Time, doing string, fn func(*tx) error) error {
	return s.changeInTurn(ctx, now, true, doing, fn)
}

func (s *Store) changeInTurn(ctx context.Context, now time.Time, first bool, doing string, fn func(*tx) error) error {
	if s.committer != nil {
		return s.toError(s.committer.submit(ctx, now, first, fn), doing)
	}
	return s.insist(ctx, doing, func(ctx context.Context) error { return s.once(ctx, fn) })
}

// insist runs a write of a shared database and repeats it when the database had to undo it.
// It goes on when the caller leaves: half a write would help nobody.
func (s *Store) insist(ctx context.Context, doing string, write func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for try := 1; ; try++ {
		err := write(ctx)
		s.doubt(err)
		if err == nil || try == busyTries || s.dialect.fault(err) != faultBusy || posthouse.CodeOf(err) != posthouse.CodeInternal {
			return s.toError(err, doing)
		}
		s.log.Debug("the database undid a transaction for the sake of another; it is repeated", "doing", doing, "try", try, "error", err)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(try) * int64(5*time.Millisecond))))
		<-pause.C
	}
}

// bulkStep bounds how many rows one transaction of a bulk change holds, so that nobody waits
// long for it.
const bulkStep = 500

// repeat runs fn, a transaction each time, until it finds nothing more to do or has done most
// rows. It returns how many were done and committed.
func (s *Store) repeat(ctx context.Context, now time.Time, doing string, most int, fn func(t *tx, step int) (int, error)) (int, error) {
	total := 0
	for total < most {
		n := 0
		err := s.change(ctx, now, doing, func(t *tx) (err error) {
			n, err = fn(t, min(bulkStep, most-total))
			return err
		})
		if err == nil {
			err = ctx.Err()
			total += n
		}
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, nil
}

// once runs fn in a transaction on the database's own clock.
func (s *Store) once(ctx context.Context, fn func(*tx) error) error {
	sqlTx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer sqlTx.Rollback() // without effect after a commit
	t := &tx{ctx: ctx, store: s, conn: sqlTx}
	if err := fn(t); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return s.commitError(err)
	}
	return nil
}

// commitError tells a commit that surely failed, because the server said so, from one whose
// answer was lost. It is never repeated on another connection: that connection knows nothing
// of the transaction and would report a success that is none.
func (s *Store) commitError(err error) error {
	if s.dialect.fault(err) != faultConnection && answered(err) {
		return err
	}
	return &posthouse.Error{
		Code:    posthouse.CodeOutcomeUnknown,
		Message: "the database's answer to the commit was lost: it may or may not be stored; repeat with the same Idempotency-Key",
		Cause:   err,
	}
}

// answered reports whether an error was said by the server, and not found on the way to it.
func answered(err error) bool {
	var postgres *pgconn.PgError
	var mariadb *mysql.MySQLError
	return errors.As(err, &postgres) || errors.As(err, &mariadb) || errors.Is(err, pgx.ErrTxCommitRollback)
}

// now is the time of the transaction in microseconds: the database's clock where many
// processes share it, read once and only when it is asked for. A lone statement goes by a
// reading of just before: another would take as long as the statement itself.
func (t *tx) now() (int64, error) {
	if t.clock != 0 {
		return t.clock, nil
	}
	if t.alone {
		if t.clock = t.store.lately.now(time.Now()); t.clock != 0 {
			return t.clock, nil
		}
	}
	asked := time.Now()
	rows, err := t.conn.QueryContext(t.ctx, t.store.dialect.clock)
	if err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&t.clock); err != nil {
			return 0, err
		}
	}
	t.store.lately.read(t.clock, asked, time.Now())
	return t.clock, rows.Err()
}

func (t *tx) exec(query string, args ...any) (int64, error) {
	res, err := t.conn.ExecContext(t.ctx, t.store.text(query), args...)
	if err != nil && t.alone && !answered(err) && !pgconn.SafeToRetry(err) {
		return 0, t.store.commitError(err)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row.
func (t *tx) query(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := t.conn.QueryContext(t.ctx, t.store.text(query), args...)
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// lookTimeout bounds one look-up: a connection that nobody knows any more would never answer it.
const lookTimeout = 30 * time.Second

// look is query on the read pool, outside of any transaction.
func (s *Store) look(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	rows, err := s.read.QueryContext(ctx, s.text(query), args...)
	if err == nil {
		err = drain(rows, each)
	}
	s.doubt(err)
	return err
}

func drain(rows *sql.Rows, each func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// text is a query with the dialect's placeholders, made once.
func (s *Store) text(query string) string {
	if !s.dialect.dollar {
		return query
	}
	if text, ok := s.texts.Load(query); ok {
		return text.(string)
	}
	text := s.dialect.rebind(query)
	s.texts.Store(query, text)
	return text
}
