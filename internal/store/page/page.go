// Package page cuts lists into pages and makes the cursors that lead from one to the next.
package page

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// A cursor is where a page of a list ended: the list's name and its last key, with a check
// sum. It is opaque to callers and holds nothing secret; the tenant is not in it, so a cursor
// of another tenant shows nothing of that tenant.

// Cursor leads to what follows a key.
func Cursor(list, key string) string {
	text := list + " " + key
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32([]byte(text), crc32.ChecksumIEEE([]byte(text))))
}

// Key is the key in a cursor, empty for the empty cursor. It refuses what Cursor did
// not make for this list.
func Key(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(b) > 4 && utf8.Valid(b[:len(b)-4]) {
		text := b[:len(b)-4]
		key, ok := strings.CutPrefix(string(text), list+" ")
		if ok && crc32.ChecksumIEEE(text) == binary.BigEndian.Uint32(b[len(b)-4:]) {
			return key, nil
		}
	}
	return "", posthouse.Invalid("the request cannot be read", []posthouse.Problem{
		{Path: "cursor", Message: "is not one that this list returned: leave it out to begin anew"},
	})
}

// ID is keyOf for lists whose key is an id.
func ID(list, cursor string) (string, error) {
	key, err := Key(list, cursor)
	if err == nil && key != "" && !posthouse.ValidID(key) {
		_, err = Key(list, "?")
	}
	return key, err
}

// Moment is when the entry was made that a cursor leads on from, where its key is an id; zero for other cursors, and what is none.
func Moment(cursor string) time.Time {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= 4 {
		return time.Time{}
	}
	_, key, _ := strings.Cut(string(b[:len(b)-4]), " ")
	if !posthouse.ValidID(key) {
		return time.Time{}
	}
	return posthouse.IDTime(key)
}

// Size is a limit within its bounds: 50 unless given, at most 1000.
func Size(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 1000)
}

// Cut cuts a list that was read one longer than the page, and returns the cursor of the
// next page, empty at the end.
func Cut[T any](list []T, size int, name string, key func(T) string) ([]T, string) {
	if len(list) <= size {
		return list, ""
	}
	return list[:size], Cursor(name, key(list[size-1]))
}
