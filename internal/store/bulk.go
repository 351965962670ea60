package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// table names a table and the columns that bulk statements write, in order.
type table struct {
	name    string
	columns []string
	numbers []bool // whether a column is a number; all others are text
	spare   []bool // whether a column is empty or 0 by default, so that it can be left out
	list    string // the columns joined, for SELECT and INSERT
}

// newTable reads "name" as a text column, "name#" as a number, and a "?" after that as spare.
func newTable(name string, columns ...string) *table {
	t := &table{name: name}
	for _, c := range columns {
		column, spare := strings.CutSuffix(c, "?")
		column, number := strings.CutSuffix(column, "#")
		t.columns = append(t.columns, column)
		t.numbers = append(t.numbers, number)
		t.spare = append(t.spare, spare)
	}
	t.list = strings.Join(t.columns, ", ")
	return t
}

// narrow leaves out the spare columns that no row has a value for: half of what would be
// written, as a rule.
func (tab *table) narrow(rows [][]any) (*table, [][]any) {
	var keep []int
	for i := range tab.columns {
		if !tab.spare[i] || slices.ContainsFunc(rows, func(row []any) bool { return row[i] != "" && row[i] != int64(0) }) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(tab.columns) {
		return tab, rows
	}
	less := &table{name: tab.name}
	for _, i := range keep {
		less.columns = append(less.columns, tab.columns[i])
		less.numbers = append(less.numbers, tab.numbers[i])
	}
	less.list = strings.Join(less.columns, ", ")
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

// chunk is how many rows one VALUES statement holds at most. The rest goes in halves of it, its
// quarters and so on: few texts, so that they stay prepared.
const chunk = 64

// insert writes many rows. On PostgreSQL they travel as one array a column, elsewhere as
// VALUES of few fixed sizes.
func (t *Tx) insert(tab *table, rows [][]any) error {
	tab, rows = tab.narrow(rows)
	return t.write(tab, rows, "")
}

// put is insert that overwrites rows with the same key: the first keys columns. No key stands
// twice in rows.
func (t *Tx) put(tab *table, keys int, rows [][]any) error {
	return t.write(tab, rows, t.db.dialect.upsert(tab.name, tab.columns[:keys], tab.columns[keys:], false))
}

func (t *Tx) write(tab *table, rows [][]any, suffix string) error {
	if len(rows) == 0 {
		return nil
	}
	if t.db.dialect.arrays {
		_, err := t.exec("INSERT INTO "+tab.name+" ("+tab.list+") SELECT "+columnwise(tab.numbers)+suffix, arrays(tab.numbers, rows)...)
		return err
	}
	row := "(" + marks(len(tab.columns)) + ")"
	for part := range sized(rows) {
		query := "INSERT INTO " + tab.name + " (" + tab.list + ") VALUES " + row + strings.Repeat(", "+row, len(part)-1) + suffix
		if _, err := t.exec(query, slices.Concat(part...)...); err != nil {
			return err
		}
	}
	return nil
}

// guard is what a row must still be for a transition to hold.
type guard struct {
	id      string
	version int64
	token   int64
	state   posthouse.State
}

// take deletes the rows of tab that are still what the guards say, and returns how many.
func (t *Tx) take(tab *table, guards []guard) (int64, error) {
	total := int64(0)
	for part := range sized(guards) {
		query := fmt.Sprintf(t.db.dialect.deleteByKey, tab.name) + " WHERE id IN (" + marks(len(part)) + ")" +
			" AND (id, version, token, state) IN (" + t.tuples(4, len(part)) + ")"
		args := make([]any, 0, 5*len(part))
		for _, g := range part {
			args = append(args, g.id)
		}
		n, err := t.exec(query, append(args, slices.Concat(guardRows(part)...)...)...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

var guardNumbers = []bool{false, true, true, false}

func guardRows(guards []guard) [][]any {
	rows := make([][]any, len(guards))
	for i, g := range guards {
		rows[i] = []any{g.id, g.version, g.token, string(g.state)}
	}
	return rows
}

// tuples is a list of n tuples of placeholders.
func (t *Tx) tuples(width, n int) string {
	tuple := "(" + marks(width) + ")"
	return t.db.dialect.tuple + tuple + strings.Repeat(", "+tuple, n-1)
}

// amend updates the rows that are still what the guards say, and returns how many.
func (t *Tx) amend(tab *table, guards []guard, after []*posthouse.Delivery) (int64, error) {
	query := "UPDATE " + tab.name + " SET " + strings.Join(mutableTable.columns, " = ?, ") +
		" = ? WHERE id = ? AND version = ? AND token = ? AND state = ?"
	total := int64(0)
	for _, row := range amendRows(guards, after) {
		n, err := t.exec(query, row...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

var amendNumbers = slices.Concat(mutableTable.numbers, guardNumbers)

// amendRows are the values that change and then the guard.
func amendRows(guards []guard, after []*posthouse.Delivery) [][]any {
	rows := guardRows(guards)
	for i := range rows {
		rows[i] = append(mutableValues(after[i]), rows[i]...)
	}
	return rows
}

// unnest is the table that arrays make.
func unnest(numbers []bool) string {
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
		list[i] = unnest(numbers[i : i+1])
	}
	return strings.Join(list, ", ")
}

// arrays turns rows into one typed slice a column.
func arrays(numbers []bool, rows [][]any) []any {
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

// sized cuts a list into parts of chunk, then of the powers of two below.
func sized[T any](list []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for n := chunk; len(list) > 0; {
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

// in is a condition that a column has one of the values. The number of placeholders is
// rounded up, so that few texts stay prepared.
func (t *Tx) in(column string, values []string) (string, []any) {
	return t.db.dialect.in(column, values)
}

func (s *DB) in(column string, values []string) (string, []any) {
	return s.dialect.in(column, values)
}

func (d *dialect) in(column string, values []string) (string, []any) {
	if d.arrays {
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
	return column + " IN (" + marks(size) + ")", args
}

// byKeys reads the rows of tab whose first three columns, its key, are the texts of rows. PostgreSQL looks each up by
// the key, whatever it thinks of the table's size: a LIMIT keeps it from joining.
func (t *Tx) byKeys(tab *table, columns string, rows [][]any, each func(scan scanner) error) error {
	k := tab.columns[:3]
	if t.db.dialect.arrays {
		return t.query("SELECT "+columns+" FROM "+unnest(tab.numbers[:3])+" AS g(a, b, c) CROSS JOIN LATERAL (SELECT * FROM "+tab.name+
			" WHERE "+k[0]+" = g.a AND "+k[1]+" = g.b AND "+k[2]+" = g.c LIMIT 1) r", arrays(tab.numbers[:3], rows), each)
	}
	for part := range sized(rows) {
		var args []any
		for _, row := range part {
			args = append(args, row[:3]...)
		}
		err := t.query("SELECT "+columns+" FROM "+tab.name+" WHERE ("+strings.Join(k, ", ")+") IN ("+t.tuples(3, len(part))+")", args, each)
		if err != nil {
			return err
		}
	}
	return nil
}

// parts cuts a list into parts of at most n.
func parts[T any](list []T, n int) func(yield func([]T) bool) {
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

// bulkStep bounds how many rows one transaction of a bulk change holds, so that nobody waits
// long for it.
const bulkStep = 500
