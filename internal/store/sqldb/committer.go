package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
)

// committer is SQLite's one writer. Whoever wants to write hands it a function; it runs all
// that queued up meanwhile in one transaction, so that one fsync serves them all, and
// answers each after the commit; what callers wait for has one before the rest. When one of
// them fails, the transaction is undone and each runs again on its own.
type committer struct {
	db    *DB
	conn  *sql.Conn
	texts map[string]*sql.Stmt // prepared on conn
	work  chan *write
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once
	saved bool // what a removed log held was written into the file

	pages  int       // how many the log may hold
	roomAt time.Time // when that was last found out
}

// write is one function that waits for its commit. A single one (alone) runs outside of
// any transaction, with the connection given back.
type write struct {
	now   time.Time
	fn    func(*Tx) error
	first bool // see submit
	alone func() error
	taken atomic.Bool // by the writer, or by its caller, who left before it began
	done  chan error  // buffered: nobody waits on a caller that left
}

// maxShared bounds how many writes share one commit: their callers wait for all of it.
const maxShared = 256

var errClosed = posthouse.Errorf(posthouse.CodeUnavailable, "the store is closed")

func startCommitter(ctx context.Context, s *DB) (*committer, error) {
	c := &committer{
		db: s, texts: map[string]*sql.Stmt{},
		work: make(chan *write, maxShared), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	if _, err := c.empty(ctx); err != nil { // of a process that found no room, or was killed
		s.Log.Warn("the log beside the database's file could not be written into it", "error", err)
	}
	go c.run()
	return c, nil
}

func (c *committer) connect(ctx context.Context) (err error) {
	c.conn, err = c.db.Writer.Conn(ctx)
	return err
}

func (c *committer) disconnect() {
	for query, stmt := range c.texts {
		stmt.Close()
		delete(c.texts, query)
	}
	c.conn.Close()
}

// submit waits until fn is committed. What somebody waits for comes first: it commits before what queued
// up with it. When the caller's context ends before fn has begun, it never runs; once it has, it is waited
// for, since it writes its results where the caller reads them.
func (c *committer) submit(ctx context.Context, now time.Time, first bool, fn func(*Tx) error) error {
	return c.wait(ctx, &write{now: now, fn: fn, first: first, done: make(chan error, 1)})
}

// alone runs fn while nothing else writes, with the pool's connection free for it.
func (c *committer) alone(fn func() error) error {
	return c.wait(context.Background(), &write{alone: fn, done: make(chan error, 1)})
}

func (c *committer) wait(ctx context.Context, w *write) error {
	select {
	case c.work <- w:
	case <-c.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.done:
		return err
	case <-c.done:
		return c.outcome(w)
	case <-ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return c.outcome(w) // it runs, and writes where the caller would read
	}
}

// outcome waits for a write that the writer has begun.
func (c *committer) outcome(w *write) error {
	select {
	case err := <-w.done:
		return err
	case <-c.done:
		select {
		case err := <-w.done:
			return err
		default:
			return errClosed
		}
	}
}

// stop finishes what is queued and ends the writer.
func (c *committer) stop() {
	c.once.Do(func() { close(c.quit) })
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	defer c.disconnect()
	for {
		select {
		case w := <-c.work:
			c.serve(c.gather(w))
		case <-c.quit:
			for {
				select {
				case w := <-c.work:
					c.serve(c.gather(w))
				default:
					return
				}
			}
		}
	}
}

// gather takes what has queued up behind first, without waiting for more. Those whom the last commit
// has woken run before: what they hand in shares this one.
func (c *committer) gather(first *write) []*write {
	runtime.Gosched()
	batch := []*write{first}
	for len(batch) < maxShared {
		select {
		case w := <-c.work:
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}

func (c *committer) serve(batch []*write) {
	var first, shared []*write
	for _, w := range batch {
		if w.alone == nil {
			if !w.taken.CompareAndSwap(false, true) {
				continue
			}
			if w.first {
				first = append(first, w)
			} else {
				shared = append(shared, w)
			}
			continue
		}
		c.disconnect()
		c.db.ground.forget() // fn may close the last connection, and SQLite takes away what stands beside the file
		err := w.alone()
		if e := c.connect(context.Background()); e != nil {
			err = errors.Join(err, e)
		}
		c.db.ground.forget()
		w.done <- err
	}
	c.commit(first)
	c.commit(shared)
}

// commit runs writes in one transaction, and each on its own when that fails.
func (c *committer) commit(shared []*write) {
	if len(shared) == 0 {
		return
	}
	err := c.transact(shared)
	if c.db.Dialect.Fault(err) == faultFull { // what the log holds may have its place in the file already
		if emptied, e := c.empty(context.Background()); emptied && e == nil {
			err = c.transact(shared)
		}
	}
	if err == nil || len(shared) == 1 || posthouse.CodeOf(err) == posthouse.CodeOutcomeUnknown {
		for _, w := range shared {
			w.done <- err
		}
		return
	}
	for _, w := range shared {
		w.done <- c.transact([]*write{w})
	}
}

// transact runs all writes in one transaction.
func (c *committer) transact(batch []*write) error {
	ctx := context.Background()
	if err := c.stands(ctx); err != nil {
		return err
	}
	c.fit(ctx, time.Now())
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, w := range batch {
		t := &Tx{ctx: ctx, DB: c.db, conn: c, clock: w.now.UnixMicro()}
		if err := w.fn(t); err != nil {
			c.rollback(ctx)
			return err
		}
	}
	if _, err := c.ExecContext(ctx, "COMMIT"); err != nil {
		c.rollback(ctx) // SQLite's failed COMMIT leaves the transaction open, and nothing of it is stored
		return err
	}
	return nil
}

// rollback undoes the open transaction; SQLite may have done so by itself already.
func (c *committer) rollback(ctx context.Context) {
	_, _ = c.ExecContext(ctx, "ROLLBACK")
}

// ExecContext runs a statement that stays prepared.
func (c *committer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepare(ctx, query) //nolint:sqlclosecheck // kept, and closed with the connection
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext runs a query that stays prepared.
func (c *committer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepare(ctx, query) //nolint:sqlclosecheck // kept, and closed with the connection
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// maxPrepared bounds the prepared statements; the texts of bulk inserts vary by chunk size only.
const maxPrepared = 512

func (c *committer) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := c.texts[query]; ok {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(c.texts) >= maxPrepared {
		for old, s := range c.texts {
			s.Close()
			delete(c.texts, old)
			break
		}
	}
	c.texts[query] = stmt
	return stmt, nil
}
