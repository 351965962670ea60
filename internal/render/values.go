package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays of a payload may nest.
const maxDepth = 32

// Values is what a template is filled with: the fields of a JSON object. The
// zero Values has none. It never changes.
type Values struct {
	root map[string]any // of string, json.Number, bool, nil, map[string]any, list
}

// list stands for an array: no template can reach into one.
type list struct{}

// ParseValues reads a payload, which is a JSON object, or nothing or null for
// no values. Numbers keep the form they are written in. An error names what is
// wrong: text that is not JSON or not UTF-8, a key that appears twice in one
// object, more than 32 levels.
func ParseValues(payload json.RawMessage) (Values, error) {
	if len(bytes.TrimSpace(payload)) == 0 {
		return Values{}, nil
	}
	if !utf8.Valid(payload) {
		return Values{}, errors.New("the payload is not valid UTF-8")
	}
	if root, ok := quickly(payload); ok {
		return Values{root}, nil
	}
	return decoded(payload)
}

// decoded reads a payload by a decoder, whose errors name the place.
func decoded(payload json.RawMessage) (Values, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(payload))}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return Values{}, fmt.Errorf("read the payload: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Values{}, errors.New("the payload has text after its end")
	}
	switch v := v.(type) {
	case map[string]any:
		return Values{v}, nil
	case nil:
		return Values{}, nil
	}
	return Values{}, errors.New("the payload must be a JSON object")
}

// Strings makes values of texts.
func Strings(texts map[string]string) Values { return Values{}.With(texts) }

// With is v and the texts, which win over fields of the same name.
func (v Values) With(texts map[string]string) Values {
	root := make(map[string]any, len(v.root)+len(texts))
	maps.Copy(root, v.root)
	for name, text := range texts {
		root[name] = text
	}
	return Values{root}
}

// find is the value of a name, nil where there is none. A field whose own name
// holds the dots wins over one that is reached through objects.
func (v Values) find(name string) any {
	if value, ok := v.root[name]; ok {
		return value
	}
	object := v.root
	for {
		part, rest, dotted := strings.Cut(name, ".")
		if !dotted {
			return object[part]
		}
		next, ok := object[part].(map[string]any)
		if !ok {
			return nil
		}
		object, name = next, rest
	}
}

// text is how a value reads; ok is false for an object or an array.
func text(value any) (s string, ok bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return fmt.Sprint(value), true
	}
	return "", false
}

// payloadError is what is wrong with a payload, and where: "order.items[2]".
type payloadError struct{ path, message string }

func (e *payloadError) Error() string { return strings.TrimPrefix(e.path, ".") + ": " + e.message }

// within puts one more step in front of an error's path, on the way out.
func within(step string, err error) error {
	var e *payloadError
	if errors.As(err, &e) {
		e.path = step + e.path
	}
	return err
}

type decoder struct{ *json.Decoder }

func (d decoder) value(depth int) (any, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == maxDepth {
		return nil, &payloadError{"", fmt.Sprintf("objects and arrays nest deeper than %d levels", maxDepth)}
	}
	if delim == '{' {
		return d.object(depth + 1)
	}
	return d.array(depth + 1)
}

func (d decoder) object(depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // the decoder allows nothing else here
		if _, twice := object[key]; twice {
			return nil, &payloadError{"." + key, "the key appears twice"}
		}
		if object[key], err = d.value(depth); err != nil {
			return nil, within("."+key, err)
		}
	}
	_, err := d.Token()
	return object, err
}

func (d decoder) array(depth int) (any, error) {
	for i := 0; d.More(); i++ {
		if _, err := d.value(depth); err != nil {
			return nil, within(fmt.Sprintf("[%d]", i), err)
		}
	}
	_, err := d.Token()
	return list{}, err
}
