package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Scanner reads the columns of one row.
type Scanner = func(...any) error

// Lookup runs a query and calls each for every row: tx.query inside a transaction, or a
// store's read pool outside of any.
type Lookup func(query string, args []any, each func(scan Scanner) error) error

// Reads is the look-up outside of any transaction.
func (s *DB) Reads(ctx context.Context) Lookup {
	return func(query string, args []any, each func(scan Scanner) error) error {
		return s.Look(ctx, query, args, each)
	}
}

// All reads every row.
func All[T any](from Lookup, read func(scan Scanner) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	add := func(scan Scanner) error {
		v, err := read(scan)
		if err == nil {
			list = append(list, v)
		}
		return err
	}
	err := from(query, args, add)
	var again *elsewhere
	if errors.As(err, &again) {
		list = nil
		err = again.primary(query, args, add)
	}
	return list, err
}

// First reads the one row there may be.
func First[T any](from Lookup, read func(scan Scanner) (T, error), query string, args ...any) (v T, found bool, err error) {
	list, err := All(from, read, query, args...)
	if err != nil || len(list) == 0 {
		return v, false, err
	}
	return list[0], true, nil
}

// Word reads one column of text.
func Word(scan Scanner) (v string, err error) { return v, scan(&v) }

// Number reads one column of integers.
func Number(scan Scanner) (v int64, err error) { return v, scan(&v) }

// Flag is a truth as the database keeps it.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Plain returns a text for a column of plain letters, and nothing in place of a text with others.
func Plain(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return ""
		}
	}
	return text
}

// JSON is a column of JSON, nil where nothing is kept.
type JSON json.RawMessage

// Scan reads the column.
func (k *JSON) Scan(value any) error {
	var text sql.NullString
	err := text.Scan(value)
	*k = JSON(JSONOf(text.String))
	return err
}

// JSONOf is what a log has of a request. What writes it makes it JSON; what is none all the same would spoil the whole
// page that it stands on.
func JSONOf(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		quoted, _ := json.Marshal(text) // a text: cannot fail
		return quoted
	}
	return json.RawMessage(text)
}
