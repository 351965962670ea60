package ical

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// line is a line of a calendar (RFC 5545, 3.1), such as DTSTART;VALUE=DATE:20261125.
type line struct {
	at     int    // where it begins in the file, from 1
	name   string // in capitals
	params map[string]string
	value  string
}

// linesOf unfolds a text, whatever ends its lines, and takes them apart.
func linesOf(text []byte, wrong func(at int, format string, args ...any)) []line {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	var list []line
	var whole []byte
	from := 0
	end := func() {
		switch l, ok := lineOf(string(whole)); {
		case len(whole) == 0:
		case !utf8.Valid(whole):
			wrong(from, "is not UTF-8")
		case !ok:
			wrong(from, "is %.40q: a line of a calendar is NAME:VALUE", whole)
		default:
			l.at = from
			list = append(list, l)
		}
	}
	at := 0
	for raw := range bytes.SplitSeq(text, []byte("\n")) {
		at++
		if len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\t') && from > 0 {
			whole = append(whole, raw[1:]...) // between any two bytes, also of one character
			continue
		}
		end()
		whole, from = append(whole[:0], raw...), at
	}
	end()
	return list
}

// lineOf takes an unfolded line apart.
func lineOf(text string) (l line, ok bool) {
	i := strings.IndexAny(text, ";:")
	if i <= 0 {
		return l, false
	}
	l.name = strings.ToUpper(text[:i])
	for text[i] == ';' {
		text = text[i+1:]
		name, rest, found := strings.Cut(text, "=")
		if i = endOfParam(rest); !found || i < 0 {
			return l, false
		}
		if l.params == nil {
			l.params = map[string]string{}
		}
		l.params[strings.ToUpper(name)] = strings.ReplaceAll(rest[:i], `"`, "")
		text = rest
	}
	l.value = text[i+1:]
	return l, true
}

// endOfParam is where the value of a parameter ends, -1 where it does not.
func endOfParam(text string) int {
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ';' || c == ':'):
			return i
		}
	}
	return -1
}

// is reports whether a parameter has a value.
func (l line) is(param, value string) bool { return strings.EqualFold(l.params[param], value) }

// plain is a text without its escapes (RFC 5545, 3.3.11).
func plain(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";").Replace(text)
}

// plainList are the texts of a list with commas between.
func plainList(text string) (list []string) {
	from := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',':
			if part := plain(text[from:i]); part != "" {
				list = append(list, part)
			}
			from = i + 1
		case text[i] == '\\':
			i++ // what follows is no comma of the list
		}
	}
	return list
}
