package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Alone runs fn while nobody else changes the schema. A change of a large table takes as long as it takes.
func (s *DB) Alone(ctx context.Context, fn func(db *sql.DB) error) (err error) {
	if s.committer != nil {
		return s.committer.alone(func() error { return fn(s.Writer) })
	}
	db, open := s.Writer, s.Dialect.patient
	if s.Dialect.migrator != nil {
		open = s.Dialect.migrator
	}
	if open != nil {
		if db, err = open(s.dsn); err != nil {
			return err
		}
		defer db.Close()
	}
	return s.locked(ctx, db, func() error { return fn(db) })
}

// Alter runs fn on one connection that changes tables beside others who work. Where the database can undo such changes they are
// one transaction.
func (s *DB) Alter(ctx context.Context, fn func(*Tx) error) error {
	if s.Dialect.patient == nil {
		return s.once(ctx, fn)
	}
	db, err := s.Dialect.patient(s.dsn)
	if err != nil {
		return err
	}
	defer db.Close() // and with it all locks
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return fn(&Tx{ctx: ctx, DB: s, conn: conn})
}

// locked runs fn while no other process migrates. The lock is ours and not the library's, which
// looks at its table before it takes one. The server gives it back when its holder dies.
func (s *DB) locked(ctx context.Context, db *sql.DB, fn func() error) (err error) {
	if s.Dialect.trySchema != "" {
		return s.lockedWithin(ctx, db, fn)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var got bool
	if err := conn.QueryRowContext(ctx, s.Dialect.lockSchema).Scan(&got); err != nil {
		return fmt.Errorf("wait for another process that migrates: %w", err)
	}
	if !got {
		return errors.New("another process has been migrating for too long")
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), s.Dialect.unlockSchema)
		err = errors.Join(err, unlock)
	}()
	return fn()
}

// schemaPoll is how often a process looks whether another one has migrated.
const schemaPoll = 50 * time.Millisecond

// lockedWithin is locked where the lock belongs to a transaction, which a pooler keeps together as it does no session. Whoever waits
// asks again and again: CREATE INDEX CONCURRENTLY would wait for a statement that waits for it.
func (s *DB) lockedWithin(ctx context.Context, db *sql.DB, fn func() error) error {
	tick := time.NewTicker(schemaPoll)
	defer tick.Stop()
	for {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil) // the lock is held until fn has ended
		if err != nil {
			return err
		}
		var got bool
		if err = tx.QueryRowContext(ctx, s.Dialect.trySchema).Scan(&got); err == nil && got {
			err = s.hold(ctx, tx)
			if err == nil {
				err = fn()
			}
			return errors.Join(err, tx.Rollback())
		}
		if err = errors.Join(err, tx.Rollback()); err != nil {
			return fmt.Errorf("wait for another process that migrates: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another process that migrates: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// hold lets a transaction stand idle for as long as fn takes. As a simple query it also ends what the one before it has left open,
// whose snapshot CREATE INDEX CONCURRENTLY would wait for.
func (s *DB) hold(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0")
	return err
}
