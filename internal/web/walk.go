package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// span is a part of the text, from inclusive to exclusive.
type span struct{ from, to int }

// walker goes over a text once, beside the shape it should have: it finds out whether that is JSON, and sets what it finds
// right. Where there is nothing to set (an unknown field, say), the target is the zero reflect.Value.
type walker struct {
	scanner
	path     []byte
	keys     [][]byte // of the objects that are open, innermost last
	objects  int      // in lists, so far
	problems []posthouse.Problem
	bad      []span
}

// walk reads the whole text. What it sets is an addressable value.
func (w *walker) walk(s *Shape, into reflect.Value) error {
	if err := w.value(s, into, 0); err != nil {
		return err
	}
	if w.space(); w.at < len(w.text) {
		return errBroken
	}
	return nil
}

func (w *walker) value(s *Shape, into reflect.Value, depth int) error {
	w.space()
	if s.form == formAny && into.IsValid() {
		return w.raw(into, depth)
	}
	from := w.at
	switch c := w.peek(); c {
	case '{', '[':
		if depth == maxDepth {
			return errTooDeep
		}
		if c == '{' {
			return w.object(s, into, depth+1)
		}
		return w.list(s, into, depth+1)
	case '"':
		quoted := w.quoted()
		if quoted == nil {
			return errBroken
		}
		w.textAt(s, into, from, quoted)
	case 'n':
		return w.literal("null") // as if it was not given
	case 't', 'f':
		return w.truth(s, into, from, c == 't')
	default:
		if !w.number() {
			return errBroken
		}
		w.numberAt(s, into, from)
	}
	return nil
}

// raw reads what may be anything: its type reads it itself.
func (w *walker) raw(into reflect.Value, depth int) error {
	from, bad := w.at, len(w.bad)
	if err := w.value(anything, reflect.Value{}, depth); err != nil {
		return err
	}
	text := w.text[from:w.at]
	if len(w.bad) > bad {
		text = without(text, from, w.bad[bad:])
	}
	if into.Type() == rawType {
		into.SetBytes(bytes.Clone(text))
		return nil
	}
	if err := json.Unmarshal(text, into.Addr().Interface()); err != nil {
		return Unreadable("the body cannot be read: %s", err)
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

// refuse adds a problem with the value that began at from and ends here. Beyond those that are listed none is kept: a body can have
// millions.
func (w *walker) refuse(from int, format string, args ...any) {
	if !w.full() {
		w.bad = append(w.bad, span{from, w.at})
		w.problems = append(w.problems, posthouse.Problem{Path: string(w.path), Message: fmt.Sprintf(format, args...)})
	}
}

func (w *walker) object(s *Shape, into reflect.Value, depth int) error {
	from := w.at
	inner := s
	if s.form != formObject && s.form != formMap {
		inner, into = anything, reflect.Value{}
	}
	into = settled(into)
	opened := len(w.keys)
	var many map[string]bool
	w.at++
	more := !w.closes('}')
	for n := 0; more; n++ {
		if n == maxNames {
			return w.unlooked("has more than %d names", maxNames)
		}
		w.space()
		quoted := w.quoted()
		if quoted == nil {
			return errBroken
		}
		if w.space(); w.peek() != ':' {
			return errBroken
		}
		w.at++
		key := unquoted(quoted)
		if many == nil && len(w.keys)-opened == 16 {
			many = map[string]bool{}
			for _, k := range w.keys[opened:] {
				many[string(k)] = true
			}
		}
		if err := w.member(inner, into, key, oddOf(quoted), w.known(key, opened, many), depth); err != nil {
			return err
		}
		if many != nil {
			many[string(key)] = true
		} else {
			w.keys = append(w.keys, key)
		}
		var err error
		if more, err = w.goesOn('}'); err != nil {
			return err
		}
	}
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
func (w *walker) member(s *Shape, into reflect.Value, key []byte, odd string, twice bool, depth int) error {
	mark := len(w.path)
	w.step(key)
	inner, unknown := s.elem, false
	if s.form == formObject {
		f, ok := s.fields[string(key)]
		if inner, unknown = f.shape, !ok; ok && into.IsValid() {
			into = into.FieldByIndex(f.index)
		}
	}
	if inner == nil {
		inner = anything
	}
	if odd != "" || twice || unknown || s.form == formAny {
		into = reflect.Value{}
	}
	w.space()
	from := w.at
	if err := w.within(s, inner, into, key, depth); err != nil {
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

// within walks a member's value. Of a map it sets the entry.
func (w *walker) within(s, inner *Shape, into reflect.Value, key []byte, depth int) error {
	if s.form != formMap || !into.IsValid() {
		return w.value(inner, into, depth)
	}
	entry := reflect.New(into.Type().Elem()).Elem()
	err := w.value(inner, entry, depth)
	into.SetMapIndex(reflect.ValueOf(string(key)).Convert(into.Type().Key()), entry)
	return err
}

func (w *walker) list(s *Shape, into reflect.Value, depth int) error {
	from := w.at
	inner := s.elem
	if s.form != formList {
		inner, into = anything, reflect.Value{}
	}
	into = settled(into)
	mark := len(w.path)
	w.at++
	more := !w.closes(']')
	for i := 0; more; i++ {
		if s.form == formList {
			if err := w.another(s, i, mark); err != nil {
				return err
			}
		}
		w.path = append(strconv.AppendInt(append(w.path[:mark], '['), int64(i), 10), ']')
		if err := w.value(inner, next(into), depth); err != nil {
			return err
		}
		var err error
		if more, err = w.goesOn(']'); err != nil {
			return err
		}
	}
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

// unlooked is the error of a list that is not read any further.
func (w *walker) unlooked(format string, args ...any) error {
	return posthouse.Invalid(cannotAccept, []posthouse.Problem{{Path: string(w.path), Message: fmt.Sprintf(format, args...)}})
}

// tooLong is the error of a list that goes on after as many elements as it may have. The others are only counted.
func (w *walker) tooLong(s *Shape) error {
	if !json.Valid(w.text) {
		return errBroken
	}
	n := s.most
	w.space()
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
