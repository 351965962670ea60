package schema

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// A migration says with a line of its own which programs may work on the database after it: `-- works with: 3` are those that make
// version 3 or a later one. Without the line it is only those that know the migration. The database keeps the number, since an
// older program cannot read a newer one's files.

// TooOld says that a database was made for newer programs than this one.
type TooOld struct {
	Have int64 // the database's version
	Want int64 // this program's
	With int64 // programs of this version or a later one work on the database
}

// Error is for people.
func (e *TooOld) Error() string {
	return fmt.Sprintf("the database's schema has version %d, newer than this binary's %d, and works with version %d or later: use a newer posthouse", e.Have, e.Want, e.With)
}

// Suits is a *TooOld where the database was made for newer programs. A newer schema that works with this program is none.
func (s Schema) Suits(ctx context.Context) error {
	have, want, err := s.Schema(ctx)
	if err != nil || have <= want {
		return err
	}
	with, err := s.worksWith(ctx, have)
	if err == nil && with > want {
		return &TooOld{Have: have, Want: want, With: with}
	}
	return err
}

const floorOf = "SELECT value FROM posthouse_meta WHERE name = 'works_with'"

// worksWith is the oldest version whose programs work on the database. One that does not say so works with its own alone.
func (s Schema) worksWith(ctx context.Context, have int64) (int64, error) {
	text, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, floorOf)
	if err != nil {
		return 0, s.db.Coded(err, "read which programs the schema works with")
	}
	if !found {
		return have, nil
	}
	with, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the row works_with of posthouse_meta is %.60q, which is no version", text)
	}
	return with, nil
}

var worksWithLine = regexp.MustCompile(`(?m)^-- works with: (\d{1,9})$`)

// WorksWith is the oldest version whose programs work on a database after a migration, by its text.
func WorksWith(text []byte, version int64) int64 {
	if said := worksWithLine.FindSubmatch(text); said != nil {
		version, _ = strconv.ParseInt(string(said[1]), 10, 64) // nine digits are a number
	}
	return version
}

// floor is the oldest version whose programs work on the database after the migrations that follow a version.
func (s Schema) floor(after int64) (floor int64, err error) {
	files, err := FilesOf(s.db.Dialect)
	if err != nil {
		return 0, err
	}
	sources, err := s.sources()
	if err != nil {
		return 0, err
	}
	for _, source := range sources {
		if source.Version <= after {
			continue
		}
		text, err := fs.ReadFile(files, source.Path)
		if err != nil {
			return 0, err
		}
		floor = max(floor, WorksWith(text, source.Version))
	}
	return floor, nil
}

// clear lets a migration begin: no process is at work that could not go on after it. Those that are hidden from us, since they did not reach
// the database for a minute, find the floor that is written here and stop.
func (s Schema) clear(ctx context.Context, db *sql.DB) error {
	have, _, err := s.Schema(ctx)
	if err != nil || have == 0 {
		return err
	}
	floor, err := s.floor(have)
	if err != nil || floor == 0 {
		return err
	}
	if err := s.refuseOlder(ctx, floor); err != nil {
		return err
	}
	return raiseFloor(ctx, db, floor)
}

// silent is how long a process says nothing before it counts as gone, in microseconds.
const silent = 60_000_000

// refuseOlder names the processes at work that make a version below the floor. An SQLite file has one process, and it is this.
func (s Schema) refuseOlder(ctx context.Context, floor int64) error {
	if s.db.Dialect.OneWriter {
		return nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return err
	}
	old, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT id FROM posthouse_processes WHERE schema_version < ? AND seen_at > ? ORDER BY id", floor, sqldb.Micros(now)-silent)
	if err != nil {
		return s.db.Coded(err, "look for processes that are too old")
	}
	if len(old) > 0 {
		return fmt.Errorf("%d of the processes at work are older than what the new schema works with (version %d): stop them first; one that was killed counts as gone after a minute: %s",
			len(old), floor, strings.Join(old, ", "))
	}
	return nil
}

// settleFloor writes what all migrations together work with into a database that was just made.
func (s Schema) settleFloor(ctx context.Context, db *sql.DB) error {
	var written int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM posthouse_meta WHERE name = 'works_with'").Scan(&written)
	if err != nil || written > 0 {
		return err
	}
	floor, err := s.floor(0)
	if err != nil {
		return err
	}
	return raiseFloor(ctx, db, floor)
}

func raiseFloor(ctx context.Context, db *sql.DB, floor int64) error {
	done, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE posthouse_meta SET value = '%d' WHERE name = 'works_with'", floor))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	// Another process that migrates may have come first: an insert that finds the row there makes nothing.
	_, err = db.ExecContext(ctx, fmt.Sprintf("INSERT INTO posthouse_meta (name, value) SELECT 'works_with', '%d' FROM (SELECT 1 AS one) first WHERE NOT EXISTS (SELECT 1 FROM posthouse_meta WHERE name = 'works_with')", floor))
	return err
}
