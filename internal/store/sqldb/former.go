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
	config.RuntimeParams["timezone"] = zone.String() // which poolers keep for a client
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
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

// MaxRow bounds what one row of a user's query gives, in bytes: more than a member's variables may hold. Columns are as many as its
// values may be.
const (
	MaxRow     = 512 << 10
	maxColumns = 256
)

// guardFormerSQLite lets nobody attach another file, or make one: a read-only database does not keep that from happening. Nor does a
// query make a value that is larger than a row may be.
func guardFormerSQLite(c *sql.Conn) error {
	for id, most := range map[int]int{sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: MaxRow, sqlite3.SQLITE_LIMIT_COLUMN: maxColumns} {
		if _, err := sqlite.Limit(c, id, most); err != nil {
			return err
		}
	}
	return nil
}

// guardFormerPostgres reads no message that is longer than a row may be. MariaDB itself sends no row beyond its max_allowed_packet.
func guardFormerPostgres(c *sql.Conn) error {
	return c.Raw(func(conn any) error {
		native, ok := conn.(*stdlib.Conn)
		if !ok {
			return errors.New("the connection is none of pgx")
		}
		native.Conn().PgConn().Frontend().SetMaxBodyLen(MaxRow)
		return nil
	})
}

func openFormerSQLite(dsn string, _ *time.Location) (*sql.DB, error) {
	path, _ := SQLiteFile(dsn)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}
