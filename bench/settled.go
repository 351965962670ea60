package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// settledAtMost is 60 % of what a sent delivery took in the layout of 2026-11-22 beside its message's own 256 bytes, which it has always.
var settledAtMost = map[string]float64{"sqlite": 256 + 415, "postgres": 256 + 761, "mariadb": 256 + 716}

// settledSize is what a sent delivery takes on the disk, with its message, its history and all their indexes: what a database has
// grown by when deliveries have passed, without the room that rows which are gone have left.
func (h *house) settledSize(ctx context.Context) (out []finding, err error) {
	const passing = 50 * queued
	for _, backend := range h.ownDatabases() {
		l, err := h.openLine(ctx, backend)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
		size, err := l.grown(ctx, passing)
		if err = errors.Join(err, l.close()); err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
		most := settledAtMost[backend]
		out = append(out, finding{
			What: "a sent delivery on the disk", Database: backend, Value: float64(size) / passing, Text: fmt.Sprintf("%d bytes", size/passing),
			Bound: fmt.Sprintf("at most %.0f bytes", most), Note: fmt.Sprintf("with its message of 256 bytes; %s of them", thousands(passing)),
		}.atMost(most))
	}
	return out, nil
}

// grown is by how much a database grows when n deliveries pass.
func (l *line) grown(ctx context.Context, n int) (bytes int64, err error) {
	before, err := l.size(ctx)
	if err != nil {
		return 0, err
	}
	if err := l.pass(ctx, n); err != nil {
		return 0, err
	}
	after, err := l.size(ctx)
	return after - before, err
}

// size is how large a database is when it has been packed.
func (l *line) size(ctx context.Context) (bytes int64, err error) {
	pack, ask := "VACUUM FULL", "SELECT pg_database_size(current_database())"
	switch {
	case isSQLite(l.raw):
		pack, ask = "VACUUM", "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	case strings.Contains(fmt.Sprintf("%T", l.raw.Driver()), "mysql"):
		tables, err := tablesOf(ctx, l.raw)
		if err != nil {
			return 0, err
		}
		pack, ask = "OPTIMIZE TABLE "+tables, "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	for _, do := range []string{"DELETE FROM posthouse_feed", "DELETE FROM posthouse_feed_inbox", pack} { // the feed lives for a while alone, and for those who follow it
		if _, err := l.raw.ExecContext(ctx, do); err != nil {
			return 0, fmt.Errorf("%s: %w", do, err)
		}
	}
	return bytes, l.raw.QueryRowContext(ctx, ask).Scan(&bytes)
}

// tablesOf lists the tables of a MariaDB.
func tablesOf(ctx context.Context, db *sql.DB) (list string, err error) {
	err = db.QueryRowContext(ctx, "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'").Scan(&list)
	return list, err
}
