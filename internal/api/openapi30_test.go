package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const forGenerators = "../../docs/openapi/openapi-3.0.json"

// Generators that do not read 3.1 get the same document as 3.0.3.
func TestTheCopyForGeneratorsSaysTheSame(t *testing.T) {
	t.Parallel()
	made, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	var document node
	if err := json.Unmarshal(made, &document); err != nil {
		t.Fatal(err)
	}
	operations := countOperations(t, document)
	document["openapi"] = "3.0.3"
	document["info"].(node)["license"] = node{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"}
	older(document)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(forGenerators, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(forGenerators)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(stored), out.String()); diff != "" {
		t.Errorf("%s is not what the API is: run go test ./internal/api -update and look at the difference (-committed +made):\n%s", forGenerators, diff)
	}
	var copied node
	if err := json.Unmarshal(stored, &copied); err != nil {
		t.Fatal(err)
	}
	if got := countOperations(t, copied); got != operations {
		t.Errorf("the copy has %d operations, want %d", got, operations)
	}
	allowed := slices.Concat(annotations, []string{
		"$ref", "additionalProperties", "allOf", "anyOf", "enum", "format", "items", "maxItems", "maxLength", "maxProperties", "maximum",
		"minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "nullable", "oneOf", "pattern", "properties", "required",
		"type", "uniqueItems",
	})
	schemas(copied, func(s node) {
		for key, value := range s {
			if !slices.Contains(allowed, key) {
				t.Errorf("a schema says %s, which 3.0 does not know: %v", key, s)
			}
			if _, ok := value.(string); key == "type" && !ok {
				t.Errorf("a schema has several types: %v", s)
			}
		}
		if s["$ref"] != nil && len(s) > 1 {
			t.Errorf("beside $ref 3.0 ignores what stands: %v", s)
		}
	})
}

var annotations = []string{"default", "deprecated", "description", "discriminator", "example", "exclusiveMaximum", "exclusiveMinimum", "externalDocs", "readOnly", "title", "writeOnly", "xml"}

func countOperations(t *testing.T, document node) (n int) {
	t.Helper()
	for _, path := range document["paths"].(node) {
		for method := range path.(node) {
			if method != "parameters" {
				n++
			}
		}
	}
	if n < 100 {
		t.Fatalf("the document has %d operations", n)
	}
	return n
}

// older says in the words of 3.0 what schemas say in those of 3.1.
func older(document node) {
	schemas(document, func(s node) {
		if list, ok := s["examples"].([]any); ok {
			delete(s, "examples")
			if len(list) > 0 {
				s["example"] = list[0]
			}
		}
		if list, ok := s["type"].([]any); ok {
			rest := slices.DeleteFunc(list, func(v any) bool { return v == "null" })
			s["type"], s["nullable"] = rest[0], true
		}
		if _, ok := s["contentMediaType"]; ok {
			delete(s, "contentMediaType")
			s["type"], s["format"] = "string", "binary"
		}
		if value, ok := s["const"]; ok {
			delete(s, "const")
			s["enum"] = []any{value}
		}
		if ref, ok := s["$ref"]; ok && len(s) > 1 {
			delete(s, "$ref")
			s["allOf"] = []any{node{"$ref": ref}}
		}
	})
}

// schemas visits each schema of a document, an outer one before those in it.
func schemas(document node, visit func(node)) {
	var schema func(v any)
	schema = func(v any) {
		s, ok := v.(node)
		if !ok { // a bool
			return
		}
		visit(s)
		for _, key := range []string{"items", "additionalProperties", "not"} {
			schema(s[key])
		}
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			list, _ := s[key].([]any)
			for _, one := range list {
				schema(one)
			}
		}
		properties, _ := s["properties"].(node)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			schema(properties[name])
		}
	}
	components := document["components"].(node)
	named, _ := components["schemas"].(node)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		schema(named[name])
	}
	// Everywhere else a schema stands at the key schema.
	var find func(v any)
	find = func(v any) {
		switch v := v.(type) {
		case node:
			for key, one := range v {
				if key == "schema" {
					schema(one)
				} else if key != "example" && key != "examples" {
					find(one)
				}
			}
		case []any:
			for _, one := range v {
				find(one)
			}
		}
	}
	find(document["paths"])
	for key, one := range components {
		if key != "schemas" {
			find(one)
		}
	}
}
