package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
