package api

import (
	"encoding"
	"encoding/json"
	"reflect"
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

// shape is a body's Go type as the reader needs it.
type shape struct {
	form   form
	want   string            // what is allowed, for a problem
	fields map[string]*shape // of an object
	names  []string          // of its fields, in their order
	elem   *shape            // of a list or a map
	parse  func(text string) error
	most   int    // elements of a list
	noun   string // what a problem calls them, where at least one is wanted
	mended bool   // of a text: whoever reads it takes out U+0000, as encoding/json does half a surrogate pair
}

// A body of two letters for each object of a list would become a hundred times its size before a handler sees how many
// there are. maxElements bounds the lists that have no smaller bound of their own, maxObjects the objects in all lists
// together, as lists can lie in lists.
const (
	maxElements = 10_000
	maxObjects  = 100_000
)

// oneTo bounds the list of a body that its handler wants 1 to so many elements of.
func oneTo(most int, field, noun string) func(*shape) {
	return func(s *shape) { s.fields[field].most, s.fields[field].noun = most, noun }
}

var (
	rawType   = reflect.TypeFor[json.RawMessage]()
	identType = reflect.TypeFor[ident]()
	timeType  = reflect.TypeFor[time.Time]()
	textType  = reflect.TypeFor[encoding.TextUnmarshaler]()
	anything  = &shape{form: formAny}
)

// wants says what is allowed for the types that say no more by themselves.
var wants = map[reflect.Type]string{
	timeType:                              "a time such as 2026-10-01T08:30:00+08:00",
	reflect.TypeFor[posthouse.Duration](): `a duration such as "500ms", "90s", "5m", "1h30m" or "7d"`,
}

// shapeOf follows a Go type as encoding/json does. The types of bodies are not recursive.
func shapeOf(t reflect.Type) *shape {
	if t.Kind() == reflect.Pointer {
		return shapeOf(t.Elem())
	}
	switch {
	case t == rawType, t == identType, t.Kind() == reflect.Interface:
		return anything
	case reflect.PointerTo(t).Implements(textType):
		return &shape{form: formParsed, want: wants[t], parse: parserOf(t)}
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &shape{form: formObject, want: "an object", fields: map[string]*shape{}}
		s.add(t)
		return s
	case reflect.Map:
		return &shape{form: formMap, want: "an object", elem: shapeOf(t.Elem())}
	case reflect.Slice:
		return &shape{form: formList, want: "a list", elem: shapeOf(t.Elem()), most: maxElements}
	case reflect.String:
		return &shape{form: formText, want: "a string"}
	case reflect.Bool:
		return &shape{form: formBool, want: "true or false"}
	case reflect.Float64:
		return &shape{form: formNumber, want: "a number"}
	}
	return &shape{form: formInteger, want: "a whole number"}
}

// add takes the fields of a struct, those of embedded ones too.
func (s *shape) add(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.add(f.Type)
		case f.IsExported() && name != "-":
			s.fields[name] = shapeOf(f.Type)
			s.names = append(s.names, name)
		}
	}
}

func parserOf(t reflect.Type) func(string) error {
	return func(text string) error {
		return reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
}
