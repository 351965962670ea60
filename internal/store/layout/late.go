package layout

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// posthouse_late knows the deliveries that were settled long after the time of their id, so that they can be found when the
// partition of that time is dropped. Few are: a late retry or receipt, a message for the day after tomorrow.

// Late has what was settled late.
var Late = partedTable("posthouse_late", "id", "at#")

// partedTable is a table that is there only beside partitions.
func partedTable(name string, columns ...string) *sqldb.Table {
	t := sqldb.NewTable(name, columns...)
	t.Parted = true
	return t
}

// lateNotes are the notes of one bundle.
type lateNotes map[string]int64

// add notes a delivery that is settled, if it is late.
func (l lateNotes) add(id string, at int64) {
	if at-sqldb.Micros(TimeOfID(id)) > LateAfter.Microseconds() {
		l[id] = max(l[id], at)
	}
}

// rows adds the rows of a table of settled deliveries.
func (l lateNotes) rows(tab *sqldb.Table, rows [][]any) {
	at := slices.Index(tab.Columns, "updated_at")
	if at < 0 {
		at = slices.Index(tab.Columns, "at")
	}
	for _, row := range rows {
		l.add(row[0].(string), row[at].(int64))
	}
}

func (l lateNotes) write(b *sqldb.Bundle) {
	rows := make([][]any, 0, len(l))
	for id, at := range l {
		rows = append(rows, []any{id, at})
	}
	slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	b.Put(Late, 1, rows)
}

// InsertSettled inserts rows of settled deliveries, and notes those that are late.
func InsertSettled(b *sqldb.Bundle, tab *sqldb.Table, rows [][]any) {
	b.Insert(tab, rows)
	late := lateNotes{}
	late.rows(tab, rows)
	late.write(b)
}

// NoteLate notes changed deliveries that are settled and late.
func NoteLate(b *sqldb.Bundle, after []*posthouse.Delivery) {
	late := lateNotes{}
	for _, d := range after {
		late.add(d.ID, sqldb.Micros(d.UpdatedAt))
	}
	late.write(b)
}

// LateAfter is how long after its acceptance a delivery is settled late: then posthouse_late knows it. What waits for
// the next day is not late.
const LateAfter = 25 * time.Hour
