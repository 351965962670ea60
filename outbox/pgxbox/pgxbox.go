// Package pgxbox lets a program that speaks to PostgreSQL through pgx itself, without database/sql,
// hand messages in within its own transactions:
//
//	ids, err := box.Enqueue(ctx, pgxbox.In(tx), posthouse.Draft{Channel: "oa", …})
//
// It is an adapter and nothing more: package outbox says what is promised. It is a package of its own so
// that programs with other drivers do not link pgx.
package pgxbox

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is a native handle: a pgx.Tx, or a *pgx.Conn, *pgxpool.Conn or *pgxpool.Pool, which commit at once
// outside of a transaction.
type DB interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// In makes a native handle one that package outbox takes.
func In(db DB) Handle { return Handle{db} }

// Handle is an outbox.Execer and an outbox.Lister.
type Handle struct{ db DB }

// ExecContext runs a statement.
func (h Handle) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := h.db.Exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

// List calls row for each row of a query's answer.
func (h Handle) List(ctx context.Context, query string, args []any, row func(scan func(dest ...any) error) error) error {
	rows, err := h.db.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
