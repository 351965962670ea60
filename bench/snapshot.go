package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// heldSnapshot compares claims while somebody holds an old snapshot, a report that was
// forgotten, with claims on a fresh database. What makes a snapshot old is not the hour
// but what passes meanwhile: 100,000 deliveries.
func (h *house) heldSnapshot(ctx context.Context) (out []finding, err error) {
	passing, order := 100_000, []int{0, 1, 1, 0}
	if h.o.quick {
		passing, order = 20_000, []int{0, 1}
	}
	for _, backend := range h.ownDatabases() {
		var p50 [2]time.Duration // fresh, under a snapshot
		for _, i := range order {
			d, err := h.passing(ctx, backend, passing, i == 1)
			if err != nil {
				return out, fmt.Errorf("%s: %w", backend, err)
			}
			p50[i] += d * 2 / time.Duration(len(order))
		}
		out = append(out, compared("claims under a held snapshot, "+thousands(passing)+" jobs", backend, p50[0], p50[1], 1.5))
	}
	return out, nil
}

// passing is the median time of a claim, after n deliveries went through a new database, under a snapshot or not.
func (h *house) passing(ctx context.Context, backend string, n int, under bool) (p50 time.Duration, err error) {
	l, err := h.openLine(ctx, backend)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.pass(ctx, 10*queued); err != nil { // warms up, and is what the snapshot sees
		return 0, err
	}
	if under {
		release, err := hold(ctx, l.raw)
		if err != nil {
			return 0, err
		}
		defer release()
	}
	if err := l.pass(ctx, n); err != nil {
		return 0, err
	}
	return median(l.late()), nil
}

// hold opens a transaction and reads in it, so that it keeps what it saw.
func hold(ctx context.Context, db *sql.DB) (release func(), err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// Repeatable read is the strength at which PostgreSQL and MariaDB keep a snapshot; SQLite always does.
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: repeatable(db), ReadOnly: true})
	if err == nil {
		n := 0
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM posthouse_sent").Scan(&n)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() {
		_ = tx.Rollback() // it read only
		conn.Close()
	}, nil
}

// repeatable is the isolation to ask a driver for: that of SQLite knows only its own.
func repeatable(db *sql.DB) sql.IsolationLevel {
	if isSQLite(db) {
		return sql.LevelDefault
	}
	return sql.LevelRepeatableRead
}
