package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// MySQL and MariaDB commit each change of a table by itself. A migration whose process is killed has done its first statements, and its
// version's row is not there: the next process begins it anew. So what is there already is taken for done, and what such a migration does to
// rows is written so that it may be done twice.

// migratorMySQL opens a patient pool whose statements may find their work done.
func migratorMySQL(dsn string) (*sql.DB, error) {
	config, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.ReadTimeout = 0
	primary, err := newMySQLPrimary(config, slog.Default())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(repeatable{primary}), nil
}

// alreadySo are the server's errors that say that a table, a column or a key is there already, or is gone already.
var alreadySo = []uint16{1050, 1051, 1060, 1061, 1091}

type repeatable struct{ driver.Connector }

// Connect is the connector's.
func (r repeatable) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := conn.(mysqlConn)
	if !ok {
		return nil, errors.Join(errors.New("the MySQL driver's connection has not the methods that a migration needs"), conn.Close())
	}
	return repeating{able}, nil
}

// mysqlConn is what database/sql asks of a connection of the driver.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type repeating struct{ mysqlConn }

// ExecContext runs a statement. Where the server says that its work is done, it is.
func (r repeating) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := r.mysqlConn.ExecContext(ctx, query, args)
	var said *mysql.MySQLError
	if errors.As(err, &said) && slices.Contains(alreadySo, said.Number) {
		return driver.RowsAffected(0), nil
	}
	return result, err
}
