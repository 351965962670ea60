package store

import (
	"context"
	"unicode/utf8"
)

// scanner reads the columns of one row.
type scanner = func(...any) error

// lookup runs a query and calls each for every row: tx.query inside a transaction, or a
// store's read pool outside of any.
type lookup func(query string, args []any, each func(scan scanner) error) error

// reads is the look-up outside of any transaction.
func (s *DB) reads(ctx context.Context) lookup {
	return func(query string, args []any, each func(scan scanner) error) error {
		return s.look(ctx, query, args, each)
	}
}

// all reads every row.
func all[T any](from lookup, read func(scan scanner) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := from(query, args, func(scan scanner) error {
		v, err := read(scan)
		if err == nil {
			list = append(list, v)
		}
		return err
	})
	return list, err
}

// first reads the one row there may be.
func first[T any](from lookup, read func(scan scanner) (T, error), query string, args ...any) (v T, found bool, err error) {
	list, err := all(from, read, query, args...)
	if err != nil || len(list) == 0 {
		return v, false, err
	}
	return list[0], true, nil
}

// word reads one column of text, number one of integers.
func word(scan scanner) (v string, err error)  { return v, scan(&v) }
func number(scan scanner) (v int64, err error) { return v, scan(&v) }

// plain is a text for a column of plain letters: nothing in place of others, as idOnly.
func plain(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return ""
		}
	}
	return text
}
