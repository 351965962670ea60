package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// maxDepth bounds how deep objects and lists of a body may nest.
const maxDepth = 32

var errTooDeep = posthouse.Errorf(posthouse.CodeTooLarge, "the body nests deeper than %d levels", maxDepth)

// body reads JSON bodies into a T, strictly: what encoding/json would let pass or guess is a
// problem here. Names are exact, unknown ones and those that stand twice are refused, a value of
// another type is named with its path, and all of that is found in one go.
type body[T any] struct{ shape *shape }

func bodyOf[T any](refine ...func(*shape)) body[T] {
	s := shapeOf(reflect.TypeFor[T]())
	for _, f := range refine {
		f(s)
	}
	return body[T]{s}
}

// read decodes a body. Problems come with what could be read: values that have one are left out.
// The error is for a text that is no JSON at all, too deep, or has a list that is too long to look at.
func (b body[T]) read(text []byte) (v T, problems []posthouse.Problem, err error) {
	if err := checkSyntax(text); err != nil {
		return v, nil, err
	}
	w := walker{text: text}
	if err := w.walk(b.shape); err != nil {
		return v, nil, err
	}
	if len(w.problems) > 0 {
		text = w.good()
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, nil, unreadable("the body can not be read: %s", err)
	}
	return v, w.problems, nil
}

// checkSyntax refuses what is not JSON.
func checkSyntax(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return unreadable("the body is empty: want a JSON object")
	}
	if !utf8.Valid(text) {
		return unreadable("the body is not valid UTF-8")
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
		return unreadable("the body is not JSON: line %d, column %d: %s", line, column, syntax)
	}
	return unreadable("the body is not JSON")
}

// good is the text with null in place of each value that has a problem.
func (w *walker) good() []byte {
	slices.SortFunc(w.bad, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range w.bad {
		if s.from < at {
			continue // inside one that is left out already
		}
		out = append(append(out, w.text[at:s.from]...), "null"...)
		at = s.to
	}
	return append(out, w.text[at:]...)
}
