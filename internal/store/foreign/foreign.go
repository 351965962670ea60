// Package foreign reads the databases of other programs, for an import: that of an SMS service and that of a notification
// service, each built to its document. Nothing is written to them.
package foreign

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// database is another program's database, opened to be read.
type database struct {
	db      *sql.DB
	dialect *sqldb.Dialect
	zone    *time.Location
	tables  map[string]bool
}

// open opens such a database: on PostgreSQL, SQLite, MySQL or MariaDB. Its columns have times without a zone: they are
// read as times of zone. It refuses one without the table that it is known by.
func open(ctx context.Context, dsn string, zone *time.Location, table string) (*database, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	scheme, _, _ = strings.Cut(scheme, "+") // postgresql+asyncpg: how SQLAlchemy names a driver
	d, dsn, err := sqldb.DialectOf(scheme+":"+rest, sqldb.Known)
	if err != nil {
		return nil, err
	}
	db, err := d.Former.Open(dsn, zone)
	if err != nil {
		return nil, fmt.Errorf("open the database to import from: %w", err)
	}
	f := &database{db: db, dialect: d, zone: zone}
	if f.tables, err = f.find(ctx); err == nil && !f.tables[table] {
		err = errors.New("the database to import from has no table " + table + ": it is none of the document")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

// Close ends its connections.
func (f *database) Close() error { return f.db.Close() }

// Has reports whether a table is there.
func (f *database) Has(table string) bool { return f.tables[table] }

// find looks for the tables that are there.
func (f *database) find(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	err := f.look(ctx, f.dialect.Former.Tables, nil, func(scan sqldb.Scanner) error {
		name, err := sqldb.Word(scan)
		found[name] = true
		return err
	})
	return found, err
}

// Count says how many rows a table has.
func (f *database) Count(ctx context.Context, table string) (n int, err error) {
	err = f.look(ctx, "SELECT COUNT(*) FROM "+table, nil, func(scan sqldb.Scanner) error { return scan(&n) })
	return n, err
}

// rows reads a page of a table in the order of its ids.
func (f *database) rows(ctx context.Context, query string, after int64, limit int, read func(scan sqldb.Scanner) error) error {
	return f.look(ctx, query+" WHERE id > ? ORDER BY id LIMIT ?", []any{after, limit}, read)
}

// look reads in a transaction that may only read: a pooler keeps no session that could be so.
func (f *database) look(ctx context.Context, query string, args []any, read func(scan sqldb.Scanner) error) error {
	tx, err := f.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		err = sqldb.Each(ctx, tx, f.dialect.Rebind(query), args, read)
		_ = tx.Rollback() // it has changed nothing
	}
	if err != nil {
		return fmt.Errorf("read the database to import from: %w", err)
	}
	return nil
}

// texts are columns as texts, empty for NULL.
func (f *database) texts(columns ...string) string {
	return inForm(columns, "COALESCE(CAST(%s AS "+f.dialect.Former.Text+"), '')")
}

// numbers are columns that hold whole numbers, 0 for NULL.
func (f *database) numbers(columns ...string) string {
	return inForm(columns, "COALESCE(%s, 0)")
}

// inForm writes every column into a form.
func inForm(columns []string, form string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = fmt.Sprintf(form, c)
	}
	return strings.Join(parts, ", ")
}

// flag is a column that is true or false as 1 or 0, whatever type it has.
func (f *database) flag(column string) string { return "CASE WHEN " + column + " THEN 1 ELSE 0 END" }

// at is a time as moment reads it: microseconds, or text where the database has no type for times.
func (f *database) at(column string) string { return f.dialect.Former.Moment(column) }

// moment is a time as at has it.
type moment struct{ value any }

// in reads a time, the zero one for NULL and for what cannot be read. A text without a zone is of zone.
func (m moment) in(zone *time.Location) time.Time {
	var text string
	switch v := m.value.(type) {
	case int64:
		return sqldb.TimeOf(v)
	case string:
		text = v
	case []byte:
		text = string(v)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}
