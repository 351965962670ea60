package sqldb

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Former is how an import reads another program's database.
type Former struct {
	Open   func(dsn string, zone *time.Location) (*sql.DB, error) // so that its own casts of times go by a zone
	Tables string                                                 // lists tables that are no views: a database of ours has views of the same names
	Text   string                                                 // the type that a column is cast to
	Moment func(column string) string                             // a time as type moment reads it
	// Guard takes from a connection what a read-only transaction still lets a query do; nil for nothing.
	Guard func(c *sql.Conn) error
}

func openFormerPostgres(dsn string, zone *time.Location) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read: want postgresql://user:password@host:port/database")
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

// guardFormerSQLite lets nobody attach another file, or make one: a read-only database does not keep that from happening.
func guardFormerSQLite(c *sql.Conn) error {
	_, err := sqlite.Limit(c, sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	return err
}

func openFormerSQLite(dsn string, _ *time.Location) (*sql.DB, error) {
	path, _ := SQLiteFile(dsn)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}
