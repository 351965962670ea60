package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

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
	db    *DB
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
func (s *DB) change(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	return s.changeInTurn(ctx, now, false, doing, fn)
}

// changeFirst is change for what a caller waits for: on SQLite it goes before what the engine writes.
func (s *DB) changeFirst(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	return s.changeInTurn(ctx, now, true, doing, fn)
}

func (s *DB) changeInTurn(ctx context.Context, now time.Time, first bool, doing string, fn func(*Tx) error) error {
	if s.committer != nil {
		return s.toError(s.committer.submit(ctx, now, first, fn), doing)
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
		if err == nil || try == busyTries || s.dialect.fault(err) != faultBusy || posthouse.CodeOf(err) != posthouse.CodeInternal {
			return s.toError(err, doing)
		}
		s.log.Debug("the database undid a transaction for the sake of another; it is repeated", "doing", doing, "try", try, "error", err)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(try) * int64(5*time.Millisecond))))
		<-pause.C
	}
}

// once runs fn in a transaction on the database's own clock.
func (s *DB) once(ctx context.Context, fn func(*Tx) error) error {
	sqlTx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer sqlTx.Rollback() // without effect after a commit
	t := &Tx{ctx: ctx, db: s, conn: sqlTx}
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
	if s.dialect.fault(err) != faultConnection && s.dialect.answered(err) {
		return err
	}
	return &posthouse.Error{
		Code:    posthouse.CodeOutcomeUnknown,
		Message: "the database's answer to the commit was lost: it may or may not be stored; repeat with the same Idempotency-Key",
		Cause:   err,
	}
}

// now is the time of the transaction in microseconds: the database's clock where many
// processes share it, read once and only when it is asked for. A lone statement goes by a
// reading of just before: another would take as long as the statement itself.
func (t *Tx) now() (int64, error) {
	if t.clock != 0 {
		return t.clock, nil
	}
	if t.alone {
		if t.clock = t.db.lately.now(time.Now()); t.clock != 0 {
			return t.clock, nil
		}
	}
	asked := time.Now()
	rows, err := t.conn.QueryContext(t.ctx, t.db.dialect.clock)
	if err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&t.clock); err != nil {
			return 0, err
		}
	}
	t.db.lately.read(t.clock, asked, time.Now())
	return t.clock, rows.Err()
}

func (t *Tx) exec(query string, args ...any) (int64, error) {
	res, err := t.conn.ExecContext(t.ctx, t.db.text(query), args...)
	if err != nil && t.alone && !t.db.dialect.answered(err) && !t.db.dialect.unsent(err) {
		return 0, t.db.commitError(err)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query calls each for every row.
func (t *Tx) query(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := t.conn.QueryContext(t.ctx, t.db.text(query), args...)
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// lookTimeout bounds one look-up: a connection that nobody knows any more would never answer it.
const lookTimeout = 30 * time.Second

// look is query on the read pool, outside of any transaction.
func (s *DB) look(ctx context.Context, query string, args []any, each func(scan func(...any) error) error) error {
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
func (s *DB) text(query string) string {
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

// serialize makes rare writes that look before they write wait for each other: it locks a
// row that nothing else locks.
func (t *Tx) serialize() error {
	_, _, err := first(t.query, word, "SELECT name FROM posthouse_meta WHERE name = 'epoch'"+t.db.dialect.lock)
	return err
}
