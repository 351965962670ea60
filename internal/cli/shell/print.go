package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/cli/columns"
	"github.com/posthouse/posthouse/internal/config"
)

// PrintJSON prints a value, indented.
func (sh *Shell) PrintJSON(v any) error {
	return WriteJSON(sh.Out, v, "  ")
}

// WriteJSON writes a value with nothing in it that a terminal would obey.
func WriteJSON(to io.Writer, v any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := to.Write(config.PrintableJSON(text.Bytes()))
	return err
}

// Show prints a value as JSON where that is asked for, and else by the given function. A list stands in the envelope that pages of the API
// have, {"items": […]}, so that scripts read all lists alike.
func (sh *Shell) Show(v any, human func()) error {
	if sh.JSON {
		return sh.PrintJSON(enveloped(v))
	}
	human()
	return nil
}

func enveloped(v any) any {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice {
		return v
	}
	if r.IsNil() {
		v = []any{}
	}
	return struct {
		Items any `json:"items"`
	}{v}
}

// Printf prints to the output, in the person's language. What texts among the values hold, others may have written: a terminal obeys none of it.
func (sh *Shell) Printf(format string, args ...any) {
	_, _ = io.WriteString(sh.Out, sh.Text(format, args...))
}

// Notef prints beside the output what a person is to know of it, in the person's language, as Printf does.
func (sh *Shell) Notef(format string, args ...any) {
	_, _ = io.WriteString(sh.Err, sh.Text(format, args...))
}

// Text is a format with its values, in the person's language. It is what cells of tables and values of Fields are made by.
func (sh *Shell) Text(format string, args ...any) string {
	args = slices.Clone(args)
	for i, arg := range args {
		if text, ok := textOf(arg); ok {
			args[i] = config.Printable(text)
		}
	}
	if sh.chinese() {
		return catalog.Printed(format, args...)
	}
	return fmt.Sprintf(format, args...)
}

// Label is the head of a column, or the name of a value, in the person's language.
func (sh *Shell) Label(name string) string {
	if !sh.chinese() {
		return name
	}
	return catalog.Label(name)
}

func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case error:
		return v.Error(), true
	case fmt.Stringer:
		return v.String(), true
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.String {
		return r.String(), true
	}
	return "", false
}

// Table prints rows under a head, in columns that know how wide Chinese is; sentences in it are said in the person's language.
func (sh *Shell) Table(head []string, rows [][]string) {
	if len(rows) == 0 {
		sh.Printf("none\n")
		return
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = config.Printable(sh.Says(cell))
		}
	}
	labels := make([]string, len(head))
	for i := range head {
		labels[i] = sh.Label(head[i])
	}
	_, _ = io.WriteString(sh.Out, columns.Text(labels, rows, columns.Options{Bold: sh.Terminal}))
}

// Fields prints names with their values, one a line, names and sentences in the person's language; empty values are left out.
func (sh *Shell) Fields(fields ...[2]string) {
	width := 0
	for _, f := range fields {
		if f[1] != "" {
			width = max(width, text.StringWidth(sh.Label(f[0])))
		}
	}
	for _, f := range fields {
		if f[1] != "" {
			_, _ = io.WriteString(sh.Out, text.Pad(config.Printable(sh.Label(f[0])), width, ' ')+"  "+config.Printable(sh.Says(f[1]))+"\n")
		}
	}
}

// At is a time as tables show it, to the second and with its zone; empty for none.
func (sh *Shell) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(sh.Location()).Format("2006-01-02 15:04:05 -07:00")
}

// The help has at most so many columns, and is not broken to fewer than it can be read in.
const (
	mostColumns  = 100
	leastColumns = 40
)

// Columns is how wide the help may be: as COLUMNS says, else the terminal, but at most 100.
func (sh *Shell) Columns() int {
	n := sh.Width
	for _, entry := range sh.Environ {
		if value, ok := strings.CutPrefix(entry, "COLUMNS="); ok {
			n, _ = strconv.Atoi(value)
		}
	}
	if n < leastColumns {
		return mostColumns
	}
	return min(n, mostColumns)
}

// Cut shortens a sentence, in the person's language, to so many columns.
func (sh *Shell) Cut(sentence string, most int) string { return Cut(sh.Says(sentence), most) }

// Cut shortens a text to so many columns.
func Cut(s string, most int) string { return text.Snip(s, most, "…") }
