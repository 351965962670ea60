package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// finishedRows compares claims on a database that holds millions of finished deliveries, each
// with its message and its last event, with claims on a fresh one.
func (h *house) finishedRows(ctx context.Context) (out []finding, err error) {
	rows, passing := 10_000_000, 20*queued
	if h.o.quick {
		rows, passing = 1_000_000, 5*queued
	}
	rows = cmp.Or(h.o.finished, rows)
	for _, backend := range h.ownDatabases() {
		f, err := h.finished(ctx, backend, rows, passing)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func (h *house) finished(ctx context.Context, backend string, rows, passing int) (f finding, err error) {
	fresh, err := h.openLine(ctx, backend)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, fresh.close()) }()
	full, err := h.openLine(ctx, backend)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, full.close()) }()
	start := time.Now()
	if err := full.finish(ctx, rows); err != nil {
		return f, err
	}
	took := time.Since(start).Round(time.Second)
	var p50 [2]time.Duration
	for _, i := range []int{0, 1, 1, 0} {
		l := []*line{fresh, full}[i]
		if err := l.pass(ctx, passing); err != nil {
			return f, err
		}
		p50[i] += median(l.claims) / 2
	}
	f = compared("claims beside "+thousands(rows)+" finished rows", backend, p50[0], p50[1], 1.3)
	f.Note += fmt.Sprintf("; filled in %s", took)
	return f, nil
}

// pattern is how many real deliveries are copied.
const pattern = 10_000

// finish leaves n finished deliveries in the database: some go through the store, the rest are copies of theirs by SQL.
func (l *line) finish(ctx context.Context, n int) error {
	if err := l.pass(ctx, pattern); err != nil {
		return err
	}
	var copies sync.WaitGroup
	tables := []struct{ table, key, only string }{{"posthouse_messages", "id", ""}, {"posthouse_sent", "id", ""}}
	errs := make([]error, len(tables))
	for i, t := range tables {
		copies.Go(func() {
			if err := l.copies(ctx, t.table, t.key, t.only, n/pattern); err != nil {
				errs[i] = fmt.Errorf("copy into %s: %w", t.table, err)
			}
		})
		if isSQLite(l.raw) { // one writer
			copies.Wait()
		}
	}
	copies.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.settle(ctx)
}

// copies fills a table up to n patterns.
func (l *line) copies(ctx context.Context, table, key, only string, n int) error {
	columns, err := l.columns(ctx, table)
	for i := 1; i < n && err == nil; i++ {
		err = l.copy(ctx, table, key, only, columns, i)
	}
	return err
}

func (l *line) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := l.raw.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	return names, errors.Join(err, rows.Err())
}

// copy repeats the pattern under older ids: an id begins with ten characters of time, those of today with 01.
func (l *line) copy(ctx context.Context, table, key, only string, columns []string, nth int) error {
	values := make([]string, len(columns))
	for i, c := range columns {
		values[i] = c
		if c == key {
			values[i] = fmt.Sprintf("CONCAT('%010d', substr(%s, 11))", nth, key)
		}
	}
	_, err := l.raw.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s >= '01'%s ORDER BY %s",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, key, only, key))
	return err
}

// settle does what the database would have done in the time that so many rows take to come: statistics, and no writes left to catch up on.
func (l *line) settle(ctx context.Context) error {
	statements := []string{"ANALYZE", "CHECKPOINT"}
	switch {
	case isSQLite(l.raw):
		statements = []string{"PRAGMA wal_checkpoint(TRUNCATE)"}
	case strings.Contains(fmt.Sprintf("%T", l.raw.Driver()), "mysql"):
		statements = []string{"ANALYZE TABLE posthouse_messages, posthouse_queue, posthouse_due, posthouse_sent"}
	}
	for _, s := range statements {
		if _, err := l.raw.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func isSQLite(db *sql.DB) bool {
	_, ok := db.Driver().(*sqlite.Driver)
	return ok
}
