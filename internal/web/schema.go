package web

import (
	"cmp"
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
		of := schemas.TypeFromRef(schemaPrefix + name)
		if of == nil {
			continue // one of several, or a list
		}
		for _, f := range reflect.VisibleFields(of) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := s.Properties[field]; p != nil && field != "" {
				t.describeField(p, f.Type)
				if f.Tag.Get("json_kind") == "any" {
					p.Type = "" // RawMessage is an object elsewhere
				}
				t.said(declarer(of, f), field).describe(p)
				p.ReadOnly = slices.Contains(t.Kept[of], field)
			}
		}
	}
}

// declarer is the type that a field stands in, which may be embedded.
func declarer(of reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		if of = of.Field(i).Type; of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
	}
	return of
}

// said is what is said of a field.
func (t Terms) said(of reflect.Type, field string) Said {
	if said, ok := t.Fields[of.String()][field]; ok {
		return said
	}
	return t.Fields["any"][field]
}

// describe adds to a schema what is said of it. What a doc tag says counts more.
func (s Said) describe(p *huma.Schema) {
	p.Description = cmp.Or(p.Description, s.Doc)
	if s.Example != nil {
		p.Examples = []any{s.Example}
	}
	p.MinLength, p.MaxLength, p.MinItems, p.MaxItems = cmp.Or(s.MinLength, p.MinLength), cmp.Or(s.MaxLength, p.MaxLength), cmp.Or(s.MinItems, p.MinItems), cmp.Or(s.MaxItems, p.MaxItems)
	p.Minimum, p.Maximum, p.Pattern = cmp.Or(s.Minimum, p.Minimum), cmp.Or(s.Maximum, p.Maximum), cmp.Or(s.Pattern, p.Pattern)
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
		s.Type, s.Nullable, s.OneOf = "", false, []*huma.Schema{{Type: huma.TypeInteger, Format: "int64"}, {Type: huma.TypeString}}
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
func (t Terms) oneOrMany(of reflect.Type, schemas huma.Registry) *huma.Schema {
	if of.Kind() != reflect.Struct || of.NumField() != 2 || !of.Field(0).Anonymous || of.Field(1).Type != reflect.SliceOf(of.Field(0).Type) {
		return nil
	}
	one := schemas.Schema(of.Field(0).Type, true, of.Field(0).Name)
	field, _, _ := strings.Cut(of.Field(1).Tag.Get("json"), ",")
	list := &huma.Schema{Type: huma.TypeArray, Items: one}
	t.said(of, field).describe(list)
	name := strings.TrimPrefix(one.Ref, schemaPrefix) + "List"
	schemas.Map()[name] = &huma.Schema{Type: huma.TypeObject, Required: []string{field}, AdditionalProperties: false, Properties: map[string]*huma.Schema{field: list}}
	return eitherOf(schemas, one, &huma.Schema{Ref: schemaPrefix + name})
}

const schemaPrefix = "#/components/schemas/"

// eitherOf is one of several schemas, by a name of its own: what generators make of a nameless one loses its content.
func eitherOf(schemas huma.Registry, of ...*huma.Schema) *huma.Schema {
	var names []string
	for _, s := range of {
		names = append(names, strings.TrimPrefix(s.Ref, schemaPrefix))
	}
	name := strings.Join(names, "Or")
	schemas.Map()[name] = &huma.Schema{OneOf: of}
	return &huma.Schema{Ref: schemaPrefix + name}
}
