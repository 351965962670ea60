package store

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is all that differs between the databases.
type dialect struct {
	name  string        // also the folder of its migrations
	goose goose.Dialect // what the migration library calls it
	// clock is the database's own clock in microseconds; empty where the caller's now counts. instant is the clock
	// within a statement: one value for all rows, or no index can be searched for it.
	clock, instant string
	// lock and skip follow a SELECT that locks its rows, waiting or skipping.
	lock, skip string
	// share follows a SELECT whose rows nobody may change before the transaction ends.
	share string
	// limit is the bound of a hot query after LIMIT: a plain ?, but where the planner would look at its
	// value and plan anew for each.
	limit string
	// lockSchema waits for the one lock of migrations and reads true when it is held.
	lockSchema, unlockSchema string
	// dollar is set where placeholders are $1, $2, … instead of ?.
	dollar bool
	// arrays is set where many rows are passed as one array a column. Elsewhere they
	// are passed as VALUES.
	arrays bool
	// forces is set where the planner must be told the index of a hot statement: while a table is short it takes
	// another one, and walks over and locks rows that are nobody's business.
	forces bool
	// pairs is set where the planner searches an index for pairs of columns that are compared at once.
	pairs bool
	// deleteByKey begins a DELETE from a table that goes by its primary key.
	deleteByKey string
	// upsert is the clause that lets an INSERT overwrite an existing row, given the key
	// columns and the others. With expired, only a row whose expires_at lies before the new
	// row's created_at gives way; expires_at must then be the last of sets.
	upsert func(table string, keys, sets []string, expired bool) string
	// sum is the clause that lets an INSERT into tallies add to the rows there are.
	sum string
	// fault reads a driver's error.
	fault func(error) fault
	// open makes the pools: write for transactions, read for look-ups.
	open func(ctx context.Context, dsn string) (write, read *sql.DB, err error)
	// openToRead makes pools that change nothing, not even by being opened; nil where open's are such.
	openToRead func(ctx context.Context, dsn string) (write, read *sql.DB, err error)
	// patient opens a pool without time-outs, for migrations; nil where the write pool has none.
	patient func(dsn string) (*sql.DB, error)
	// concat joins two texts. flown is a FROM clause with one row for each delivery in flight, whose id is j.value.
	concat func(a, b string) string
	flown  string
	// objects lists the tables, views and indexes that stand where ours do: name, kind, and what the table says of itself.
	objects string
	// viewText reads the text of a view by its schema ('' for ours) and its name. schemas is set where views may stand in another schema.
	viewText string
	schemas  bool
	// unmake removes what a killed migration has left of the objects that stand in its way, and returns the others. Nil
	// where a migration is done whole or not at all.
	unmake func(ctx context.Context, db *sql.DB, found []object) (strangers []object, err error)
	// giveUp closes a pool's idle connections; nil where the pool itself finds out which are dead.
	giveUp func(db *sql.DB)
	// check names what is unsafe or unsupported about the server's settings.
	check func(ctx context.Context, db *sql.DB) ([]Finding, error)
}

// fault is what an error from a database means for the caller.
type fault int

const (
	faultOther      fault = iota // a bug or a bad value: do not repeat
	faultBusy                    // deadlock, serialization, lock time-out: repeat the transaction
	faultConnection              // the connection or the server is gone
	faultFull                    // no room
	faultTaken                   // an insert found its key in use
	faultNoTable                 // there is no such table
)

// primary is what by calls the index of the primary key.
const primary = "PRIMARY"

// by follows a table's name in a statement that shall go by one of its indexes.
func (d *dialect) by(index string) string {
	if !d.forces {
		return ""
	}
	return " FORCE INDEX (" + index + ")"
}

// since is the condition that a delivery is at a place of its lane or behind it.
func (d *dialect) since(at place) (text string, args []any) {
	if d.pairs {
		return "(due_at, id) >= (?, ?)", []any{at.due, at.id}
	}
	return "(due_at = ? AND id >= ? OR due_at > ?)", []any{at.due, at.id, at.due}
}

// rebind turns ? into the dialect's placeholders. The texts hold no question mark
// outside of placeholders.
func (d *dialect) rebind(query string) string {
	if !d.dollar {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// concatByBars joins texts on SQLite and PostgreSQL.
func concatByBars(a, b string) string { return a + " || " + b }

// marks is "?, ?, ?".
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// sumOnConflict is the clause sum of SQLite and PostgreSQL.
const sumOnConflict = " ON CONFLICT (tenant, channel, bucket, slot) DO UPDATE SET n = posthouse_tallies.n + excluded.n"

// onConflict is the upsert clause of SQLite and PostgreSQL.
func onConflict(table string, keys, sets []string, expired bool) string {
	var b strings.Builder
	b.WriteString(" ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET ")
	for i, c := range sets {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c + " = excluded." + c)
	}
	if expired {
		b.WriteString(" WHERE " + table + ".expires_at < excluded.created_at")
	}
	return b.String()
}

// onDuplicate is the upsert clause of MySQL and MariaDB. It has no WHERE, so each
// column keeps its value unless the condition holds; expires_at comes last, since an
// assignment sees those before it.
func onDuplicate(table string, _, sets []string, expired bool) string {
	var b strings.Builder
	b.WriteString(" ON DUPLICATE KEY UPDATE ")
	for i, c := range sets {
		if i > 0 {
			b.WriteString(", ")
		}
		if !expired {
			b.WriteString(c + " = VALUES(" + c + ")")
		} else {
			b.WriteString(c + " = IF(" + table + ".expires_at < VALUES(created_at), VALUES(" + c + "), " + table + "." + c + ")")
		}
	}
	return b.String()
}
