package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Soundness is what a look at the structure of a database's file found.
type Soundness struct {
	// Problems are what is wrong, the first few. A file with any is not to be worked with.
	Problems []string
	// Whole is set where all of the file was looked at in the time there was.
	Whole bool
}

// soundProblems bounds the problems that are named.
const soundProblems = 10

// Sound looks at the structure of an SQLite file, table by table, until within is over. With within 0 it looks at all of
// it, and compares every index with its table. The other databases look after their files themselves.
func (s *DB) Sound(ctx context.Context, within time.Duration) (Soundness, error) {
	if !s.Dialect.OneWriter {
		return Soundness{Whole: true}, nil
	}
	if within == 0 {
		return s.soundBy(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", soundProblems))
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found, err := s.soundTables(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return Soundness{}, nil
	}
	return found, err
}

func (s *DB) soundTables(ctx context.Context) (Soundness, error) {
	tables, err := All(s.Reads(ctx), Word, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
	if err != nil {
		return damage(err)
	}
	whole := Soundness{Whole: true}
	for _, name := range tables {
		found, err := s.soundBy(ctx, fmt.Sprintf("PRAGMA quick_check('%s')", strings.ReplaceAll(name, "'", "''")))
		if err != nil {
			return found, err
		}
		if whole.Problems = append(whole.Problems, found.Problems...); len(whole.Problems) >= soundProblems {
			break
		}
	}
	return whole, nil
}

func (s *DB) soundBy(ctx context.Context, pragma string) (Soundness, error) {
	lines, err := All(s.asks(ctx), Word, pragma)
	if err != nil {
		return damage(err)
	}
	if len(lines) == 1 && lines[0] == "ok" {
		lines = nil
	}
	return Soundness{Problems: lines, Whole: true}, nil
}

// asks is a look-up that may take longer than others.
func (s *DB) asks(ctx context.Context) Lookup {
	return func(query string, args []any, each func(scan func(...any) error) error) error {
		rows, err := s.Reader.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return Drain(rows, each)
	}
}

// damage is what was found where the file is too broken to be looked at.
func damage(err error) (Soundness, error) {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB) {
		return Soundness{Problems: []string{err.Error()}, Whole: true}, nil
	}
	return Soundness{}, err
}
