package store

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// posthouse_late knows the deliveries that were settled long after the time of their id, so that they can be found when the
// partition of that time is dropped. Few are: a late retry or receipt, a message for the day after tomorrow.

var lateTable = partedTable("posthouse_late", "id", "at#")

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
	if at-sqldb.Micros(timeOfID(id)) > lateAfter.Microseconds() {
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
	b.Put(lateTable, 1, rows)
}

// insertSettled inserts rows of settled deliveries, and notes those that are late.
func insertSettled(b *sqldb.Bundle, tab *sqldb.Table, rows [][]any) {
	b.Insert(tab, rows)
	late := lateNotes{}
	late.rows(tab, rows)
	late.write(b)
}

// noteLate notes changed deliveries that are settled and late.
func noteLate(b *sqldb.Bundle, after []*posthouse.Delivery) {
	late := lateNotes{}
	for _, d := range after {
		late.add(d.ID, sqldb.Micros(d.UpdatedAt))
	}
	late.write(b)
}

// timeOfID is the time of an id, in whole milliseconds.
func timeOfID(id string) time.Time {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // as posthouse.NewID
	ms := int64(0)
	for i := range min(10, len(id)) {
		ms = ms<<5 | int64(max(0, strings.IndexByte(alphabet, id[i])))
	}
	return time.UnixMilli(ms).UTC()
}
