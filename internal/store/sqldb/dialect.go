package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Dialect is all that differs between the databases.
type Dialect struct {
	Name    string        // also the folder of its migrations
	Title   string        // what people call it
	Schemes []string      // what a DSN begins with; what open reads begins with the first
	Folder  fs.FS         // its migrations; nil for schema/NAME
	Goose   goose.Dialect // what the migration library calls it
	// clock is the database's own clock in microseconds; empty where the caller's now counts. instant is the clock
	// within a statement: one value for all rows, or no index can be searched for it.
	clock, instant string
	// Lock and skip follow a SELECT that locks its rows, waiting or skipping.
	Lock, Skip string
	// Share follows a SELECT whose rows nobody may change before the transaction ends.
	Share string
	// Blind is a placeholder whose value the planner does not look at: a plain ?, but where it would plan anew for each value.
	Blind string
	// StartsLock waits for all who are writing flights; empty where a row of posthouse_meta stands for them.
	StartsLock string
	// lockSchema waits for the one lock of migrations and reads true when it is held.
	lockSchema, unlockSchema string
	// trySchema takes that lock for its transaction, and reads false where another has it; empty where lockSchema takes it.
	trySchema string
	// stand reads a Stand as text; empty where there is none.
	stand string
	// dollar is set where placeholders are $1, $2, … instead of ?.
	dollar bool
	// Arrays is set where many values are passed as one array a column. Elsewhere they are passed one by one.
	Arrays bool
	// tuple is the word before a list of tuples.
	tuple string
	// OneWriter is set where one process writes into a file of its own, one transaction at a time.
	OneWriter bool
	// FoldsNames is set where names of tables that differ only in case are one name.
	FoldsNames bool
	// AtOnce is set where a bundle or a claim is one statement, which needs no transaction around it. stale recognises the error by
	// which such a statement undoes itself.
	AtOnce bool
	stale  func(error) bool
	// DeleteListed deletes n rows by their whole key, whose values come one after the other; nil where an IN finds each
	// row by its key too.
	DeleteListed func(table string, keys []string, n int) string
	// forces is set where the planner must be told the index of a hot statement: while a table is short it takes
	// another one, and walks over and locks rows that are nobody's business.
	forces bool
	// Skips is set where the planner goes from one value of an index column to the next by itself.
	Skips bool
	// Pairs is set where the planner searches an index for pairs of columns that are compared at once.
	Pairs bool
	// deleteByKey begins a DELETE from a table that goes by its primary key.
	deleteByKey string
	// Upsert is the clause that lets an INSERT overwrite an existing row, given the key
	// columns and the others. With expired, only a row whose expires_at lies before the new
	// row's created_at gives way; expires_at must then be the last of sets.
	Upsert func(table string, keys, sets []string, expired bool) string
	// Add is the clause that lets an INSERT add columns to those of the row there is.
	Add func(table string, keys, columns []string) string
	// Partitions is how a part of a table is dropped whole. Defaults to not at all: its rows are deleted one by one.
	Partitions Partitions
	// Fault reads a driver's error. answered reports whether the database said it, and unsent whether nothing has reached
	// the database.
	Fault            func(error) Fault
	answered, unsent func(error) bool
	// open makes the pools.
	open func(ctx context.Context, dsn string, log *slog.Logger) (pools, error)
	// openToRead makes pools that change nothing, not even by being opened; nil where open's are such.
	openToRead func(ctx context.Context, dsn string, log *slog.Logger) (pools, error)
	// openReplica makes a pool of look-ups on a server that follows the primary; nil where there are none.
	openReplica func(ctx context.Context, dsn string) (*sql.DB, error)
	// follows reads true on such a server. position is how far the primary has written, and reached reads true on a replica that has
	// come to the position of its one argument.
	follows, position, reached string
	// openStandby makes pools whose connections may be to a standby; nil where open's are such.
	openStandby func(ctx context.Context, dsn string, log *slog.Logger) (pools, error)
	// patient opens a pool without time-outs, for migrations; nil where the write pool has none.
	patient func(dsn string) (*sql.DB, error)
	// migrator is a patient pool that takes for done what a migration finds done, where each step commits by itself; nil for patient.
	migrator func(dsn string) (*sql.DB, error)
	// Phrases are what the documents' views say in the database's own words.
	Phrases Phrases
	// Concat joins two texts. flown is a FROM clause with one row for each delivery in flight, whose id is j.value.
	Concat func(a, b string) string
	Flown  string
	// Listed is a table of the ids in its one argument, a JSON array, each as j.value; empty where AtOnce is set.
	Listed string
	// Objects lists the tables, views and indexes that stand where ours do: name, kind, and what the table says of itself.
	Objects string
	// Catalogue reads what the database's own catalogue says of our tables and views: the fields of Part.
	Catalogue string
	// ViewText reads the text of a view by its schema ('' for ours) and its name. schemas is set where views may stand in another schema.
	ViewText string
	Schemas  bool
	// Unmake removes what a killed migration has left of the objects that stand in its way, and returns the others. Nil
	// where a migration is done whole or not at all.
	Unmake func(ctx context.Context, db *sql.DB, found []Object) (strangers []Object, err error)
	// Parted is set where what is settled lies in partitions by time.
	Parted bool
	// giveUp closes a pool's idle connections; nil where the pool itself finds out which are dead.
	giveUp func(db *sql.DB)
	// GiveBack returns some free pages to the file system, and reports whether there were enough of them; nil where the
	// database sees to its space by itself.
	GiveBack func(t *Tx) (some bool, err error)
	// IndexProgress selects the name of an index that is being made in this database, what the server does for it, and how many
	// percent of that are done; "" where the server does not say.
	IndexProgress string
	// Mend repairs what a killed migration has left of the migration library's table; nil where a migration is done whole
	// or not at all.
	Mend func(ctx context.Context, db *sql.DB) error
	// Former is how a database of the document's SMS server is read.
	Former Former
	// check names what is unsafe or unsupported about the server's settings.
	check func(ctx context.Context, db *sql.DB) ([]Finding, error)
}

// pools are the connections to a database: write for transactions, read for look-ups.
type pools struct {
	write, read *sql.DB
	ground      *ground  // what SQLite's file stands on, where it is written; nil elsewhere
	primary     *primary // which of several servers takes the writes; nil for SQLite
	mysql       *mysqlPrimary

	own         int // connections of a process at most; 0 for SQLite
	way         Way
	found       bool
	begin, pins string
}

// Known is the table of databases.
var Known = []*Dialect{SQLite, Postgres, MySQL}

// DialectOf finds a DSN's dialect by its scheme, and returns the DSN as the dialect's functions read it.
func DialectOf(dsn string, among []*Dialect) (*Dialect, string, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	for _, d := range among {
		if slices.Contains(d.Schemes, scheme) {
			return d, d.Schemes[0] + ":" + rest, nil
		}
	}
	return nil, "", errors.New("the DSN names no database we know: want sqlite:PATH, postgres://… or mysql://…")
}

// TitleOf is what people call the database that a DSN names, empty for none that is known.
func TitleOf(dsn string) string {
	d, _, err := DialectOf(dsn, Known)
	if err != nil {
		return ""
	}
	return d.Title
}

// Fault is what an error from a database means for the caller.
type Fault int

// Callers tell these errors apart; the others are this package's own affair.
const (
	FaultOther      Fault = iota // a bug or a bad value: do not repeat
	faultBusy                    // deadlock, serialization, lock time-out: repeat the transaction
	faultConnection              // the connection or the server is gone
	faultFull                    // no room
	faultDamaged                 // the file is not what the database has written
	faultTaken                   // an insert found its key in use
	FaultNoTable                 // there is no such table
	FaultDenied                  // the user has not the right
)

// Primary is what by calls the index of the primary key.
const Primary = "PRIMARY"

// By follows a table's name in a statement that shall go by one of its indexes.
func (d *Dialect) By(index string) string {
	if !d.forces {
		return ""
	}
	return " FORCE INDEX (" + index + ")"
}

// Rebind turns ? into the dialect's placeholders. The texts hold no question mark
// outside of placeholders.
//
// SQLite's planner looks at the value after LIMIT, and plans a prepared statement anew each time it is bound: more than half of the
// time of a look-up that finds nothing.
func (d *Dialect) Rebind(query string) string {
	if !d.dollar {
		return strings.ReplaceAll(query, "LIMIT ?", "LIMIT "+d.Blind)
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

// Marks is "?, ?, ?".
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// Partitions is how a part of a table is dropped whole.
type Partitions int

// The ways.
const (
	NoPartitions Partitions = iota
	// Detached ones become tables of their own before they go.
	Detached
	// Exchanged ones change places with a table that has what stays.
	Exchanged
)

// AddTo is Add for a table whose last column is a count, and whose others are its key.
func (d *Dialect) AddTo(tab *Table) string {
	last := len(tab.Columns) - 1
	return d.Add(tab.Name, tab.Columns[:last], tab.Columns[last:])
}

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

// addOnConflict is the clause add of SQLite and PostgreSQL.
func addOnConflict(table string, keys, columns []string) string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = " + table + "." + c + " + excluded." + c
	}
	return " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// addOnDuplicate is that of MySQL and MariaDB.
func addOnDuplicate(_ string, _, columns []string) string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = " + c + " + VALUES(" + c + ")"
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
}
