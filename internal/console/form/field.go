package form

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/wire"
)

// Field is one of a form.
type Field struct {
	wire.Field
	Name    string // in the form, which is the path of its problems
	Paths   string // of other problems that it is about, with spaces between
	Value   string
	Checked bool
	Stored  bool   // a secret is there, which nobody is shown
	Again   bool   // a secret was sent, which is to be typed again
	Lax     bool   // whether it may be left out depends on the rest of the form
	Theirs  string // what is stored, where Differs
	Differs bool   // somebody else has stored something, and the form says something else
	Windows bool   // each line is a window, such as 20/1s
}

// fieldOf is a field with the value that a configuration has.
func fieldOf(one wire.Field, value any) Field {
	f := Field{Field: one, Name: "config." + one.Name}
	switch value := value.(type) {
	case nil:
		f.Checked = one.Default == true
	case bool:
		f.Checked = value
	case map[string]any:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			lines = append(lines, pairLine(name, text(value[name])))
		}
		f.Value = strings.Join(lines, "\n")
	case []any:
		var lines []string
		for _, item := range value {
			lines = append(lines, text(item))
		}
		f.Value = strings.Join(lines, "\n")
	default:
		f.Value = text(value)
	}
	if f.is(channel.KindSecret) {
		f.Stored, f.Value = f.Value != "", ""
	}
	return f
}

// text is a value as it is typed. JSON's numbers have no exponent there.
func text(value any) string {
	if n, ok := value.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

func (f *Field) is(kinds ...channel.Kind) bool { return slices.Contains(kinds, channel.Kind(f.Kind)) }

// refill makes a field what was sent of it, but for a secret, which is typed again.
func (f *Field) refill(sent Sent) {
	if f.is(channel.KindSecret) {
		f.Again = sent(f.Name) != ""
	} else {
		f.Value = sent(f.Name)
	}
	f.Checked = sent(f.Name) != ""
}

// compare notes what is stored of a field, where the form says something else.
func (f *Field) compare(stored *Field, yes, no string) {
	if f.is(channel.KindBool) {
		if f.Differs = f.Checked != stored.Checked; f.Differs {
			f.Theirs = map[bool]string{true: yes, false: no}[stored.Checked]
		}
		return
	}
	if f.Differs = strings.ReplaceAll(f.Value, "\r\n", "\n") != stored.Value; f.Differs {
		f.Theirs = stored.Value
	}
}

// Many reports whether a field has several lines.
func (f Field) Many() bool {
	return f.is(channel.KindText, channel.KindMap, channel.KindSecrets, channel.KindList)
}

// Hides reports whether what is typed is a secret.
func (f Field) Hides() bool { return f.is(channel.KindSecret, channel.KindSecrets) }

// Input is the type of a field's input.
func (f Field) Input() string {
	return cmp.Or(map[channel.Kind]string{channel.KindSecret: "password", channel.KindInt: "number", channel.KindURL: "url"}[channel.Kind(f.Kind)], "text")
}

// Shape says how the lines of a field read, as a word.
func (f Field) Shape() string {
	return map[channel.Kind]string{
		channel.KindMap: "lines_of_pairs", channel.KindSecrets: "lines_of_secrets", channel.KindList: "lines_of_items", channel.KindDuration: "a_duration",
	}[channel.Kind(f.Kind)]
}

// seen reports whether a field may not be folded away: it says something else than holds without it.
func (f Field) seen() bool {
	switch {
	case f.Stored, f.Again, f.Differs:
		return true
	case f.is(channel.KindBool):
		return f.Checked != (f.Default == true)
	}
	return f.Value != "" && f.Value != f.Usual()
}

// UsualChoice is the one that holds where nothing is chosen; nothing where there is none.
func (f Field) UsualChoice() *wire.Choice {
	for _, c := range f.Choices {
		if c.Value == f.Usual() {
			return &c
		}
	}
	return nil
}

// Usual is what holds where nothing is given, empty for nothing.
func (f Field) Usual() string {
	if f.Default == nil {
		return ""
	}
	return text(f.Default)
}
