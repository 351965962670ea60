package audience

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/internal/render"
)

// object reads a record of NDJSON: an object with the address and the variables beside it.
func (r *Reader) object(rec record) (Row, error) {
	refuse := func(at int, format string, args ...any) error {
		return &Refused{Line: rec.line, Column: columnOf(rec.text[:min(max(at, 0), len(rec.text))]), Reason: fmt.Sprintf(format, args...)}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(rec.text, &fields); err != nil || fields == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Row{}, refuse(int(syntax.Offset)-1, "is not JSON: %s", limittext.Syntax(rec.text, syntax))
		}
		return Row{}, refuse(0, "is no JSON object")
	}
	if odd := draft.UnkeptJSON(rec.text); odd != "" {
		return Row{}, refuse(0, "%s", odd)
	}
	name, raw := r.addressField(fields)
	if name == "" {
		return Row{}, refuse(0, "has no field for the address: want %s", r.wanted())
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return Row{}, refuse(strings.Index(string(rec.text), `"`+name+`"`), "%s is no text", name)
	}
	address, err := r.addressOf(name, text)
	if err != nil {
		return Row{}, refuse(strings.Index(string(rec.text), `"`+name+`"`), "%s %s", name, err)
	}
	delete(fields, name)
	if len(fields) == 0 {
		return Row{Line: rec.line, Address: address}, nil
	}
	variables, err := render.Object(fields)
	if err != nil {
		return Row{}, refuse(0, "cannot be kept: %s", err)
	}
	names := make([]string, 0, len(fields))
	for name, value := range fields {
		if string(value) != "null" {
			names = append(names, name)
		}
	}
	return Row{Line: rec.line, Address: address, Variables: variables, Fields: names}, nil
}

func (r *Reader) addressField(fields map[string]json.RawMessage) (name string, raw json.RawMessage) {
	names := addressColumns
	if r.format.Address != "" {
		names = []string{r.format.Address}
	}
	i := slices.IndexFunc(names, func(name string) bool { return fields[name] != nil })
	if i < 0 {
		return "", nil
	}
	return names[i], fields[names[i]]
}

func (r *Reader) wanted() string {
	if r.format.Address != "" {
		return r.format.Address
	}
	return strings.Join(addressColumns, ", ")
}
