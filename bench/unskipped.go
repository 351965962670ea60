package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse/bench/trial"
)

// A claim that needs no SKIP LOCKED, as a database that has none would ask for, beside the one that has it. It is a prototype on a
// table of its own, with what the queue has of it: an index over what waits, a state, a token and an owner. ADR 0103 judges it.
const (
	waiting    = 50_000 // rows in a line when its workers begin
	claimWidth = 100
	restWidth  = 20 // of a line that is nearly empty: a producer keeps this many claims of rows in it
)

// claimWay is how a worker gets its rows: their ids, and how many it looked for.
type claimWay func(ctx context.Context, db *sql.DB, at place) (ids []any, asked int, err error)

// place is where a worker stands among the others.
type place struct {
	worker   int
	postgres bool
	claim    string // the owner of what is claimed, another for each claim
}

// unskipped measures both ways with 1 to 16 workers, on a long line and on one that is nearly empty.
func (h *house) unskipped(ctx context.Context) (out []finding, err error) {
	for _, backend := range h.ownDatabases() {
		if backend == "sqlite" {
			continue // has one writer
		}
		for _, long := range []bool{true, false} {
			for _, workers := range []int{1, 4, 16} {
				for _, way := range []struct {
					name string
					take claimWay
				}{{"SKIP LOCKED", takeSkipping}, {"own places", takeOwnPlace}, {"one place", takeOnePlace}} {
					f, err := h.unskippedLine(ctx, backend, long, workers, way.take)
					if err != nil {
						return out, fmt.Errorf("%s, %s, %d workers: %w", backend, way.name, workers, err)
					}
					length := "long"
					if !long {
						length = "short"
					}
					f.What = fmt.Sprintf("claims by %s, %s line, %d workers", way.name, length, workers)
					out = append(out, f)
				}
			}
		}
	}
	return out, nil
}

// unskippedLine lets workers empty a line.
func (h *house) unskippedLine(ctx context.Context, backend string, long bool, workers int, take claimWay) (f finding, err error) {
	dsn, pid, drop, err := h.database(ctx, backend)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	db, err := openRaw(dsn)
	if err != nil {
		return f, err
	}
	defer db.Close()
	db.SetMaxOpenConns(workers + 1)
	db.SetMaxIdleConns(workers + 1)
	for _, q := range []string{
		"CREATE TABLE line (id varchar(26) NOT NULL PRIMARY KEY, due_at bigint NOT NULL, state smallint NOT NULL, token bigint NOT NULL, owner varchar(40) NOT NULL)",
		"CREATE INDEX line_due ON line (state, due_at, id)",
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return f, err
		}
	}
	rows := waiting
	if h.o.quick {
		rows /= 5
	}
	var in, done, asked, lost, deadlocks atomic.Int64
	feed := func(ctx context.Context, n int) error {
		values := make([]string, n)
		for i := range values {
			k := in.Add(1)
			values[i] = fmt.Sprintf("('%026d', %d, 0, 0, '')", k, k)
		}
		_, err := db.ExecContext(ctx, "INSERT INTO line (id, due_at, state, token, owner) VALUES "+strings.Join(values, ", "))
		return err
	}
	if long {
		for in.Load() < int64(rows) {
			if err := feed(ctx, 1000); err != nil {
				return f, err
			}
		}
		if backend == "postgres" {
			if _, err := db.ExecContext(ctx, "ANALYZE line"); err != nil {
				return f, err
			}
		}
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start, used := time.Now(), trial.TreeCPU(pid)
	var all sync.WaitGroup
	if !long {
		all.Go(func() {
			for in.Load() < int64(rows) && ctx.Err() == nil {
				if in.Load()-done.Load() < restWidth*claimWidth {
					if err := feed(ctx, claimWidth); err != nil {
						stop(err)
					}
				}
			}
		})
	}
	for w := range workers {
		all.Go(func() {
			for n := 0; done.Load() < int64(rows) && ctx.Err() == nil; n++ {
				ids, wanted, err := take(ctx, db, place{worker: w, postgres: backend == "postgres", claim: fmt.Sprintf("%d.%d", w, n)})
				if deadlocked(err) { // two that overlap may lock what they share in two orders; one of them begins again
					deadlocks.Add(1)
					ids, wanted, err = nil, claimWidth, nil
				}
				if err == nil && len(ids) > 0 {
					_, err = db.ExecContext(ctx, "DELETE FROM line WHERE id IN ("+marks(len(ids), backend == "postgres", 0)+")", ids...)
				}
				if err != nil {
					stop(err)
					return
				}
				asked.Add(int64(wanted))
				lost.Add(int64(wanted - len(ids)))
				done.Add(int64(len(ids)))
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return f, err
	}
	took, cpu := time.Since(start), trial.TreeCPU(pid)-used
	n := float64(done.Load())
	return finding{
		Database: backend, Value: n / took.Seconds(), Text: fmt.Sprintf("%.0f/s", n/took.Seconds()),
		Note: fmt.Sprintf("%.1f µs of the server a row, %.1f %% of what was looked for went to others, %d deadlocks",
			cpu.Seconds()*1e6/n, 100*float64(lost.Load())/max(1, float64(asked.Load())), deadlocks.Load()),
	}, nil
}

// deadlocked reports whether a server ended a transaction since two waited for each other.
func deadlocked(err error) bool {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	return errors.As(err, &pg) && pg.Code == "40P01" || errors.As(err, &my) && my.Number == 1213
}

// marks are n placeholders, after some others.
func marks(n int, postgres bool, after int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "?"
		if postgres {
			list[i] = fmt.Sprintf("$%d", after+i+1)
		}
	}
	return strings.Join(list, ", ")
}

// idsOf reads the ids that a query finds.
func idsOf(rows *sql.Rows, err error) (ids []any, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// takeSkipping locks what nobody else has locked, and marks it: one transaction.
func takeSkipping(ctx context.Context, db *sql.DB, at place) (ids []any, asked int, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	ids, err = idsOf(tx.QueryContext(ctx, fmt.Sprintf("SELECT id FROM line WHERE state = 0 ORDER BY due_at, id LIMIT %d FOR UPDATE SKIP LOCKED", claimWidth)))
	if err != nil || len(ids) == 0 {
		return nil, 0, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE line SET state = 1, token = token + 1, owner = '%s' WHERE id IN (", at.claim)+marks(len(ids), at.postgres, 0)+")", ids...); err != nil {
		return nil, 0, err
	}
	return ids, len(ids), tx.Commit()
}

// takeOwnPlace reads without a lock from the worker's own place in the line, and from its beginning where nobody waits there; a guarded
// write takes what is still there, and where that was not all, the owner says which.
func takeOwnPlace(ctx context.Context, db *sql.DB, at place) (ids []any, asked int, err error) {
	ids, asked, err = takeFrom(ctx, db, at, at.worker*claimWidth)
	if err != nil || asked > 0 || at.worker == 0 {
		return ids, asked, err
	}
	return takeFrom(ctx, db, at, 0)
}

// takeOnePlace is the same where all begin at the front.
func takeOnePlace(ctx context.Context, db *sql.DB, at place) (ids []any, asked int, err error) {
	return takeFrom(ctx, db, at, 0)
}

func takeFrom(ctx context.Context, db *sql.DB, at place, skip int) (ids []any, asked int, err error) {
	found, err := idsOf(db.QueryContext(ctx, fmt.Sprintf("SELECT id FROM line WHERE state = 0 ORDER BY due_at, id LIMIT %d OFFSET %d", claimWidth, skip)))
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	in := " WHERE id IN (" + marks(len(found), at.postgres, 0) + ")"
	result, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE line SET state = 1, token = token + 1, owner = '%s'", at.claim)+in+" AND state = 0", found...)
	if err != nil {
		return nil, 0, err
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 || int(n) == len(found) {
		return found[:n], len(found), err
	}
	ids, err = idsOf(db.QueryContext(ctx, "SELECT id FROM line"+in+fmt.Sprintf(" AND owner = '%s' AND state = 1", at.claim), found...))
	return ids, len(found), err
}
