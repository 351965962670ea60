package web

import (
	"bytes"
	"errors"
	"unicode/utf8"
)

// errBroken is of a text that is no JSON; checkSyntax says where.
var errBroken = errors.New("not JSON")

// scanner goes over a JSON text, a token at a time.
type scanner struct {
	text []byte
	at   int
}

// peek is the byte that comes next, 0 at the end: no JSON has one.
func (w *scanner) peek() byte {
	if w.at < len(w.text) {
		return w.text[w.at]
	}
	return 0
}

func (w *scanner) space() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

// closes moves behind the end of an object or a list, where it comes next.
func (w *scanner) closes(end byte) bool {
	w.space()
	if w.peek() != end {
		return false
	}
	w.at++
	return true
}

// goesOn moves behind a comma, or behind the end: then no more comes.
func (w *scanner) goesOn(end byte) (more bool, err error) {
	if w.closes(end) {
		return false, nil
	}
	if w.peek() != ',' {
		return false, errBroken
	}
	w.at++
	return true, nil
}

// literal moves behind a word.
func (w *scanner) literal(word string) error {
	if !bytes.HasPrefix(w.text[w.at:], []byte(word)) {
		return errBroken
	}
	w.at += len(word)
	return nil
}

// word moves behind a literal or a number of a valid text.
func (w *scanner) word() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return
		}
		w.at++
	}
}

// number moves behind a number, and reports whether there was one.
func (w *scanner) number() bool {
	if w.peek() == '-' {
		w.at++
	}
	if w.peek() == '0' {
		w.at++
	} else if !w.digits() {
		return false
	}
	if w.peek() == '.' {
		if w.at++; !w.digits() {
			return false
		}
	}
	if c := w.peek(); c == 'e' || c == 'E' {
		w.at++
		if c := w.peek(); c == '+' || c == '-' {
			w.at++
		}
		return w.digits()
	}
	return true
}

// digits moves behind digits, and reports whether there was one.
func (w *scanner) digits() bool {
	from := w.at
	for c := w.peek(); '0' <= c && c <= '9'; c = w.peek() {
		w.at++
	}
	return w.at > from
}

// quoted moves behind a string and returns it with its quotes, nil where there is none.
func (w *scanner) quoted() []byte {
	if w.peek() != '"' {
		return nil
	}
	high := false
	for i := w.at + 1; i < len(w.text); i++ {
		switch c := w.text[i]; {
		case c == '"':
			quoted := w.text[w.at : i+1]
			if high && !utf8.Valid(quoted) {
				return nil
			}
			w.at = i + 1
			return quoted
		case c == '\\':
			n := escaped(w.text[i+1:])
			if n == 0 {
				return nil
			}
			i += n
		case c < ' ':
			return nil
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	return nil
}

// escaped is how many bytes behind a backslash belong to it, 0 where they mean nothing.
func escaped(rest []byte) int {
	switch {
	case len(rest) == 0:
		return 0
	case rest[0] != 'u':
		return bytes.Count([]byte(escapeLetters), rest[:1])
	case len(rest) < 5:
		return 0
	}
	for _, c := range rest[1:5] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return 0
		}
	}
	return 5
}

// skip moves on to what follows a value of a list, in a valid text.
func (w *scanner) skip() {
	for depth := 0; ; w.at++ {
		switch w.text[w.at] {
		case '"':
			w.quoted()
			w.at-- // the loop goes on behind it
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
		case ',':
			if depth == 0 {
				return
			}
		}
	}
}

// unquoted is what a JSON string says.
func unquoted(quoted []byte) []byte {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	meant := make([]byte, 0, len(inside))
	for len(inside) > 0 {
		var r rune
		r, inside = firstRune(inside)
		meant = utf8.AppendRune(meant, r)
	}
	return meant
}
