package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// JSON is a parsed JSON whose strings are templates; the names of its members are not. It never changes and may be used by many
// goroutines at once.
type JSON struct {
	pieces []piece
	names  []string
}

// piece is JSON as it stands, or a string with placeholders.
type piece struct {
	literal string
	text    string
	filled  *Template // nil for a literal
}

// ParseJSON reads a JSON with placeholders in its strings. Its error says in which string a placeholder is wrong.
func ParseJSON(raw []byte) (*JSON, error) {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return nil, errors.New("is not JSON")
	}
	out, text, literal := &JSON{}, compact.Bytes(), []byte{}
	for i := 0; i < len(text); {
		if text[i] != '"' {
			literal = append(literal, text[i])
			i++
			continue
		}
		end := stringEnd(text, i)
		var s string
		if err := json.Unmarshal(text[i:end], &s); err != nil {
			return nil, fmt.Errorf("is not JSON: %w", err)
		}
		i = end
		if end < len(text) && text[end] == ':' || !strings.ContainsAny(s, "${") {
			literal = JSONValue.Append(literal, s)
			continue
		}
		parsed, err := Parse(s)
		if err != nil {
			return nil, fmt.Errorf("has %.60q: %w", s, err)
		}
		out.pieces = append(out.pieces, piece{literal: string(literal)}, piece{text: s, filled: parsed})
		literal = literal[:0]
		for _, name := range parsed.names {
			if !slices.Contains(out.names, name) {
				out.names = append(out.names, name)
			}
		}
	}
	out.pieces = append(out.pieces, piece{literal: string(literal)})
	return out, nil
}

// stringEnd is behind the closing quote of the JSON string that begins at a place.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// Variables lists the names in the strings, each once, in the order in which they first appear.
func (j *JSON) Variables() []string { return append([]string{}, j.names...) }

// Text is the JSON with its placeholders, without spaces between its parts: the same for two that differ in nothing else.
func (j *JSON) Text() []byte {
	var text []byte
	for _, p := range j.pieces {
		if p.filled == nil {
			text = append(text, p.literal...)
		} else {
			text = JSONValue.Append(text, p.text)
		}
	}
	return text
}

// Execute fills the strings, as [Template.Execute] does a text. What stands in a value cannot end the string that it is in.
func (j *JSON) Execute(values Values, mode Mode) ([]byte, error) {
	var text []byte
	var wrong ValuesError
	for _, p := range j.pieces {
		if p.filled == nil {
			text = append(text, p.literal...)
			continue
		}
		filled, err := p.filled.Execute(values, mode)
		var values *ValuesError
		if errors.As(err, &values) {
			wrong.add(values)
		} else if err != nil {
			return nil, err
		}
		if text = JSONValue.Append(text, filled); len(text) > MaxOutput {
			return nil, &TooLongError{}
		}
	}
	if len(wrong.Missing)+len(wrong.Structured) > 0 {
		return nil, &wrong
	}
	return text, nil
}

// add takes in what another template lacks.
func (e *ValuesError) add(other *ValuesError) {
	into := func(list, more []string) []string {
		for _, name := range more {
			if !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
		return list
	}
	e.Missing, e.Structured = into(e.Missing, other.Missing), into(e.Structured, other.Structured)
}
