package verify

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

// scan reads one line: a flat JSON object of known fields. It is here because millions of lines are
// read, and encoding/json takes most of the time there is for it (the benchmark compares them); it is
// stricter, too. The caller walks over the fields:
//
//	for s.field() {
//		switch string(s.name) {
//		case "version": e.Version = s.number()
//		default: s.unknown()
//		}
//	}
//
// The first error stays, and ends the walk.
type scan struct {
	line  []byte
	at    int
	name  []byte // the current field's
	first bool   // nothing has been read yet
	row   int    // the line's number, blank ones counted
	err   error
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

// begin takes the next line.
func (s *scan) begin(line []byte) {
	if s.words == nil {
		s.words = map[string]string{}
	}
	s.line, s.at, s.name, s.first, s.err = line, 0, nil, true, nil
	s.given, s.bits = s.given[:0], 0
	if s.skip() != '{' {
		s.fail(errObject)
	}
	s.at++
}

// skip passes blanks and is the byte after them, 0 at the end.
func (s *scan) skip() byte {
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

func (s *scan) fail(err error) {
	if s.err == nil {
		s.err = err
		if s.name != nil {
			s.err = fmt.Errorf("%s: %w", s.name, err)
		}
	}
}

// field goes to the next field's value and reports whether there is one.
func (s *scan) field() bool {
	if s.err != nil {
		return false
	}
	c := s.skip()
	if c == '}' {
		s.name = nil
		if s.at++; s.skip() != 0 {
			s.fail(errors.New("something stands after the object"))
		}
		return false
	}
	if !s.first {
		if c != ',' {
			s.fail(s.unexpected("a comma or the object's end"))
			return false
		}
		s.at++
		s.skip()
	}
	s.first = false
	name := s.text()
	if s.err != nil {
		return false
	}
	if s.skip() != ':' {
		s.fail(s.unexpected("a colon"))
		return false
	}
	s.at++
	s.skip()
	s.name = name
	s.note()
	return s.err == nil
}

// note keeps the current field's name, which may be given once.
func (s *scan) note() {
	if len(s.name) > 0 {
		bit := uint64(1) << ((len(s.name)*7 + int(s.name[0])*3 + int(s.name[len(s.name)-1])) & 63)
		if s.bits&bit != 0 && s.has(string(s.name)) {
			s.fail(errors.New("it is given twice"))
		}
		s.bits |= bit
	}
	s.given = append(s.given, s.name)
}

// has reports whether a field was given, be it empty.
func (s *scan) has(name string) bool {
	for _, g := range s.given {
		if string(g) == name {
			return true
		}
	}
	return false
}

func (s *scan) unexpected(wanted string) error {
	if s.at >= len(s.line) {
		return errEnd
	}
	return fmt.Errorf("there is %q at character %d where %s is due", s.line[s.at], s.at+1, wanted)
}

func (s *scan) unknown() { s.fail(errors.New("there is no such field")) }

// text is a string. The bytes are good until the next line.
func (s *scan) text() []byte {
	if s.err != nil {
		return nil
	}
	if s.at >= len(s.line) || s.line[s.at] != '"' {
		s.fail(s.unexpected("a string"))
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
	s.fail(errEnd)
	return nil
}

// escaped is a string with escapes, which are rare: encoding/json reads it.
func (s *scan) escaped(from int) []byte {
	for i := from + 1; i < len(s.line); i++ {
		switch s.line[i] {
		case '\\':
			i++
		case '"':
			var text string
			if err := json.Unmarshal(s.line[from:i+1], &text); err != nil {
				s.fail(err)
			}
			s.at = i + 1
			return []byte(text)
		}
	}
	s.fail(errEnd)
	return nil
}

// string is a text of its own.
func (s *scan) string() string { return string(s.text()) }

// word is a text that is likely to have been read before.
func (s *scan) word() string {
	b := s.text()
	if w, ok := s.words[string(b)]; ok {
		return w
	}
	w := string(b)
	if len(w) <= maxWord && len(s.words) < maxWords {
		s.words[w] = w
	}
	return w
}

// like is a text that is likely to be the one of the line before.
func (s *scan) like(last string) string {
	if b := s.text(); string(b) != last {
		return string(b)
	}
	return last
}

// number is a whole number.
func (s *scan) number() int64 {
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
		s.fail(s.unexpected("a number"))
	case errors.Is(err, strconv.ErrRange):
		s.fail(fmt.Errorf("%s is too large", digits))
	case err != nil || digits[0] == '+' || strings.HasPrefix(strings.TrimPrefix(string(digits), "-"), "0"):
		s.fail(fmt.Errorf("%s is not a whole number", digits))
	}
	return n
}

// int is a whole number that counts something, from 0 to two thousand million.
func (s *scan) int() int {
	n := s.number()
	if n < 0 || n > math.MaxInt32 {
		s.fail(fmt.Errorf("%d is not from 0 to %d", n, math.MaxInt32))
	}
	return int(n)
}

// bool is true or false.
func (s *scan) bool() bool {
	rest := s.line[s.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		s.at += 4
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		s.at += 5
	default:
		s.fail(s.unexpected("true or false"))
	}
	return false
}

// time is a string in the form of RFC 3339.
func (s *scan) time() (t time.Time) {
	b := s.text()
	if s.err == nil && t.UnmarshalText(b) != nil {
		s.fail(fmt.Errorf("%q is not a time such as 2026-10-01T08:30:00.123456Z", b))
	} else if s.err == nil && outOfRange(t) {
		s.fail(fmt.Errorf("%s is %w", b, errRange))
	}
	return t
}

// instant is a time that is kept in nanoseconds since 1970.
func (s *scan) instant() time.Time {
	t := s.time()
	if s.err == nil && t.After(lastInstant) {
		s.fail(fmt.Errorf("%s is after %d", t.Format(time.RFC3339Nano), lastInstant.Year()))
	}
	return t
}

var (
	lastInstant = time.Date(2261, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	errRange    = errors.New("before 1970 or after 9999")
)

// outOfRange reports whether no clock that was meant to be right gives such a time.
func outOfRange(t time.Time) bool {
	const year10000 = 253_402_300_800
	return t.Unix() < 0 || t.Unix() >= year10000
}

// value is a value of any form, for encoding/json.
func (s *scan) value(into any) {
	if s.err != nil {
		return
	}
	dec := json.NewDecoder(bytes.NewReader(s.line[s.at:]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		s.fail(err)
		return
	}
	s.at += int(dec.InputOffset())
}

// require fails where a field that must be there is empty.
func (s *scan) require(name string, there bool) {
	if !there && s.err == nil {
		s.err = fmt.Errorf("%s: it is missing", name)
	}
}

// need fails where one of the fields that must be there is not, be it empty.
func (s *scan) need(names ...string) {
	for _, name := range names {
		s.require(name, s.err != nil || s.has(name))
	}
}

// ordered fails where a time is before the one that it must follow.
func (s *scan) ordered(first string, from time.Time, second string, to time.Time) {
	if s.err == nil && to.Before(from) {
		s.err = fmt.Errorf("%s: it is before %s", second, first)
	}
}

// oneOf fails where a field has a word that is none of those that are known.
func (s *scan) oneOf(name, word string, known ...string) {
	for _, k := range known {
		if word == k {
			return
		}
	}
	if s.err == nil {
		s.err = fmt.Errorf("%s: %q is not one of %s", name, word, strings.Join(known, ", "))
	}
}
