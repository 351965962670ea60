package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// maxDepth bounds how deep objects and lists of a body may nest.
const maxDepth = 32

var errTooDeep = posthouse.Errorf(posthouse.CodeTooLarge, "the body nests deeper than %d levels", maxDepth)

// Body reads JSON bodies into a T, strictly: what encoding/json would let pass or guess is a problem here. Names
// are exact, unknown ones and those that stand twice are refused, a value of another type is named with its
// path, and all of that is found in one go.
type Body[T any] struct {
	shape    *Shape
	loose    bool
	optional bool
	keyed    bool
	others   []bodyForm[T]
}

// bodyForm is another form that a body may have.
type bodyForm[T any] struct {
	kind string // its media type
	read func(c *Call, text []byte) (T, error)
}

// BodyOf makes the reader of a body. A request whose body has a problem is refused before its handler sees it.
func BodyOf[T any](refine ...func(*Shape)) Body[T] {
	s := shapeOf(reflect.TypeFor[T]())
	for _, f := range refine {
		f(s)
	}
	return Body[T]{shape: s}
}

// Loose leaves the problems of the body in the call, for a handler that finds more and then asks Call.Wrong. It has to, before it changes anything:
// what is answered 422 must not have been done.
func (b Body[T]) Loose() Body[T] {
	b.loose = true
	return b
}

// Optional is for a body that may be missing.
func (b Body[T]) Optional() Body[T] {
	b.optional = true
	return b
}

// Keyed is for a request that may come with an Idempotency-Key: Call.Once has it, with the hash of the body. The
// problems of the body are left in the call, as by Loose.
func (b Body[T]) Keyed() Body[T] {
	b.keyed, b.loose = true, true
	return b
}

// OrCSV lets the body come as text/csv too. What read finds wrong it leaves in the call, as by Loose.
func (b Body[T]) OrCSV(read func(c *Call, text []byte) (T, error)) Body[T] {
	return b.or("text/csv", read)
}

// OrCalendar is OrCSV for text/calendar.
func (b Body[T]) OrCalendar(read func(c *Call, text []byte) (T, error)) Body[T] {
	return b.or("text/calendar", read)
}

// OrLines is OrCSV for application/x-ndjson: an object a line.
func (b Body[T]) OrLines(read func(c *Call, text []byte) (T, error)) Body[T] {
	return b.or("application/x-ndjson", read)
}

func (b Body[T]) or(kind string, read func(c *Call, text []byte) (T, error)) Body[T] {
	b.others, b.loose = append(slices.Clone(b.others), bodyForm[T]{kind, read}), true
	return b
}

// kinds are the media types that the body may have, the usual one first.
func (b Body[T]) kinds() []string {
	list := []string{"application/json"}
	for _, f := range b.others {
		list = append(list, f.kind)
	}
	return list
}

// from reads the body of a request.
func (b Body[T]) from(c *Call) (v T, err error) {
	if c.ContentLength == 0 {
		if err := c.Wrong(); err != nil || b.optional {
			return v, err
		}
	}
	kind, err := c.kindOf(b.kinds()...)
	if err != nil {
		return v, err
	}
	text, err := c.text()
	if err != nil {
		return v, err
	}
	for _, f := range b.others {
		if f.kind == kind {
			return f.read(c, text)
		}
	}
	v, problems, err := b.Read(text)
	if err != nil {
		return v, err
	}
	c.problems = append(c.problems, problems...)
	if b.keyed {
		c.Once = c.onceOf(text)
	}
	if !b.loose {
		err = c.Wrong()
	}
	return v, err
}

// atOnce is how long a body may be that is read in one walk. Of a longer one nothing is made before all of it was looked at:
// its lists can have too many entries.
const atOnce = 64 << 10

// Read decodes a body. Problems come with what could be read: values that have one are left out.
// The error is for a text that is no JSON at all, too deep, or has a list that is too long to look at.
func (b Body[T]) Read(text []byte) (v T, problems []posthouse.Problem, err error) {
	if len(text) > atOnce {
		w := walker{scanner: scanner{text: text}}
		if err := w.walk(b.shape, reflect.Value{}); err != nil {
			return v, nil, cmp.Or(checkSyntax(text), err)
		}
	}
	w := walker{scanner: scanner{text: text}}
	if err := w.walk(b.shape, reflect.ValueOf(&v).Elem()); err != nil {
		var nothing T
		return nothing, nil, cmp.Or(checkSyntax(text), err)
	}
	return v, w.problems, nil
}

// checkSyntax refuses what is not JSON.
func checkSyntax(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return Unreadable("the body is empty: want a JSON object")
	}
	if !utf8.Valid(text) {
		return Unreadable("the body is not valid UTF-8")
	}
	if json.Valid(text) {
		return nil
	}
	var syntax *json.SyntaxError
	var ignored any
	if err := json.Unmarshal(text, &ignored); errors.As(err, &syntax) {
		if strings.HasSuffix(syntax.Error(), "exceeded max depth") {
			return errTooDeep
		}
		before := text[:min(max(int(syntax.Offset)-1, 0), len(text))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		return Unreadable("the body is not JSON: line %d, column %d: %s", line, column, limittext.Syntax(text, syntax))
	}
	return Unreadable("the body is not JSON")
}

// without is a part of the text with null in place of each value that has a problem. The part begins at from.
func without(text []byte, from int, bad []span) []byte {
	bad = slices.SortedFunc(slices.Values(bad), func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range bad {
		if s.from-from < at {
			continue // inside one that is left out already
		}
		out = append(append(out, text[at:s.from-from]...), "null"...)
		at = s.to - from
	}
	return append(out, text[at:]...)
}
