package web

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
)

// span is a part of the text, from inclusive to exclusive.
type span struct{ from, to int }

// walker goes over a valid JSON text once, beside the shape it should have. It makes nothing of
// the values: encoding/json does that afterwards, of what the walker found right.
type walker struct {
	text     []byte
	at       int
	path     []byte
	keys     [][]byte // of the objects that are open, innermost last
	objects  int      // in lists, so far
	problems []posthouse.Problem
	bad      []span
}

func (w *walker) walk(s *Shape) error { return w.value(s, 0) }

func (w *walker) value(s *Shape, depth int) error {
	w.space()
	from := w.at
	switch c := w.text[w.at]; c {
	case '{', '[':
		if depth == maxDepth {
			return errTooDeep
		}
		if c == '{' {
			return w.object(s, depth+1)
		}
		return w.list(s, depth+1)
	case '"':
		w.checkText(s, from, w.quoted())
	case 'n':
		w.at += len("null") // as if it was not given
	case 't', 'f':
		w.word()
		w.expect(s, from, formBool, "true or false")
	default:
		w.word()
		w.checkNumber(s, from)
	}
	return nil
}

// expect adds a problem where the shape wants another form.
func (w *walker) expect(s *Shape, from int, got form, name string) bool {
	if s.form == got || s.form == formAny {
		return true
	}
	w.refuse(from, "is %s: want %s", name, s.want)
	return false
}

// full reports whether there are as many problems as are listed and one more, so that it is said that there are more.
func (w *walker) full() bool { return len(w.problems) > maxProblems }

// refuse adds a problem with the value that began at from and ends here.
func (w *walker) refuse(from int, format string, args ...any) {
	w.bad = append(w.bad, span{from, w.at})
	if !w.full() {
		w.problems = append(w.problems, posthouse.Problem{Path: string(w.path), Message: fmt.Sprintf(format, args...)})
	}
}

func (w *walker) object(s *Shape, depth int) error {
	from := w.at
	inner := s
	if s.form != formObject && s.form != formMap {
		inner = anything
	}
	opened := len(w.keys)
	var many map[string]bool
	w.at++
	for w.space(); w.text[w.at] != '}'; w.space() {
		quoted := w.quoted()
		key := unquoted(quoted)
		w.space()
		w.at++ // the colon
		if many == nil && len(w.keys)-opened == 16 {
			many = map[string]bool{}
			for _, k := range w.keys[opened:] {
				many[string(k)] = true
			}
		}
		if err := w.member(inner, key, draft.UnkeptJSON(quoted), w.known(key, opened, many), depth); err != nil {
			return err
		}
		if many != nil {
			many[string(key)] = true
		} else {
			w.keys = append(w.keys, key)
		}
		if w.space(); w.text[w.at] == ',' {
			w.at++
		}
	}
	w.at++
	w.keys = w.keys[:opened]
	if inner != s {
		w.expect(s, from, formObject, "an object")
	}
	return nil
}

// known reports whether a key of the object stood before: few are compared, many are looked up.
func (w *walker) known(key []byte, opened int, many map[string]bool) bool {
	if many != nil {
		return many[string(key)]
	}
	for _, k := range w.keys[opened:] {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// member walks one value of an object. odd is what is wrong with its name.
func (w *walker) member(s *Shape, key []byte, odd string, twice bool, depth int) error {
	mark := len(w.path)
	w.step(key)
	inner, unknown := s.elem, false
	if s.form == formObject {
		inner = s.fields[string(key)]
		unknown = inner == nil
	}
	if inner == nil {
		inner = anything
	}
	w.space()
	from := w.at
	if err := w.value(inner, depth); err != nil {
		return err
	}
	switch {
	case odd != "":
		w.refuse(from, "has a name that %s", odd)
	case twice:
		w.refuse(from, "stands twice in its object")
	case unknown && w.full():
		w.refuse(from, "is unknown") // what it may have meant is not looked for any more
	case unknown:
		w.refuse(from, "%s", channel.UnknownName("field", string(key), s.names))
	}
	w.path = w.path[:mark]
	return nil
}

func (w *walker) list(s *Shape, depth int) error {
	from := w.at
	inner := s.elem
	if s.form != formList {
		inner = anything
	}
	mark := len(w.path)
	w.at++
	for i := 0; ; i++ {
		if w.space(); w.text[w.at] == ']' {
			break
		}
		if s.form == formList {
			if err := w.another(s, i, mark); err != nil {
				return err
			}
		}
		w.path = append(strconv.AppendInt(append(w.path[:mark], '['), int64(i), 10), ']')
		if err := w.value(inner, depth); err != nil {
			return err
		}
		if w.space(); w.text[w.at] == ',' {
			w.at++
		}
	}
	w.at++
	w.path = w.path[:mark]
	w.expect(s, from, formList, "a list")
	return nil
}

// another lets a list have one more element after so many, or says that there are too many. mark is where its path ends.
func (w *walker) another(s *Shape, n, mark int) error {
	if s.elem.form == formObject {
		w.objects++
	}
	if n < s.most && w.objects <= maxObjects {
		return nil
	}
	w.path = w.path[:mark]
	if n >= s.most {
		return w.tooLong(s)
	}
	return w.unlooked("has too many entries: all lists of a request have at most %d together", maxObjects)
}

// unlooked is the error of a list that nobody looks at any further.
func (w *walker) unlooked(format string, args ...any) error {
	return posthouse.Invalid(cannotAccept, []posthouse.Problem{{Path: string(w.path), Message: fmt.Sprintf(format, args...)}})
}

// tooLong is the error of a list that goes on after as many elements as it may have. The others are only counted.
func (w *walker) tooLong(s *Shape) error {
	n := s.most
	for ; w.text[w.at] != ']'; n++ {
		w.skip()
		if w.text[w.at] == ',' {
			w.at++
		}
		w.space()
	}
	if s.noun != "" {
		return w.unlooked("has %d %s: want 1 to %d", n, s.noun, s.most)
	}
	return w.unlooked("has %d entries: at most %d are allowed", n, s.most)
}

// skip moves on to what follows a value of a list.
func (w *walker) skip() {
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

// step appends a key to the path: .name, or ["odd name"].
func (w *walker) step(key []byte) {
	const most = 64
	if len(key) > most {
		key = append(bytes.ToValidUTF8(key[:most:most], nil), "…"...)
	}
	switch {
	case !plainName(key):
		w.path = append(strconv.AppendQuote(append(w.path, '['), string(key)), ']')
	case len(w.path) == 0:
		w.path = append(w.path, key...)
	default:
		w.path = append(append(w.path, '.'), key...)
	}
}

// plainName reports whether a key needs no quotes in a path.
func plainName(key []byte) bool {
	for _, c := range key {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(key) > 0
}

// checkText checks a string, given with its quotes.
func (w *walker) checkText(s *Shape, from int, quoted []byte) {
	if odd := draft.UnkeptJSON(quoted); odd != "" && !s.mended {
		w.refuse(from, "%s", odd)
		return
	}
	if s.form != formParsed {
		w.expect(s, from, formText, "a string")
		return
	}
	text := string(unquoted(quoted))
	if len(text) > 100 {
		w.refuse(from, "has %d bytes: want %s", len(text), s.want)
	} else if err := s.parse(text); errors.Is(err, errYear) {
		w.refuse(from, "is %q: %s", text, err)
	} else if err != nil {
		w.refuse(from, "is %q: want %s", text, s.want)
	}
}

func (w *walker) checkNumber(s *Shape, from int) {
	text := string(w.text[from:w.at])
	switch s.form {
	case formAny:
	case formInteger:
		if _, err := strconv.Atoi(text); err != nil {
			w.refuse(from, "is %.40s: want a whole number", text)
		}
	case formNumber:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			w.refuse(from, "is %.40s, which is out of range", text)
		}
	default:
		w.refuse(from, "is a number: want %s", s.want)
	}
}

// space, word and quoted move on; the text is known to be valid.
func (w *walker) space() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

func (w *walker) word() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return
		}
		w.at++
	}
}

func (w *walker) quoted() []byte {
	from := w.at
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.text[from:w.at]
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
