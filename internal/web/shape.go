package web

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// form is what JSON may stand at a place of a body.
type form int

const (
	formAny form = iota
	formObject
	formMap
	formList
	formText
	formParsed // a text with a form of its own, such as a time
	formInteger
	formNumber
	formBool
)

// Shape is a body's Go type as the reader needs it.
type Shape struct {
	form   form
	want   string           // what is allowed, for a problem
	fields map[string]field // of an object
	names  []string         // of its fields, in their order
	elem   *Shape           // of a list or a map
	parse  func(text []byte) (reflect.Value, error)
	most   int    // elements of a list
	noun   string // what a problem calls them, where at least one is wanted
	mended bool   // of a text: whoever reads it takes out U+0000, as encoding/json does half a surrogate pair
}

// field is one of an object, with where its struct has it.
type field struct {
	shape *Shape
	index []int
}

// A body of two letters for each object of a list would become a hundred times its size before a handler sees how many
// there are. maxElements bounds the lists that have no smaller bound of their own, maxObjects the objects in all lists
// together, as lists can lie in lists, and maxNames what stands in one object: each name costs many times its bytes.
const (
	maxElements = 10_000
	maxObjects  = 100_000
	maxNames    = 10_000
)

// OneTo bounds the list of a body that its handler wants 1 to so many elements of.
func OneTo(most int, field, noun string) func(*Shape) {
	return func(s *Shape) { s.fields[field].shape.most, s.fields[field].shape.noun = most, noun }
}

// Mended lets U+0000 and half a surrogate pair stand in a text of the body, named by the fields that lead to it:
// its reader takes them out.
func Mended(path ...string) func(*Shape) {
	return func(s *Shape) {
		for _, name := range path {
			if s.elem != nil {
				s = s.elem
			}
			s = s.fields[name].shape
		}
		s.mended = true
	}
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	ownType  = reflect.TypeFor[json.Unmarshaler]()
	timeType = reflect.TypeFor[time.Time]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	anything = &Shape{form: formAny}
)

// wantTime is what a time of a body or a query must be.
const wantTime = "a time such as 2026-10-01T08:30:00+08:00"

// errYear is the error of a time with a year out of range.
var errYear = fmt.Errorf("want a time of the years %d to %d in UTC", posthouse.FirstYear, posthouse.LastYear)

// wants says what is allowed for the types that say no more by themselves.
var wants = map[reflect.Type]string{
	timeType:                              wantTime,
	reflect.TypeFor[posthouse.Duration](): `a duration such as "500ms", "90s", "5m", "1h30m" or "7d"`,
}

// shapeOf follows a Go type as encoding/json does. The types of bodies are not recursive.
func shapeOf(t reflect.Type) *Shape {
	if t.Kind() == reflect.Pointer {
		return shapeOf(t.Elem())
	}
	switch {
	case t == rawType, t.Kind() == reflect.Interface:
		return anything
	case reflect.PointerTo(t).Implements(textType):
		return &Shape{form: formParsed, want: wants[t], parse: parserOf(t)}
	case reflect.PointerTo(t).Implements(ownType):
		return anything // its handler says what is wrong with it
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &Shape{form: formObject, want: "an object", fields: map[string]field{}}
		s.add(t, nil)
		return s
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("web: nothing reads the keys of a " + t.String() + " of a body")
		}
		return &Shape{form: formMap, want: "an object", elem: shapeOf(t.Elem())}
	case reflect.Slice:
		return &Shape{form: formList, want: "a list", elem: shapeOf(t.Elem()), most: maxElements}
	case reflect.String:
		return &Shape{form: formText, want: "a string"}
	case reflect.Bool:
		return &Shape{form: formBool, want: "true or false"}
	case reflect.Float64:
		return &Shape{form: formNumber, want: "a number"}
	}
	if zero := reflect.Zero(t); !zero.CanInt() && !zero.CanUint() {
		panic("web: nothing reads a " + t.String() + " of a body")
	}
	return &Shape{form: formInteger, want: "a whole number"}
}

// add takes the fields of a struct, those of embedded ones too. at is where an embedded one stands.
func (s *Shape) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.add(f.Type, index)
		case f.IsExported() && name != "-":
			s.fields[name] = field{shapeOf(f.Type), index}
			s.names = append(s.names, name)
		}
	}
}

func parserOf(t reflect.Type) func([]byte) (reflect.Value, error) {
	if t == timeType {
		return func(text []byte) (reflect.Value, error) {
			at, err := parseTime(text)
			return reflect.ValueOf(at), err
		}
	}
	return func(text []byte) (reflect.Value, error) {
		v := reflect.New(t)
		err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
		return v.Elem(), err
	}
}

// parseTime reads a time that every database keeps and every answer can write. The zero time does not mean that none is
// given.
func parseTime(text []byte) (t time.Time, err error) {
	err = t.UnmarshalText(text) // stricter than time.Parse, as encoding/json is
	if err == nil && !posthouse.ValidTime(t) {
		err = errYear
	}
	return t, err
}
