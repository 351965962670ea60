package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// foreignDB is another program's database, opened to be read.
type foreignDB struct {
	db      *sql.DB
	dialect *dialect
	zone    *time.Location
	tables  map[string]bool
}

// openForeign opens such a database: on PostgreSQL, SQLite, MySQL or MariaDB. Its columns have times without a zone: they are
// read as times of zone. It refuses one without the table that it is known by.
func openForeign(ctx context.Context, dsn string, zone *time.Location, table string) (*foreignDB, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	scheme, _, _ = strings.Cut(scheme, "+") // postgresql+asyncpg: how SQLAlchemy names a driver
	d, dsn, err := dialectOf(scheme+":"+rest, knownDatabases)
	if err != nil {
		return nil, err
	}
	db, err := d.former.open(dsn, zone)
	if err != nil {
		return nil, fmt.Errorf("open the database to import from: %w", err)
	}
	f := &foreignDB{db: db, dialect: d, zone: zone}
	if f.tables, err = f.find(ctx); err == nil && !f.tables[table] {
		err = errors.New("the database to import from has no table " + table + ": it is none of the document")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return f, nil
}

func openFormerPostgres(dsn string, zone *time.Location) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN can not be read: want postgresql://user:password@host:port/database")
	}
	config.RuntimeParams["timezone"] = zone.String()
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return stdlib.OpenDB(*config), nil
}

func openFormerMySQL(dsn string, zone *time.Location) (*sql.DB, error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.ReadTimeout = 0 // it may scan for long
	config.Params["time_zone"] = "'" + time.Now().In(zone).Format("-07:00") + "'"
	return mysqlPool(config)
}

func openFormerSQLite(dsn string, _ *time.Location) (*sql.DB, error) {
	path, _ := SQLiteFile(dsn)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}

// Close ends its connections.
func (f *foreignDB) Close() error { return f.db.Close() }

// Has reports whether a table is there.
func (f *foreignDB) Has(table string) bool { return f.tables[table] }

// find looks for the tables that are there.
func (f *foreignDB) find(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	err := f.look(ctx, f.dialect.former.tables, nil, func(scan scanner) error {
		name, err := word(scan)
		found[name] = true
		return err
	})
	return found, err
}

// Count says how many rows a table has.
func (f *foreignDB) Count(ctx context.Context, table string) (n int, err error) {
	err = f.look(ctx, "SELECT COUNT(*) FROM "+table, nil, func(scan scanner) error { return scan(&n) })
	return n, err
}

// rows reads a page of a table in the order of its ids.
func (f *foreignDB) rows(ctx context.Context, query string, after int64, limit int, read func(scan scanner) error) error {
	return f.look(ctx, query+" WHERE id > ? ORDER BY id LIMIT ?", []any{after, limit}, read)
}

func (f *foreignDB) look(ctx context.Context, query string, args []any, read func(scan scanner) error) error {
	rows, err := f.db.QueryContext(ctx, f.dialect.rebind(query), args...)
	if err == nil {
		err = drain(rows, read)
	}
	if err != nil {
		return fmt.Errorf("read the database to import from: %w", err)
	}
	return nil
}

// texts are columns as texts, empty for NULL.
func (f *foreignDB) texts(columns ...string) string {
	return inForm(columns, "COALESCE(CAST(%s AS "+f.dialect.former.text+"), '')")
}

// numbers are columns that hold whole numbers, 0 for NULL.
func (f *foreignDB) numbers(columns ...string) string {
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
func (f *foreignDB) flag(column string) string { return "CASE WHEN " + column + " THEN 1 ELSE 0 END" }

// at is a time as moment reads it: microseconds, or text where the database has no type for times.
func (f *foreignDB) at(column string) string { return f.dialect.former.moment(column) }

// moment is a time as at has it.
type moment struct{ value any }

// in reads a time, the zero one for NULL and for what can not be read. A text without a zone is of zone.
func (m moment) in(zone *time.Location) time.Time {
	var text string
	switch v := m.value.(type) {
	case int64:
		return timeOf(v)
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
