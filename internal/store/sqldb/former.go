package sqldb

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Former is how an import reads another program's database.
type Former struct {
	Open   func(dsn string, zone *time.Location) (*sql.DB, error) // so that its own casts of times go by a zone
	Tables string                                                 // lists tables that are no views: a database of ours has views of the same names
	Text   string                                                 // the type that a column is cast to
	Moment func(column string) string                             // a time as type moment reads it
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

func openFormerSQLite(dsn string, _ *time.Location) (*sql.DB, error) {
	path, _ := SQLiteFile(dsn)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}
