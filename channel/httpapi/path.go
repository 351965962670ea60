package httpapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// path is a parsed JSON path: a key, any key, or where both are empty an index for each step.
type path []step

type step struct {
	key   string
	any   bool // the first member, whatever its name, or its place in a list
	index int
}

// parsePath reads $.a.b[0].*.c. The "$" alone is the whole document.
func parsePath(s string) (path, error) {
	rest, ok := strings.CutPrefix(s, "$")
	if !ok {
		return nil, fmt.Errorf("a JSON path begins with $, as in $.code or $.items[0].id")
	}
	var p path
	for rest != "" {
		st, after, err := parseStep(rest)
		if err != nil {
			return nil, fmt.Errorf("the JSON path %s is not well formed at %q: %w", s, rest, err)
		}
		p, rest = append(p, st), after
	}
	return p, nil
}

func parseStep(s string) (st step, rest string, err error) {
	if s[0] == '[' {
		number, rest, ok := strings.Cut(s[1:], "]")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 {
			return st, "", fmt.Errorf("an index is a number in brackets, such as [0]")
		}
		return step{index: n}, rest, nil
	}
	key, ok := strings.CutPrefix(s, ".")
	end := strings.IndexAny(key, ".[")
	if end < 0 {
		end = len(key)
	}
	if !ok || end == 0 {
		return st, "", fmt.Errorf("a step is a dot and a name, or an index in brackets")
	}
	if key[:end] == "*" {
		return step{any: true}, key[end:], nil
	}
	return step{key: key[:end]}, key[end:], nil
}

// find returns the raw value a path leads to. The document must be valid JSON. Of a key that
// stands twice the last counts, as in encoding/json.
func (p path) find(doc []byte) ([]byte, bool) {
	doc = trim(doc)
	for _, st := range p {
		var found []byte
		n := 0
		each(doc, func(key, value []byte) {
			switch {
			case st.any:
				if n == 0 {
					found = value
				}
			case st.key != "":
				if key != nil && text(key) == st.key {
					found = value
				}
			case key == nil && n == st.index:
				found = value
			}
			n++
		})
		if found == nil {
			return nil, false
		}
		doc = found
	}
	return doc, true
}

// findAll is find where a * is each member of its kind, and not the first alone.
func (p path) findAll(doc []byte) [][]byte {
	for i, st := range p {
		if !st.any {
			continue
		}
		var all [][]byte
		if found, ok := p[:i].find(doc); ok {
			each(found, func(_, value []byte) { all = append(all, p[i+1:].findAll(value)...) })
		}
		return all
	}
	if found, ok := p.find(doc); ok {
		return [][]byte{found}
	}
	return nil
}

// each calls f with the raw members of an object, or with those of an array and a nil key. Other
// values have none.
func each(doc []byte, f func(key, value []byte)) {
	if len(doc) == 0 || doc[0] != '{' && doc[0] != '[' {
		return
	}
	object := doc[0] == '{'
	for rest := trim(doc[1:]); len(rest) > 0 && rest[0] != '}' && rest[0] != ']'; {
		var key []byte
		if object {
			end := valueEnd(rest)
			key, rest = rest[:end], trim(rest[end:])
			if len(rest) == 0 {
				return // not valid JSON
			}
			rest = trim(rest[1:]) // the colon
		}
		end := valueEnd(rest)
		if end == 0 {
			return
		}
		f(key, rest[:end])
		rest = trim(rest[end:])
		if len(rest) > 0 && rest[0] == ',' {
			rest = trim(rest[1:])
		}
	}
}

// valueEnd is where the value at the start of valid JSON ends.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			} else if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// stringEnd is the closing quote of the string that opens at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i, len(b)-1)
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// text is a raw JSON value as a text: a string without its quotes, null as nothing, the rest as it stands.
func text(raw []byte) string {
	switch {
	case string(raw) == "null":
		return ""
	case len(raw) < 2 || raw[0] != '"':
		return strings.TrimRight(string(raw), " \t\r\n")
	case strings.IndexByte(string(raw), '\\') < 0:
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
