package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// bundle is writes that belong together. On PostgreSQL they travel and run as one statement, which
// needs no transaction around it; elsewhere they run one after the other.
type bundle []member

// member is one write of a bundle: rows to insert, or rows that must still be what the guards say and
// are then deleted, or updated where after is set.
type member struct {
	table  *table
	rows   [][]any
	sum    bool // adds to the rows there are
	guards []guard
	after  []*posthouse.Delivery
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

func (b *bundle) each(text, column string, ids []string) {
	if len(ids) > 0 {
		*b = append(*b, member{stmt: &statement{text: text, column: column, ids: ids}})
	}
}

func (b *bundle) free(text, column string, ids []string) {
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
	for part := range parts(s.ids, bulkStep) {
		clause, args := t.in(s.column, part)
		text := fmt.Sprintf(s.text, clause)
		if strings.HasPrefix(text, "SELECT") {
			found, err := all(t.query, word, text+t.db.dialect.share, args...)
			if err != nil {
				return 0, err
			}
			total += int64(len(found))
			continue
		}
		n, err := t.exec(text, args...)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (b *bundle) insert(tab *table, rows [][]any) {
	if len(rows) > 0 {
		*b = append(*b, member{table: tab, rows: rows})
	}
}

// settle moves rows to another table.
func (b *bundle) settle(from, to *table, guards []guard, after []*posthouse.Delivery) {
	rows := make([][]any, len(after))
	for i, d := range after {
		rows[i] = deliveryValues(d)
	}
	*b = append(*b, member{table: from, guards: guards})
	b.insert(to, rows)
}

func (b *bundle) amend(tab *table, guards []guard, after []*posthouse.Delivery) {
	*b = append(*b, member{table: tab, guards: guards, after: after})
}

// errStale says that a row was no longer what its change expected: nothing of the bundle may stay.
var errStale = errors.New("a delivery has moved on")

// run writes a bundle. After errStale the transaction must be undone.
func (t *Tx) run(b bundle) error {
	if len(b) == 0 {
		return nil
	}
	if t.db.dialect.atOnce {
		return t.runAtOnce(b)
	}
	for _, s := range b {
		if s.stmt != nil {
			n, err := t.find(s.stmt)
			if err != nil {
				return err
			}
			if want, counted := s.expects(); counted && int(n) != want {
				return errStale
			}
			continue
		}
		if s.guards == nil {
			tab, rows := s.table.narrow(s.rows)
			if err := t.write(tab, rows, s.suffix(t.db.dialect)); err != nil {
				return err
			}
			continue
		}
		write := t.take
		if s.after != nil {
			write = func(tab *table, guards []guard) (int64, error) { return t.amend(tab, guards, s.after) }
		}
		n, err := write(s.table, s.guards)
		if err != nil {
			return err
		}
		if int(n) != len(s.guards) {
			return errStale
		}
	}
	return nil
}

// runAtOnce writes a bundle as one statement of PostgreSQL.
func (t *Tx) runAtOnce(b bundle) error {
	var parts, counts []string
	var args []any
	expected := 0
	for i, s := range b {
		query, more := s.once(t.db.dialect)
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
	_, err := t.exec(query, args...)
	if err != nil && t.db.dialect.stale(err) {
		return errStale
	}
	return err
}

// suffix is what follows the rows of an insert.
func (s *member) suffix(d *dialect) string {
	if s.sum {
		return d.sum
	}
	return ""
}

// once is the write as a part of one statement.
func (s *member) once(d *dialect) (query string, args []any) {
	if s.stmt != nil {
		query = fmt.Sprintf(s.stmt.text, s.stmt.column+" = ANY(?::text[])")
		if strings.HasPrefix(query, "SELECT") {
			return query + d.share, []any{s.stmt.ids}
		}
		return query + " RETURNING 1", []any{s.stmt.ids}
	}
	if s.guards == nil {
		tab, rows := s.table.narrow(s.rows)
		return "INSERT INTO " + tab.name + " (" + tab.list + ") SELECT " + columnwise(tab.numbers) + s.suffix(d), arrays(tab.numbers, rows)
	}
	const guarded = " WHERE q.id = g.g_id AND q.version = g.g_version AND q.token = g.g_token AND q.state = g.g_state RETURNING 1"
	const names = "g_id, g_version, g_token, g_state)"
	if s.after == nil {
		return "DELETE FROM " + s.table.name + " q USING " + unnest(guardNumbers) + " AS g(" + names + guarded, arrays(guardNumbers, guardRows(s.guards))
	}
	sets := make([]string, len(mutableTable.columns))
	for i, c := range mutableTable.columns {
		sets[i] = c + " = g." + c
	}
	return "UPDATE " + s.table.name + " q SET " + strings.Join(sets, ", ") + " FROM " + unnest(amendNumbers) +
		" AS g(" + mutableTable.list + ", " + names + guarded, arrays(amendNumbers, amendRows(s.guards, s.after))
}

// changeAtOnce is change for an fn that writes no more than one bundle: on PostgreSQL it runs without
// a transaction, since the bundle is one statement. Its answer is then the answer to the commit.
func (s *DB) changeAtOnce(ctx context.Context, now time.Time, doing string, fn func(*Tx) error) error {
	if !s.dialect.atOnce {
		return s.change(ctx, now, doing, fn)
	}
	return s.insist(ctx, doing, func(ctx context.Context) error {
		t := &Tx{ctx: ctx, db: s, conn: s.write, alone: true}
		return fn(t)
	})
}
