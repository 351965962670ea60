package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bundle is writes that belong together. On PostgreSQL they travel and run as one statement, which
// needs no transaction around it; elsewhere they run one after the other.
type Bundle []member

// member is one write of a bundle: rows to insert, or rows that must still be what the guards say and
// are then deleted, or updated where after is set.
type member struct {
	table  *Table
	rows   [][]any
	sum    bool // adds to the rows there are
	keys   int  // how many columns are the key of the row whose place it takes; 0 for none
	guards []Guard
	sets   *Table
	after  [][]any
	stmt   *statement
}

// statement is a write of ids that must find each of them: one row an id. Where free is set it takes what is there. The text
// has a placeholder for the condition of the ids.
type statement struct {
	text   string // of a write, or of a SELECT that locks
	column string
	ids    []string
	free   bool
}

// Each writes by a text with a placeholder for the condition of the ids: each of them must find a row.
func (b *Bundle) Each(text, column string, ids []string) {
	if len(ids) > 0 {
		*b = append(*b, member{stmt: &statement{text: text, column: column, ids: ids}})
	}
}

// Free is Each for ids of which any may find nothing.
func (b *Bundle) Free(text, column string, ids []string) {
	if len(ids) > 0 {
		*b = append(*b, member{stmt: &statement{text: text, column: column, ids: ids, free: true}})
	}
}

// expects is how many rows a write must find, and whether it matters.
func (s *member) expects() (n int, counted bool) {
	if s.stmt != nil {
		return len(s.stmt.ids), !s.stmt.free
	}
	return len(s.guards), s.guards != nil
}

// find runs a statement and returns how many rows it found.
func (t *Tx) find(s *statement) (total int64, err error) {
	for part := range Parts(s.ids, BulkStep) {
		clause, args := t.Among(s.column, part)
		text := fmt.Sprintf(s.text, clause)
		if strings.HasPrefix(text, "SELECT") {
			found, err := All(t.Query, Word, text+t.DB.Dialect.Share, args...)
			if err != nil {
				return 0, err
			}
			total += int64(len(found))
			continue
		}
		n, err := t.Exec(text, args...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Insert adds rows to a table.
func (b *Bundle) Insert(tab *Table, rows [][]any) {
	if len(rows) > 0 {
		*b = append(*b, member{table: tab, rows: rows})
	}
}

// Add inserts rows, and adds to those there are.
func (b *Bundle) Add(tab *Table, rows [][]any) {
	if len(rows) > 0 {
		*b = append(*b, member{table: tab, rows: rows, sum: true})
	}
}

// Put inserts rows, and takes the places of those there are with the same first keys columns.
func (b *Bundle) Put(tab *Table, keys int, rows [][]any) {
	if len(rows) > 0 {
		*b = append(*b, member{table: tab, rows: rows, keys: keys})
	}
}

// Take deletes the guarded rows.
func (b *Bundle) Take(tab *Table, guards []Guard) {
	*b = append(*b, member{table: tab, guards: guards})
}

// Amend gives the guarded rows new values in the columns of sets.
func (b *Bundle) Amend(tab, sets *Table, guards []Guard, after [][]any) {
	*b = append(*b, member{table: tab, sets: sets, guards: guards, after: after})
}

// ErrStale says that a row was no longer what its change expected: nothing of the bundle may stay.
var ErrStale = errors.New("the delivery changed since it was read")

// Run writes a bundle. After ErrStale the transaction must be undone.
func (t *Tx) Run(b Bundle) error {
	if !t.DB.Dialect.Parted {
		b = slices.DeleteFunc(b, func(s member) bool { return s.table != nil && s.table.Parted })
	}
	if len(b) == 0 {
		return nil
	}
	if t.DB.Dialect.AtOnce {
		return t.runAtOnce(b)
	}
	for _, s := range b {
		if s.stmt != nil {
			n, err := t.find(s.stmt)
			if err != nil {
				return err
			}
			if want, counted := s.expects(); counted && int(n) != want {
				return ErrStale
			}
			continue
		}
		if s.guards == nil {
			tab, rows := s.table.narrow(s.rows)
			if err := t.Write(tab, rows, s.suffix(t.DB.Dialect)); err != nil {
				return err
			}
			continue
		}
		write := t.take
		if s.sets != nil {
			write = func(tab *Table, guards []Guard) (int64, error) { return t.amend(tab, s.sets, guards, s.after) }
		}
		n, err := write(s.table, s.guards)
		if err != nil {
			return err
		}
		if int(n) != len(s.guards) {
			return ErrStale
		}
	}
	return nil
}

// Besides is what one statement of PostgreSQL does besides a bundle: more members of its WITH, and one row that it reads.
type Besides struct {
	With   string
	Args   []any
	Select string
	Into   []any
}

// RunBesides writes a bundle of inserts together with what is besides.
func (t *Tx) RunBesides(b Bundle, more Besides) error {
	parts, args := []string{more.With}, more.Args
	for i, s := range b {
		query, values := s.once(t.DB.Dialect)
		parts, args = append(parts, fmt.Sprintf("w%d AS (%s)", i, query)), append(args, values...)
	}
	err := t.Query("WITH "+strings.Join(parts, ", ")+" SELECT "+more.Select, args, func(scan func(...any) error) error { return scan(more.Into...) })
	return t.answer(err)
}

// runAtOnce writes a bundle as one statement of PostgreSQL.
func (t *Tx) runAtOnce(b Bundle) error {
	var parts, counts []string
	var args []any
	expected := 0
	for i, s := range b {
		query, more := s.once(t.DB.Dialect)
		parts = append(parts, fmt.Sprintf("w%d AS (%s)", i, query))
		args = append(args, more...)
		if n, counted := s.expects(); counted {
			counts = append(counts, fmt.Sprintf("(SELECT count(*) FROM w%d)", i))
			expected += n
		}
	}
	query := "WITH " + strings.Join(parts, ", ") + " SELECT 1"
	if len(counts) > 0 {
		query += " / (CASE WHEN " + strings.Join(counts, " + ") + " = ? THEN 1 ELSE 0 END)"
		args = append(args, int64(expected))
	}
	_, err := t.Exec(query, args...)
	if err != nil && t.DB.Dialect.stale(err) {
		return ErrStale
	}
	return err
}

// suffix is what follows the rows of an insert.
func (s *member) suffix(d *Dialect) string {
	if s.sum {
		return d.AddTo(s.table)
	}
	if s.keys > 0 {
		return d.Upsert(s.table.Name, s.table.Columns[:s.keys], s.table.Columns[s.keys:], false)
	}
	return ""
}

// once is the write as a part of one statement.
func (s *member) once(d *Dialect) (query string, args []any) {
	if s.stmt != nil {
		clause, args := d.Among(s.stmt.column, s.stmt.ids)
		query = fmt.Sprintf(s.stmt.text, clause)
		if strings.HasPrefix(query, "SELECT") {
			return query + d.Share, args
		}
		return query + " RETURNING 1", args
	}
	if s.guards == nil {
		tab, rows := s.table.narrow(s.rows)
		return "INSERT INTO " + tab.Name + " (" + tab.List + ") SELECT " + columnwise(tab.Numbers) + s.suffix(d), Arrays(tab.Numbers, rows)
	}
	const guarded = " WHERE q.id = g.g_id AND q.version = g.g_version AND q.token = g.g_token AND q.state = g.g_state RETURNING 1"
	const names = "g_id, g_version, g_token, g_state)"
	if s.sets == nil {
		return "DELETE FROM " + s.table.Name + " q USING " + Unnest(guardNumbers) + " AS g(" + names + guarded, Arrays(guardNumbers, guardRows(s.guards))
	}
	sets := make([]string, len(s.sets.Columns))
	for i, c := range s.sets.Columns {
		sets[i] = c + " = g." + c
	}
	numbers := slices.Concat(s.sets.Numbers, guardNumbers)
	return "UPDATE " + s.table.Name + " q SET " + strings.Join(sets, ", ") + " FROM " + Unnest(numbers) +
		" AS g(" + s.sets.List + ", " + names + guarded, Arrays(numbers, amendRows(s.guards, s.after))
}

// ChangeAtOnce is change for an fn that writes no more than one bundle: on PostgreSQL it runs without
// a transaction, since the bundle is one statement. Its answer is then the answer to the commit.
func (s *DB) ChangeAtOnce(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	if !s.Dialect.AtOnce {
		return s.Change(ctx, now, doing, fn)
	}
	return s.insist(ctx, doing, func(ctx context.Context) error {
		t := &Tx{ctx: ctx, DB: s, conn: s.Writer, alone: true}
		return fn(t)
	})
}

// Found are the rows that a statement has written.
type Found interface {
	Next() bool
	Scan(columns ...any) error
	Err() error
}

// ReadAtOnce runs one statement that writes and returns rows, where the dialect is atOnce, without a transaction around it. read
// is called again when the statement is repeated. pgx reads fifty columns a row at a third of what they cost through
// database/sql.
func (s *DB) ReadAtOnce(ctx context.Context, doing, query string, args []any, read func(rows Found) error) error {
	return s.insist(ctx, doing, func(ctx context.Context) error {
		return s.atOnce(ctx, s.Text(query), args, func(rows pgx.Rows) error { return read(rows) })
	})
}
