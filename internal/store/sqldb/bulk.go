package sqldb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Table names a table and the columns that bulk statements write, in order.
type Table struct {
	Name    string
	Columns []string
	Numbers []bool // whether a column is a number; all others are text
	Spare   []bool // whether a column is empty or 0 by default, so that it can be left out
	List    string // the columns joined, for SELECT and INSERT
	Parted  bool   // it is there only where what is settled lies in partitions
}

// NewTable reads "name" as a text column, "name#" as a number, and a "?" after that as spare.
func NewTable(name string, columns ...string) *Table {
	t := &Table{Name: name}
	for _, c := range columns {
		column, spare := strings.CutSuffix(c, "?")
		column, number := strings.CutSuffix(column, "#")
		t.Columns = append(t.Columns, column)
		t.Numbers = append(t.Numbers, number)
		t.Spare = append(t.Spare, spare)
	}
	t.List = strings.Join(t.Columns, ", ")
	return t
}

// narrow leaves out the spare columns that no row has a value for: half of what would be
// written, as a rule.
func (tab *Table) narrow(rows [][]any) (*Table, [][]any) {
	var keep []int
	for i := range tab.Columns {
		if !tab.Spare[i] || slices.ContainsFunc(rows, func(row []any) bool { return row[i] != "" && row[i] != int64(0) }) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(tab.Columns) {
		return tab, rows
	}
	less := &Table{Name: tab.Name}
	for _, i := range keep {
		less.Columns = append(less.Columns, tab.Columns[i])
		less.Numbers = append(less.Numbers, tab.Numbers[i])
	}
	less.List = strings.Join(less.Columns, ", ")
	narrow := make([][]any, len(rows))
	cells := make([]any, 0, len(rows)*len(keep))
	for r, row := range rows {
		for _, i := range keep {
			cells = append(cells, row[i])
		}
		narrow[r] = cells[len(cells)-len(keep):]
	}
	return less, narrow
}

// Chunk is how many rows one VALUES statement holds at most. The rest goes in halves of it, its
// quarters and so on: few texts, so that they stay prepared.
const Chunk = 64

// Insert writes many rows. On PostgreSQL they travel as one array a column, elsewhere as
// VALUES of few fixed sizes.
func (t *Tx) Insert(tab *Table, rows [][]any) error {
	tab, rows = tab.narrow(rows)
	return t.Write(tab, rows, "")
}

// Put is insert that overwrites rows with the same key: the first keys columns. No key stands
// twice in rows.
func (t *Tx) Put(tab *Table, keys int, rows [][]any) error {
	return t.Write(tab, rows, t.DB.Dialect.Upsert(tab.Name, tab.Columns[:keys], tab.Columns[keys:], false))
}

// Write inserts rows, with a clause behind them.
func (t *Tx) Write(tab *Table, rows [][]any, suffix string) error {
	if len(rows) == 0 {
		return nil
	}
	if t.DB.Dialect.Arrays {
		_, err := t.Exec("INSERT INTO "+tab.Name+" ("+tab.List+") SELECT "+columnwise(tab.Numbers)+suffix, Arrays(tab.Numbers, rows)...)
		return err
	}
	row := "(" + Marks(len(tab.Columns)) + ")"
	for part := range Sized(rows) {
		query := "INSERT INTO " + tab.Name + " (" + tab.List + ") VALUES " + row + strings.Repeat(", "+row, len(part)-1) + suffix
		if _, err := t.Exec(query, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

// Guard is what a row must still be for a transition to hold.
type Guard struct {
	ID      string
	Version int64
	Token   int64
	State   posthouse.State
}

// take deletes the rows of tab that are still what the guards say, and returns how many.
func (t *Tx) take(tab *Table, guards []Guard) (int64, error) {
	total := int64(0)
	for part := range Sized(guards) {
		query := fmt.Sprintf(t.DB.Dialect.deleteByKey, tab.Name) + " WHERE id IN (" + Marks(len(part)) + ")" +
			" AND (id, version, token, state) IN (" + t.tuples(4, len(part)) + ")"
		args := make([]any, 0, 5*len(part))
		for _, g := range part {
			args = append(args, g.ID)
		}
		n, err := t.Exec(query, append(args, slices.Concat(guardRows(part)...)...)...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

var guardNumbers = []bool{false, true, true, false}

func guardRows(guards []Guard) [][]any {
	rows := make([][]any, len(guards))
	for i, g := range guards {
		rows[i] = []any{g.ID, g.Version, g.Token, string(g.State)}
	}
	return rows
}

// tuples is a list of n tuples of placeholders.
func (t *Tx) tuples(width, n int) string {
	tuple := "(" + Marks(width) + ")"
	return t.DB.Dialect.tuple + tuple + strings.Repeat(", "+tuple, n-1)
}

// amend updates the rows that are still what the guards say, and returns how many.
func (t *Tx) amend(tab, sets *Table, guards []Guard, after [][]any) (int64, error) {
	query := "UPDATE " + tab.Name + " SET " + strings.Join(sets.Columns, " = ?, ") +
		" = ? WHERE id = ? AND version = ? AND token = ? AND state = ?"
	total := int64(0)
	for _, row := range amendRows(guards, after) {
		n, err := t.Exec(query, row...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// amendRows are the values that change and then the guard.
func amendRows(guards []Guard, after [][]any) [][]any {
	rows := guardRows(guards)
	for i := range rows {
		rows[i] = slices.Concat(after[i], rows[i])
	}
	return rows
}

// Unnest is the table that arrays make.
func Unnest(numbers []bool) string {
	parts := make([]string, len(numbers))
	for i, number := range numbers {
		parts[i] = "?::text[]"
		if number {
			parts[i] = "?::bigint[]"
		}
	}
	return "unnest(" + strings.Join(parts, ", ") + ")"
}

// columnwise are the same values as a list of columns to select: half as much work as a table, whose columns are each put together
// and kept before they are read.
func columnwise(numbers []bool) string {
	list := make([]string, len(numbers))
	for i := range numbers {
		list[i] = Unnest(numbers[i : i+1])
	}
	return strings.Join(list, ", ")
}

// Arrays turns rows into one typed slice a column.
func Arrays(numbers []bool, rows [][]any) []any {
	out := make([]any, len(numbers))
	for i, number := range numbers {
		if number {
			column := make([]int64, len(rows))
			for j, row := range rows {
				column[j] = row[i].(int64)
			}
			out[i] = column
			continue
		}
		column := make([]string, len(rows))
		for j, row := range rows {
			column[j] = row[i].(string)
		}
		out[i] = column
	}
	return out
}

// Sized cuts a list into parts of chunk, then of the powers of two below.
func Sized[T any](list []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for n := Chunk; len(list) > 0; {
			for n > len(list) {
				n /= 2
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// In is DB.In within a transaction.
func (t *Tx) In(column string, values []string) (string, []any) { return t.DB.In(column, values) }

// In is Dialect.In for its database.
func (s *DB) In(column string, values []string) (string, []any) { return s.Dialect.In(column, values) }

// Among is In for ids of a table in partitions: it names the lowest and the highest too, by which PostgreSQL leaves out the other
// partitions when a prepared statement runs.
func (t *Tx) Among(column string, ids []string) (string, []any) {
	return t.DB.Dialect.Among(column, ids)
}

// Among is Tx.Among outside of a transaction.
func (d *Dialect) Among(column string, ids []string) (string, []any) {
	clause, args := d.In(column, ids)
	if !d.Arrays || len(ids) == 0 {
		return clause, args
	}
	return clause + " AND " + column + " >= ? AND " + column + " <= ?", append(args, slices.Min(ids), slices.Max(ids))
}

// In is a condition that a column has one of the values. The number of placeholders is
// rounded up, so that few texts stay prepared.
func (d *Dialect) In(column string, values []string) (string, []any) {
	if d.Arrays {
		return column + " = ANY(?::text[])", []any{values}
	}
	size := 1
	for size < len(values) {
		size *= 2
	}
	args := make([]any, size)
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return column + " IN (" + Marks(size) + ")", args
}

// ByKeys reads the rows of tab whose first three columns, its key, are the texts of rows. PostgreSQL looks each up by
// the key, whatever it thinks of the table's size: a LIMIT keeps it from joining.
func (t *Tx) ByKeys(tab *Table, columns string, rows [][]any, each func(scan Scanner) error) error {
	k := tab.Columns[:3]
	if t.DB.Dialect.Arrays {
		return t.Query("SELECT "+columns+" FROM "+Unnest(tab.Numbers[:3])+" AS g(a, b, c) CROSS JOIN LATERAL (SELECT * FROM "+tab.Name+
			" WHERE "+k[0]+" = g.a AND "+k[1]+" = g.b AND "+k[2]+" = g.c LIMIT 1) r", Arrays(tab.Numbers[:3], rows), each)
	}
	for part := range Sized(rows) {
		var args []any
		for _, row := range part {
			args = append(args, row[:3]...)
		}
		err := t.Query("SELECT "+columns+" FROM "+tab.Name+" WHERE ("+strings.Join(k, ", ")+") IN ("+t.tuples(3, len(part))+")", args, each)
		if err != nil {
			return err
		}
	}
	return nil
}

// Parts cuts a list into parts of at most n.
func Parts[T any](list []T, n int) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			k := min(n, len(list))
			if !yield(list[:k]) {
				return
			}
			list = list[k:]
		}
	}
}

// BulkStep bounds how many rows one transaction of a bulk change holds, so that nobody waits
// long for it.
const BulkStep = 500
