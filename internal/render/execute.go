package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// MaxOutput is the longest text that a template may become, in bytes.
const MaxOutput = 256 << 10

// Mode says what becomes of a placeholder without a value.
type Mode int

// The modes. The zero Mode is Strict.
const (
	Strict  Mode = iota // it is an error
	Lenient             // it stays in the text as it was written
)

// ValuesError says which values of a template cannot be inserted: all of them,
// in the order of the template, each once.
type ValuesError struct {
	Missing    []string // have no value, or null
	Structured []string // are objects or arrays
}

// Error names the variables.
func (e *ValuesError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "no value for "+strings.Join(e.Missing, ", "))
	}
	if len(e.Structured) > 0 {
		parts = append(parts, "an object or array cannot be inserted for "+strings.Join(e.Structured, ", "))
	}
	return strings.Join(parts, "; ")
}

// Problems is the error as a list for the API. Path is where the values come
// from, such as "payload".
func (e *ValuesError) Problems(path string) []posthouse.Problem {
	var out []posthouse.Problem
	for _, name := range e.Missing {
		out = append(out, posthouse.Problem{Path: path + "." + name, Message: "the template needs a value here"})
	}
	for _, name := range e.Structured {
		out = append(out, posthouse.Problem{
			Path:    path + "." + name,
			Message: "the template cannot insert an object or array; give a string, number or boolean, or name a field in it",
		})
	}
	return out
}

// TooLongError says that a text would be longer than MaxOutput.
type TooLongError struct{}

// Error says the limit.
func (*TooLongError) Error() string {
	return fmt.Sprintf("the filled template is longer than %d bytes", MaxOutput)
}

// Execute fills the template: strings as they stand, numbers as they are
// written, booleans as true and false. The error is a *ValuesError or a
// *TooLongError.
func (t *Template) Execute(values Values, mode Mode) (string, error) {
	var wrong ValuesError
	texts := make(map[string]string, len(t.names))
	for _, name := range t.names {
		value := values.find(name)
		s, ok := text(value)
		switch {
		case ok:
			texts[name] = s
		case value != nil:
			wrong.Structured = append(wrong.Structured, name)
		case mode == Strict:
			wrong.Missing = append(wrong.Missing, name)
		}
	}
	if len(wrong.Missing)+len(wrong.Structured) > 0 {
		return "", &wrong
	}
	return t.Fill(func(name string) (string, bool) {
		s, ok := texts[name]
		return s, ok
	})
}

// Fill fills the template with what lookup answers, once for each placeholder;
// one that it does not know stays as it was written. The error is a
// *TooLongError.
func (t *Template) Fill(lookup func(name string) (text string, ok bool)) (string, error) {
	out, err := t.Append(nil, func(dst []byte, s Segment) ([]byte, error) {
		value, ok := lookup(s.Name)
		if !ok {
			value = s.Text
		}
		if len(dst)+len(value) > MaxOutput {
			return dst, &TooLongError{}
		}
		return append(dst, value...), nil
	})
	if err == nil && len(out) > MaxOutput {
		err = &TooLongError{}
	}
	if err != nil {
		return "", err
	}
	return string(out), nil
}

// Append appends the filled template; value appends what stands for a placeholder, escaped for its place.
//
// It is the one pass: what it writes is never read again.
func (t *Template) Append(dst []byte, value func(dst []byte, s Segment) ([]byte, error)) (_ []byte, err error) {
	dst = slices.Grow(dst, t.literal+16*len(t.segments))
	for _, s := range t.segments {
		if s.Name == "" {
			dst = append(dst, s.Text...)
		} else if dst, err = value(dst, s); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
