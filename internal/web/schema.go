package web

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Any lists values for Terms.Words.
func Any[T any](values ...T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// complete adds to the schemas what Go types do not say.
func (t Terms) complete(schemas huma.Registry) {
	for name, s := range schemas.Map() {
		of := schemas.TypeFromRef("#/components/schemas/" + name)
		for _, f := range reflect.VisibleFields(of) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[field]; p != nil && field != "" {
				t.describeField(p, f.Type)
				if f.Tag.Get("json_kind") == "any" {
					p.Type = "" // RawMessage is an object elsewhere
				}
				p.ReadOnly = slices.Contains(t.Kept[of], field)
			}
		}
	}
}

// describeField adds what is allowed. Lists are never null: the API answers empty ones.
func (t Terms) describeField(s *huma.Schema, of reflect.Type) {
	switch {
	case of.Kind() == reflect.Pointer:
		t.describeField(s, of.Elem())
	case of == reflect.TypeFor[json.RawMessage]():
		s.Type = huma.TypeObject
	case of == reflect.TypeFor[posthouse.Duration]():
		s.Examples = []any{"90s", "1h30m", "7d"}
	case of == reflect.TypeFor[wire.Ident]():
		s.Type, s.OneOf = "", []*huma.Schema{{Type: huma.TypeInteger, Format: "int64"}, {Type: huma.TypeString}}
	case t.Words[of] != nil:
		s.Enum = t.Words[of]
	case of.Kind() == reflect.Slice:
		s.Nullable = false
		t.describeField(s.Items, of.Elem())
	case of.Kind() == reflect.Map:
		if value, ok := s.AdditionalProperties.(*huma.Schema); ok {
			t.describeField(value, of.Elem())
		}
	}
}

// oneOrMany is the schema of a body that is a thing, or an object with a list of them: a type that embeds the one
// and has the list as its only field beside.
func oneOrMany(of reflect.Type, schemas huma.Registry) *huma.Schema {
	if of.Kind() != reflect.Struct || of.NumField() != 2 || !of.Field(0).Anonymous || of.Field(1).Type != reflect.SliceOf(of.Field(0).Type) {
		return nil
	}
	one := schemas.Schema(of.Field(0).Type, true, of.Field(0).Name)
	name, _, _ := strings.Cut(of.Field(1).Tag.Get("json"), ",")
	return &huma.Schema{OneOf: []*huma.Schema{one, {
		Type: "object", Required: []string{name},
		Properties: map[string]*huma.Schema{name: {Type: "array", Items: one}},
	}}}
}
