package prove

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// epoch0 is the moment at which every step happens: time passes by moving what is stored into the past.
var epoch0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// The tables that a state is made of, and their places in rows. All others stay as the scene's beginning left them, or do not
// matter: tallies, rollups, the feed.
const (
	meta = iota
	messages
	due
	flights
	sent
	queue
	settled
	lines
	events // of the last transaction alone
	tables
)

var tableNames = [tables]string{
	"posthouse_meta", "posthouse_messages", "posthouse_due", "posthouse_flights", "posthouse_sent", "posthouse_queue", "posthouse_settled",
	"posthouse_lines", "posthouse_transitions",
}

// rows are the contents of the tables. Rows are never changed in place once a state has them.
type rows [tables][][]any

// text tells contents apart.
func (r *rows) text(b []byte, tables ...int) []byte {
	for _, i := range tables {
		for _, row := range r[i] {
			b = rowText(b, row)
		}
		b = append(b, '#')
	}
	return b
}

// mostText tells states apart: of a message only its last column (sole) ever changes, and events are of the last transaction alone.
func (r *rows) mostText(b []byte) []byte {
	b = r.text(b, meta, due, flights, sent, queue, settled, lines)
	for _, row := range r[messages] {
		b = rowText(b, row[len(row)-1:])
	}
	return b
}

func rowText(b []byte, row []any) []byte {
	for _, v := range row {
		switch v := v.(type) {
		case int64:
			b = strconv.AppendInt(b, v, 36)
		case string:
			b = append(b, v...)
		default:
			b = fmt.Append(b, v)
		}
		b = append(b, '|')
	}
	return append(b, '\n')
}

// database is a store whose contents are replaced before each step.
type database struct {
	*store.Store
	columns [tables][]string
	now     rows // what the tables hold
}

// openDatabase makes a migrated database in a folder, best one in memory.
func openDatabase(ctx context.Context, folder string) (*database, error) {
	st, err := store.Open(ctx, store.Options{DSN: "sqlite:" + filepath.Join(folder, "prove.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := st.Schema.Migrate(ctx); err != nil {
		return nil, err
	}
	db := &database{Store: st}
	for i, name := range tableNames {
		if db.columns[i], err = columnsOf(ctx, st.DB.Reader, name); err != nil {
			return nil, err
		}
	}
	db.now, err = db.read(ctx)
	return db, err
}

func columnsOf(ctx context.Context, db *sql.DB, table string) ([]string, error) {
	found, err := db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer found.Close()
	names, err := found.Columns()
	return names, cmpErr(err, found.Err())
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// column is the place of a column in the rows of a table.
func (db *database) column(table int, name string) int {
	return slices.Index(db.columns[table], name)
}

// load makes the tables hold what a state has, and no events.
func (db *database) load(ctx context.Context, want *rows) error {
	w := *want
	w[events] = nil
	return db.DB.Change(ctx, epoch0, "load a state", func(t *sqldb.Tx) error {
		for i := range tables {
			if sameRows(db.now[i], w[i]) {
				continue
			}
			if _, err := t.Exec("DELETE FROM " + tableNames[i]); err != nil {
				return err
			}
			for _, row := range w[i] {
				if _, err := t.Exec("INSERT INTO "+tableNames[i]+" VALUES ("+sqldb.Marks(len(row))+")", row...); err != nil {
					return err
				}
			}
			db.now[i] = w[i]
		}
		return nil
	})
}

// read is what the tables hold now.
func (db *database) read(ctx context.Context) (r rows, err error) {
	err = db.DB.Change(ctx, epoch0, "read a state", func(t *sqldb.Tx) error {
		for i := range tables {
			list := [][]any{}
			err := t.Query("SELECT * FROM "+tableNames[i], nil, func(scan func(...any) error) error {
				row := make([]any, len(db.columns[i]))
				into := make([]any, len(row))
				for j := range row {
					into[j] = &row[j]
				}
				err := scan(into...)
				list = append(list, row)
				return err
			})
			if err != nil {
				return err
			}
			if sameRows(list, db.now[i]) {
				list = db.now[i]
			}
			r[i] = list
		}
		return nil
	})
	db.now = r
	return r, err
}

// sameRows compares rows that stand in the same order.
func sameRows(a, b [][]any) bool {
	return slices.EqualFunc(a, b, func(a, b []any) bool { return slices.Equal(a, b) })
}

// word and number read a column of a row by its name.
func (db *database) word(table int, row []any, name string) string {
	text, _ := row[db.column(table, name)].(string)
	return text
}

func (db *database) number(table int, row []any, name string) int64 {
	n, _ := row[db.column(table, name)].(int64)
	return n
}

// list reads a JSON array of plain words.
func list(text string) []string {
	text = strings.Trim(text, "[]")
	if text == "" {
		return nil
	}
	words := strings.Split(text, ",")
	for i := range words {
		words[i] = strings.Trim(words[i], `" `)
	}
	return words
}
