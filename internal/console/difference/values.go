package difference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Value is one value of a document that another has otherwise, by the path of its members.
type Value struct {
	Path     string
	From, To Said
}

// Said is a value as JSON; empty for nothing.
type Said struct {
	Text  string
	Plain bool // a text, without its quotes: what it looks like says nothing of what it is
}

// mostValues bounds the values of a difference.
const mostValues = 100

// Values are what two documents of JSON have otherwise, in the order of their paths: members of objects one by one, lists as a whole. Of a
// document that is none, all that the other has is new, or gone.
func Values(from, to json.RawMessage) []Value {
	before, after := map[string]Said{}, map[string]Said{}
	flatten("", from, before)
	flatten("", to, after)
	var out []Value
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if before[path] != after[path] && len(out) < mostValues {
			out = append(out, Value{path, before[path], after[path]})
		}
	}
	return out
}

// flatten notes the values below a path.
func flatten(path string, doc json.RawMessage, into map[string]Said) {
	doc = bytes.TrimSpace(doc)
	if len(doc) == 0 || string(doc) == "null" {
		return
	}
	if doc[0] == '{' {
		var members map[string]json.RawMessage
		if json.Unmarshal(doc, &members) == nil {
			for name, value := range members {
				flatten(strings.TrimPrefix(path+"."+name, "."), value, into)
			}
			return
		}
	}
	var text string
	if json.Unmarshal(doc, &text) == nil {
		into[path] = Said{text, true}
		return
	}
	into[path] = Said{Text: compact(doc)}
}

// compact is a value on one line; a list of windows or of texts is as people write it.
func compact(doc json.RawMessage) string {
	var windows []struct {
		Max *int    `json:"max"`
		Per *string `json:"per"`
	}
	if json.Unmarshal(doc, &windows) == nil && len(windows) > 0 && windows[0].Max != nil && windows[0].Per != nil {
		var parts []string
		for _, w := range windows {
			if w.Max == nil || w.Per == nil {
				return string(doc)
			}
			parts = append(parts, fmt.Sprintf("%d/%s", *w.Max, *w.Per))
		}
		return strings.Join(parts, ", ")
	}
	var texts []string
	if json.Unmarshal(doc, &texts) == nil {
		return strings.Join(texts, ", ")
	}
	var out bytes.Buffer
	if json.Compact(&out, doc) != nil {
		return string(doc)
	}
	return out.String()
}
