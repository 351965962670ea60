package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
)

// conn is what a transaction runs its statements on.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is one write transaction. now is fixed for all of it.
type Tx struct {
	ctx   context.Context
	DB    *DB
	conn  conn
	clock int64
	alone bool // each statement commits by itself; see changeAtOnce
}

// writeTimeout bounds one transaction, locks included.
const writeTimeout = 30 * time.Second

// BusyTries is how often a transaction that met a deadlock is repeated.
const BusyTries = 8

// Change runs fn in one write transaction and repeats it when the database had to undo it
// for another's sake. So fn may run more than once: it must set its results, not add to them.
//
// A nil error means committed and, in the default settings, on disk. An error of code
// outcome_unknown means that the commit's answer was lost: the caller must look before it
// repeats.
func (s *DB) Change(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	return s.changeOrdered(ctx, now, false, doing, fn)
}

// ChangeFirst is change for what a caller waits for: on SQLite it goes before what the engine writes.
func (s *DB) ChangeFirst(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	return s.changeOrdered(ctx, now, true, doing, fn)
}

func (s *DB) changeOrdered(ctx context.Context, now time.Time, first bool, doing string, fn func(*Tx) error) error {
	if s.committer != nil {
		return s.Coded(s.committer.submit(ctx, now, first, fn), doing)
	}
	return s.insist(ctx, doing, func(ctx context.Context) error { return s.once(ctx, fn) })
}

// insist runs a write of a shared database and repeats it when the database had to undo it.
// It goes on when the caller leaves: half a write would help nobody.
func (s *DB) insist(ctx context.Context, doing string, write func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for try := 1; ; try++ {
		err := write(ctx)
		s.doubt(err)
		if err == nil || try == BusyTries || s.Dialect.Fault(err) != faultBusy || posthouse.CodeOf(err) != posthouse.CodeInternal {
			return s.Coded(err, doing)
		}
		s.Log.Debug("the database undid a transaction for the sake of another; it is repeated", "doing", doing, "try", try, "error", err)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(try) * int64(5*time.Millisecond))))
		<-pause.C
	}
}

// once runs fn in a transaction on the database's own clock.
func (s *DB) once(ctx context.Context, fn func(*Tx) error) error {
	sqlTx, err := s.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer sqlTx.Rollback() // without effect after a commit
	t := &Tx{ctx: ctx, DB: s, conn: sqlTx}
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
func (s *DB) commitError(err error) error {
	if s.Dialect.Fault(err) != faultConnection && s.Dialect.answered(err) {
		return err
	}
	return &posthouse.Error{
		Code:    posthouse.CodeOutcomeUnknown,
		Message: "the database's answer to the commit was lost: it may or may not be stored; repeat with the same Idempotency-Key",
		Cause:   err,
	}
}

// Now is the time of the transaction in microseconds: the database's clock where many
// processes share it, read once and only when it is asked for. A lone statement goes by a
// reading of just before: another would take as long as the statement itself.
func (t *Tx) Now() (int64, error) {
	if t.clock != 0 {
		return t.clock, nil
	}
	if t.alone {
		if t.clock = t.DB.lately.now(time.Now()); t.clock != 0 {
			return t.clock, nil
		}
	}
	asked := time.Now()
	rows, err := t.conn.QueryContext(t.ctx, t.DB.Dialect.clock)
	if err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&t.clock); err != nil {
			return 0, err
		}
	}
	t.DB.lately.read(t.clock, asked, time.Now())
	return t.clock, rows.Err()
}

// Exec runs one statement and returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	if t.alone && t.DB.pins != "" {
		var n int64
		err := t.DB.atOnce(t.ctx, t.DB.Text(query), args, func(rows pgx.Rows) error {
			rows.Close()
			n = rows.CommandTag().RowsAffected()
			return rows.Err()
		})
		return n, t.answer(err)
	}
	res, err := t.conn.ExecContext(t.ctx, t.DB.Text(query), args...)
	if err != nil {
		return 0, t.answer(err)
	}
	return res.RowsAffected()
}

// answer is the error of a statement. Where it is alone, its answer is that to the commit, and may be lost.
func (t *Tx) answer(err error) error {
	if err != nil && t.alone && !t.DB.Dialect.answered(err) && !t.DB.Dialect.unsent(err) {
		return t.DB.commitError(err)
	}
	return err
}

// Query calls each for every row.
func (t *Tx) Query(query string, args []any, each func(scan func(...any) error) error) error {
	if t.alone && t.DB.pins != "" {
		return t.DB.atOnce(t.ctx, t.DB.Text(query), args, func(rows pgx.Rows) error {
			for rows.Next() {
				if err := each(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	rows, err := t.conn.QueryContext(t.ctx, t.DB.Text(query), args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}

// lookTimeout bounds one look-up: a connection that nobody knows any more would never answer it.
const lookTimeout = 30 * time.Second

// Look is query on the read pool, outside of any transaction.
func (s *DB) Look(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
	if s.replicaOf != nil {
		return s.lookAside(ctx, query, args, each)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := s.look(ctx, s.Text(query), args, each)
	s.doubt(err)
	return err
}

func (s *DB) look(ctx context.Context, text string, args []any, each func(scan func(...any) error) error) error {
	if !s.Dialect.OneWriter {
		return Each(ctx, s.Reader, text, args, each)
	}
	prepared, err := s.prepared.take(ctx, s.Reader, text)
	if err != nil {
		return err
	}
	defer s.prepared.giveBack(prepared)
	rows, err := prepared.stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}

// Queryer is a database, a connection or a transaction of one.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls each for every row of a query.
func Each(ctx context.Context, of Queryer, query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := of.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return Drain(rows, each)
}

// Drain calls each for every row, and closes them.
func Drain(rows *sql.Rows, each func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Text is a query with the dialect's placeholders, made once.
func (s *DB) Text(query string) string {
	if !s.Dialect.dollar && !s.Dialect.OneWriter {
		return query
	}
	if text, ok := s.Texts.Load(query); ok {
		return text.(string)
	}
	text := s.Dialect.Rebind(query)
	s.Texts.Store(query, text)
	return text
}

// startsRow is the row of posthouse_meta that accepts which start something share on MariaDB.
const startsRow = "SELECT name FROM posthouse_meta WHERE name = 'starts'"

// HoldStarts keeps AwaitStarts from passing until this transaction ends. Who calls it looks at the epoch afterwards. On PostgreSQL
// the lock of a statement that writes flights does the same: it is taken before the statement's snapshot.
func (t *Tx) HoldStarts() error {
	if t.DB.Dialect.StartsLock != "" || t.DB.Dialect.OneWriter {
		return nil
	}
	_, found, err := First(t.Query, Word, startsRow+t.DB.Dialect.Share)
	return needed(found, err)
}

// needed says that the row of startsRow is gone: without it nobody who raises the epoch could wait for what is starting.
func needed(found bool, err error) error {
	if err == nil && !found {
		err = errors.New("posthouse_meta has no row named starts: insert it, or restore the database whole")
	}
	return err
}

// AwaitStarts waits for the transactions that may have started something by what they saw before. It is the only statement of its
// transaction. SQLite's transactions come one after the other.
func (t *Tx) AwaitStarts() error {
	switch {
	case t.DB.Dialect.OneWriter:
		return nil
	case t.DB.Dialect.StartsLock != "":
		_, err := t.Exec(t.DB.Dialect.StartsLock)
		return err
	}
	_, found, err := First(t.Query, Word, startsRow+t.DB.Dialect.Lock)
	return needed(found, err)
}

// Serialize makes rare writes that look before they write wait for each other: it locks a
// row that nothing else locks.
func (t *Tx) Serialize() error {
	_, _, err := First(t.Query, Word, "SELECT name FROM posthouse_meta WHERE name = 'epoch'"+t.DB.Dialect.Lock)
	return err
}
