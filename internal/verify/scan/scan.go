// Package scan reads the lines of journals: flat JSON objects of known fields, strictly. It knows no journal; package verify
// does.
package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Line reads one line: a flat JSON object of known fields. It is here because millions of lines are
// read, and encoding/json takes most of the time there is for it (the benchmark compares them); it is
// stricter, too. The caller walks over the fields:
//
//	for s.Field() {
//		switch string(s.Name) {
//		case "version": e.Version = s.Number()
//		default: s.Unknown()
//		}
//	}
//
// The first error stays, and ends the walk.
type Line struct {
	Name []byte // the current field's
	Row  int    // the line's number, blank ones counted
	Err  error  // the first one

	line  []byte
	at    int
	first bool              // nothing has been read yet
	given [][]byte          // the names of the fields so far
	bits  uint64            // of the names, so that few are compared
	words map[string]string // texts that come again and again, each held once
}

// maxWords bounds the words that are held once, and maxWord the length of each.
const (
	maxWords = 1 << 16
	maxWord  = 64
)

var (
	errEnd    = errors.New("the line ends in the middle")
	errObject = errors.New("it is not a JSON object")
)

// Begin takes the next line.
func (s *Line) Begin(line []byte) {
	if s.words == nil {
		s.words = map[string]string{}
	}
	s.line, s.at, s.Name, s.first, s.Err = line, 0, nil, true, nil
	s.given, s.bits = s.given[:0], 0
	if s.skip() != '{' {
		s.Fail(errObject)
	}
	s.at++
}

// skip passes blanks and is the byte after them, 0 at the end.
func (s *Line) skip() byte {
	for s.at < len(s.line) {
		switch c := s.line[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// Fail ends the walk with an error about the current field.
func (s *Line) Fail(err error) {
	if s.Err == nil {
		s.Err = err
		if s.Name != nil {
			s.Err = fmt.Errorf("%s: %w", s.Name, err)
		}
	}
}

// Field goes to the next field's value and reports whether there is one.
func (s *Line) Field() bool {
	if s.Err != nil {
		return false
	}
	c := s.skip()
	if c == '}' {
		s.Name = nil
		if s.at++; s.skip() != 0 {
			s.Fail(errors.New("something stands after the object"))
		}
		return false
	}
	if !s.first {
		if c != ',' {
			s.Fail(s.unexpected("a comma or the object's end"))
			return false
		}
		s.at++
		s.skip()
	}
	s.first = false
	name := s.Bytes()
	if s.Err != nil {
		return false
	}
	if s.skip() != ':' {
		s.Fail(s.unexpected("a colon"))
		return false
	}
	s.at++
	s.skip()
	s.Name = name
	s.note()
	return s.Err == nil
}

// note keeps the current field's name, which may be given once.
func (s *Line) note() {
	if len(s.Name) > 0 {
		bit := uint64(1) << ((len(s.Name)*7 + int(s.Name[0])*3 + int(s.Name[len(s.Name)-1])) & 63)
		if s.bits&bit != 0 && s.Has(string(s.Name)) {
			s.Fail(errors.New("it is given twice"))
		}
		s.bits |= bit
	}
	s.given = append(s.given, s.Name)
}

// Has reports whether a field was given, be it empty.
func (s *Line) Has(name string) bool {
	for _, g := range s.given {
		if string(g) == name {
			return true
		}
	}
	return false
}

func (s *Line) unexpected(wanted string) error {
	if s.at >= len(s.line) {
		return errEnd
	}
	return fmt.Errorf("there is %q at character %d where %s is due", s.line[s.at], s.at+1, wanted)
}

// Unknown fails for a field that there is not.
func (s *Line) Unknown() { s.Fail(errors.New("there is no such field")) }

// Bytes is a string. The bytes are good until the next line.
func (s *Line) Bytes() []byte {
	if s.Err != nil {
		return nil
	}
	if s.at >= len(s.line) || s.line[s.at] != '"' {
		s.Fail(s.unexpected("a string"))
		return nil
	}
	from := s.at + 1
	for i := from; i < len(s.line); i++ {
		switch c := s.line[i]; {
		case c == '"':
			s.at = i + 1
			return s.line[from:i]
		case c == '\\' || c < ' ':
			return s.escaped(from - 1)
		}
	}
	s.Fail(errEnd)
	return nil
}

// escaped is a string with escapes, which are rare: encoding/json reads it.
func (s *Line) escaped(from int) []byte {
	for i := from + 1; i < len(s.line); i++ {
		switch s.line[i] {
		case '\\':
			i++
		case '"':
			var text string
			if err := json.Unmarshal(s.line[from:i+1], &text); err != nil {
				s.Fail(err)
			}
			s.at = i + 1
			return []byte(text)
		}
	}
	s.Fail(errEnd)
	return nil
}

// Text is a text of its own.
func (s *Line) Text() string { return string(s.Bytes()) }

// Word is a text that is likely to have been read before.
func (s *Line) Word() string {
	b := s.Bytes()
	if w, ok := s.words[string(b)]; ok {
		return w
	}
	w := string(b)
	if len(w) <= maxWord && len(s.words) < maxWords {
		s.words[w] = w
	}
	return w
}

// Like is a text that is likely to be the one of the line before.
func (s *Line) Like(last string) string {
	if b := s.Bytes(); string(b) != last {
		return string(b)
	}
	return last
}

// Number is a whole number.
func (s *Line) Number() int64 {
	from := s.at
	for s.at < len(s.line) && bytes.IndexByte([]byte("-+.eE0123456789"), s.line[s.at]) >= 0 {
		s.at++
	}
	digits := s.line[from:s.at]
	if len(digits) == 1 && digits[0] >= '0' && digits[0] <= '9' {
		return int64(digits[0] - '0')
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	switch {
	case len(digits) == 0:
		s.at = from
		s.Fail(s.unexpected("a number"))
	case errors.Is(err, strconv.ErrRange):
		s.Fail(fmt.Errorf("%s is too large", digits))
	case err != nil || digits[0] == '+' || strings.HasPrefix(strings.TrimPrefix(string(digits), "-"), "0"):
		s.Fail(fmt.Errorf("%s is not a whole number", digits))
	}
	return n
}

// Int is a whole number that counts something, from 0 to two thousand million.
func (s *Line) Int() int {
	n := s.Number()
	if n < 0 || n > math.MaxInt32 {
		s.Fail(fmt.Errorf("%d is not from 0 to %d", n, math.MaxInt32))
	}
	return int(n)
}

// Bool is true or false.
func (s *Line) Bool() bool {
	rest := s.line[s.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		s.at += 4
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		s.at += 5
	default:
		s.Fail(s.unexpected("true or false"))
	}
	return false
}

// Time is a string in the form of RFC 3339.
func (s *Line) Time() (t time.Time) {
	b := s.Bytes()
	if s.Err == nil && t.UnmarshalText(b) != nil {
		s.Fail(fmt.Errorf("%q is not a time such as 2026-10-01T08:30:00.123456Z", b))
	} else if s.Err == nil && OutOfRange(t) {
		s.Fail(fmt.Errorf("%s is %w", b, ErrRange))
	}
	return t
}

// Instant is a time that is kept in nanoseconds since 1970.
func (s *Line) Instant() time.Time {
	t := s.Time()
	if s.Err == nil && t.After(lastInstant) {
		s.Fail(fmt.Errorf("%s is after %d", t.Format(time.RFC3339Nano), lastInstant.Year()))
	}
	return t
}

var (
	// lastInstant is the last time that an int64 of nanoseconds holds, to the year.
	lastInstant = time.Date(2261, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	// ErrRange says what is wrong with a time that is OutOfRange.
	ErrRange = errors.New("before 1970 or after 9999")
)

// OutOfRange reports whether no clock that was meant to be right gives such a time.
func OutOfRange(t time.Time) bool {
	const year10000 = 253_402_300_800
	return t.Unix() < 0 || t.Unix() >= year10000
}

// Value is a value of any form, for encoding/json.
func (s *Line) Value(into any) {
	if s.Err != nil {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(s.line[s.at:]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		s.Fail(err)
		return
	}
	s.at += int(dec.InputOffset())
}

// Require fails where a field that must be there is empty.
func (s *Line) Require(name string, there bool) {
	if !there && s.Err == nil {
		s.Err = fmt.Errorf("%s: it is missing", name)
	}
}

// Need fails where one of the fields that must be there is not, be it empty.
func (s *Line) Need(names ...string) {
	for _, name := range names {
		s.Require(name, s.Err != nil || s.Has(name))
	}
}

// Ordered fails where a time is before the one that it must follow.
func (s *Line) Ordered(first string, from time.Time, second string, to time.Time) {
	if s.Err == nil && to.Before(from) {
		s.Err = fmt.Errorf("%s: it is before %s", second, first)
	}
}

// OneOf fails where a field has a word that is none of those that are known.
func (s *Line) OneOf(name, word string, known ...string) {
	for _, k := range known {
		if word == k {
			return
		}
	}
	if s.Err == nil {
		s.Err = fmt.Errorf("%s: %q is not one of %s", name, word, strings.Join(known, ", "))
	}
}
