package prove

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/storetest"
)

// epoch0 is the moment at which every step happens: time passes by moving what is stored into the past.
var epoch0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// The tables that a state is made of, and their places in rows. All others stay as the scene's beginning left them, or do not
// matter: tallies, rollups, the rest of the feed.
const (
	meta = iota
	messages
	due
	flights
	sent
	queue
	settled
	lines
	segments
	campaigns // which no step changes
	plans
	dedup      // the open collection of each key
	events     // of the last transaction alone
	tidings    // what followers are told of notifications, by the last transaction alone
	answerable // which deliveries an answer to a number may mean; follows from the messages
	tables
)

var tableNames = [tables]string{
	"posthouse_meta", "posthouse_messages", "posthouse_due", "posthouse_flights", "posthouse_sent", "posthouse_queue", "posthouse_settled",
	"posthouse_lines", "posthouse_segments", "posthouse_campaigns", "posthouse_plans", "posthouse_dedup", "posthouse_transitions",
	"posthouse_callback_events", "posthouse_answerable",
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
	b = r.text(b, meta, due, flights, sent, queue, settled, lines, segments, plans, dedup)
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
		case []byte:
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
	tables *storetest.Tables
	now    rows // what the tables hold
}

// openDatabase opens and migrates a database.
func openDatabase(ctx context.Context, dsn string) (*database, error) {
	st, err := store.Open(ctx, store.Options{DSN: dsn, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := st.Schema.Migrate(ctx); err != nil {
		return nil, err
	}
	db := &database{Store: st}
	if db.tables, err = storetest.TablesOf(ctx, st.DB, epoch0, tableNames[:]...); err != nil {
		return nil, err
	}
	_, err = db.read(ctx)
	return db, err
}

// column is the place of a column in the rows of a table.
func (db *database) column(table int, name string) int {
	return slices.Index(db.tables.Columns[table], name)
}

// load makes the tables hold what a state has, and no events and tidings.
func (db *database) load(ctx context.Context, want *rows) error {
	w := *want
	w[events], w[tidings] = nil, nil
	if err := db.tables.Replace(ctx, db.now[:], w[:]); err != nil {
		return err
	}
	db.now = w
	return nil
}

// read is what the tables hold now.
func (db *database) read(ctx context.Context) (r rows, err error) {
	found, err := db.tables.Read(ctx, db.now[:])
	copy(r[:], found)
	db.now = r
	return r, err
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
