package storetest

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Tables reads and replaces all that some tables hold: for who goes back to a moment, and on from there another way.
type Tables struct {
	db      *sqldb.DB
	at      time.Time
	names   []string
	Columns [][]string // of each table
}

// Rows are those of each table, as its columns stand. Texts are strings, numbers int64, and what holds bytes []byte.
type Rows [][][]any

// TablesOf are tables of a migrated database, for transactions at a time.
func TablesOf(ctx context.Context, db *sqldb.DB, at time.Time, names ...string) (*Tables, error) {
	t := &Tables{db: db, at: at, names: names}
	for _, name := range names {
		found, err := db.Reader.QueryContext(ctx, "SELECT * FROM "+name+" LIMIT 0")
		if err != nil {
			return nil, err
		}
		columns, err := found.Columns()
		found.Close()
		if err == nil {
			err = found.Err()
		}
		if err != nil {
			return nil, err
		}
		t.Columns = append(t.Columns, columns)
	}
	return t, nil
}

// Replace makes the tables hold what is wanted, where they hold something else now.
func (t *Tables) Replace(ctx context.Context, now, want Rows) error {
	return t.db.Change(ctx, t.at, "replace rows", func(x *sqldb.Tx) error {
		for i, name := range t.names {
			if same(now[i], want[i]) {
				continue
			}
			if _, err := x.Exec("DELETE FROM " + name); err != nil {
				return err
			}
			for _, row := range want[i] {
				if _, err := x.Exec("INSERT INTO "+name+" VALUES ("+sqldb.Marks(len(row))+")", row...); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Clear empties all tables but that of the epoch, and begins with the first one.
func (t *Tables) Clear(ctx context.Context) error {
	return t.db.Change(ctx, t.at, "clear", func(x *sqldb.Tx) error {
		for _, name := range t.names {
			if name == "posthouse_meta" {
				continue
			}
			if _, err := x.Exec("DELETE FROM " + name); err != nil {
				return err
			}
		}
		_, err := x.Exec("UPDATE posthouse_meta SET value = '1' WHERE name = 'epoch'")
		return err
	})
}

// Read is what the tables hold. What is the same as in known is that.
func (t *Tables) Read(ctx context.Context, known Rows) (Rows, error) {
	r := make(Rows, len(t.names))
	err := t.db.Change(ctx, t.at, "read rows", func(x *sqldb.Tx) error {
		for i, name := range t.names {
			list := [][]any{}
			err := x.Query("SELECT * FROM "+name, nil, func(scan func(...any) error) error {
				row, err := readRow(scan, t.Columns[i])
				list = append(list, row)
				return err
			})
			if err != nil {
				return err
			}
			if known != nil && same(list, known[i]) {
				list = known[i]
			}
			r[i] = list
		}
		return nil
	})
	return r, err
}

// blobs are the columns that hold bytes, and no text.
var blobs = []string{"outcomes", "noted", "via", "receipts"}

func readRow(scan func(...any) error, columns []string) ([]any, error) {
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	err := scan(into...)
	for i, v := range row {
		if text, ok := v.([]byte); ok && !slices.Contains(blobs, columns[i]) {
			row[i] = string(text)
		}
	}
	return row, err
}

// same compares rows that stand in the same order.
func same(a, b [][]any) bool {
	return slices.EqualFunc(a, b, func(a, b []any) bool {
		return slices.EqualFunc(a, b, func(a, b any) bool {
			bytesA, is := a.([]byte)
			bytesB, are := b.([]byte)
			if is || are {
				return is == are && bytes.Equal(bytesA, bytesB)
			}
			return a == b
		})
	})
}

// Hold locks all rows of tables for as long as the transaction lasts.
func Hold(t *sqldb.Tx, names ...string) error {
	for _, name := range names {
		if _, err := sqldb.All(t.Query, sqldb.Word, "SELECT id FROM "+name+t.DB.Dialect.Lock); err != nil {
			return err
		}
	}
	return nil
}

// LockWaits are the ports of the clients whose connections wait for a lock, in the database itself on PostgreSQL and in all of the server's on
// MariaDB. Its table of them shows the same again to whoever asks within a tenth of a second of another; its monitor does not.
func LockWaits(ctx context.Context, db *sqldb.DB) ([]string, error) {
	if db.Database() == "postgres" {
		return sqldb.All(db.Reads(ctx), sqldb.Word, "SELECT client_port::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
	}
	said, err := sqldb.All(db.Reads(ctx), func(scan sqldb.Scanner) (monitor string, err error) {
		var kind, name string
		return monitor, scan(&kind, &name, &monitor)
	}, "SHOW ENGINE INNODB STATUS")
	if err != nil {
		return nil, err
	}
	waiting := map[string]bool{}
	for _, transaction := range strings.Split(strings.Join(said, ""), "---TRANSACTION ")[1:] {
		if found := thread.FindStringSubmatch(transaction); found != nil && strings.Contains(transaction, "LOCK WAIT") {
			waiting[found[1]] = true
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	ports, err := sqldb.All(db.Reads(ctx), func(scan sqldb.Scanner) (port string, err error) {
		var id string
		if err := scan(&id, &port); err != nil || !waiting[id] {
			return "", err
		}
		return port, nil
	}, "SELECT CAST(ID AS CHAR), SUBSTRING_INDEX(HOST, ':', -1) FROM information_schema.PROCESSLIST")
	return slices.DeleteFunc(ports, func(port string) bool { return port == "" }), err
}

// thread is the connection of a transaction in MariaDB's monitor.
var thread = regexp.MustCompile(`thread id (\d+)`)
