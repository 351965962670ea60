package lksms

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/web"
)

// The bodies are read as loosely as the server read them that this one stands in for: fields it does not
// know are passed over, null is as good as missing, and a flag or number may stand in quotes.

// flag is true or false, "true" or "false", 1 or 0.
type flag bool

// UnmarshalJSON reads a flag.
func (f *flag) UnmarshalJSON(text []byte) error {
	switch strings.ToLower(strings.Trim(string(text), `"`)) {
	case "true", "1":
		*f = true
	case "false", "0", "null":
		*f = false
	default:
		return fmt.Errorf("is %.60s: want true or false", text)
	}
	return nil
}

// veil is a flag that hides something. One that cannot be read counts as set: rather hidden than shown.
type veil bool

// UnmarshalJSON reads a flag.
func (v *veil) UnmarshalJSON(text []byte) error {
	*v = true
	return (*flag)(v).UnmarshalJSON(text)
}

// whole is a whole number, in quotes or not.
type whole int

// UnmarshalJSON reads a number.
func (w *whole) UnmarshalJSON(text []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(text), `"`))
	if err != nil {
		return fmt.Errorf("is %.60s: want a whole number", text)
	}
	*w = whole(n)
	return nil
}

// text is a text, empty for null.
type text string

// UnmarshalJSON reads a text.
func (t *text) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var s string
	if json.Unmarshal(b, &s) != nil {
		return errNoText(b)
	}
	if odd := draft.Unkept(s); odd != "" {
		return errors.New(odd)
	}
	*t = text(s)
	return nil
}

// note is a text that people read. What of it cannot be stored is replaced: an app must not be refused for
// it, or what it has sent is sent again.
type note string

// UnmarshalJSON reads a text.
func (n *note) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return errNoText(b)
	}
	*n = note(strings.ReplaceAll(s, "\x00", "\uFFFD"))
	return nil
}

// errNoText says what a value is in place of a text, without the value: it may be sensitive.
func errNoText(value []byte) error {
	kind := "a number"
	switch value[0] {
	case '[':
		kind = "a list"
	case '{':
		kind = "an object"
	case 't', 'f':
		kind = string(value)
	}
	return fmt.Errorf("is %s: want a text in double quotes", kind)
}

// body reads the whole body, up to the server's bound.
func (d *door) body(c *call) ([]byte, error) {
	c.held = d.Bodies.Hold(cmp.Or(c.who.key.ID, "the shared pair"))
	b, err := io.ReadAll(c.held.Reader(http.MaxBytesReader(c.writer, c.Body, d.MaxBody)))
	var large *http.MaxBytesError
	var busy *web.Fault
	switch {
	case errors.As(err, &busy):
		return nil, err
	case errors.As(err, &large):
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than the %d bytes that are allowed", d.MaxBody)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "the body could not be read")
	}
	return b, nil
}

// malformed is an error of a body that is not what it should be.
func malformed(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, format, args...)
}

// decode reads an object into fields by their names. Every field that is wrong is named.
func decode(body []byte, into map[string]json.Unmarshaler) error {
	object, err := objectOf(body)
	if err != nil {
		return err
	}
	var wrong []string
	for name, field := range into {
		raw, given := object[name]
		if !given || bytes.Equal(raw, []byte("null")) {
			continue
		}
		if err := field.UnmarshalJSON(raw); err != nil {
			wrong = append(wrong, name+" "+err.Error())
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return malformed("%s", strings.Join(wrong, "; "))
	}
	return nil
}

// objectOf reads a body as an object.
func objectOf(body []byte) (object map[string]json.RawMessage, err error) {
	if !utf8.Valid(body) {
		return nil, malformed("the body is not valid UTF-8")
	}
	if err := json.Unmarshal(body, &object); err != nil || object == nil {
		return nil, malformed("the body is not a JSON object such as {\"name\": \"text\"}")
	}
	return object, nil
}
