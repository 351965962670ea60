package form

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// The settings of one field, by what it holds.

func word(f Field, at func(*posthouse.Channel) *string) setting {
	return over(f, at, func(s string) string { return s }, func(r *Reader, name string) string { return r.Sent(name) })
}

func flag(f Field, at func(*posthouse.Channel) *bool) setting {
	return over(f, at, flagText, func(r *Reader, name string) bool { return r.Sent(name) != "" })
}

func number(f Field, at func(*posthouse.Channel) *int) setting {
	return over(f, at, unlessZero, (*Reader).whole)
}

func duration(f Field, at func(*posthouse.Channel) *posthouse.Duration) setting {
	return over(f, at, durationText, (*Reader).duration)
}

func windows(f Field, at func(*posthouse.Channel) *[]posthouse.Limit) setting {
	return over(f, at, func(list []posthouse.Limit) string { return limittext.Text(list, "\n") }, (*Reader).Windows)
}

func budget(f Field, at func(*posthouse.Channel) **posthouse.Budget) setting {
	return over(f, at, limittext.BudgetText, (*Reader).budget)
}

func lines(f Field, at func(*posthouse.Channel) *[]string) setting {
	return over(f, at, func(list []string) string { return strings.Join(list, "\n") }, (*Reader).Lines)
}

// The texts of values, and what is read of them.

func flagText(b bool) string {
	if b {
		return "1"
	}
	return ""
}

func durationText(d posthouse.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func (r *Reader) duration(name string) (d posthouse.Duration) {
	if text := r.Sent(name); text != "" {
		r.readDuration(name, text, &d)
	}
	return d
}

func (r *Reader) readDuration(name, text string, d *posthouse.Duration) bool {
	err := d.UnmarshalText([]byte(text))
	if err != nil {
		r.refuse(name, err.Error())
	}
	return err == nil
}

func durationOrNoneText(d *posthouse.Duration) string {
	if d == nil {
		return ""
	}
	return d.String()
}

func (r *Reader) durationOrNone(name string) *posthouse.Duration {
	if r.Sent(name) == "" {
		return nil
	}
	d := r.duration(name)
	return &d
}

func durationsText(list []posthouse.Duration) string {
	var texts []string
	for _, d := range list {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, ", ")
}

func (r *Reader) durations(name string) (list []posthouse.Duration) {
	for _, part := range separated(r.Sent(name)) {
		var d posthouse.Duration
		if !r.readDuration(name, part, &d) {
			return nil
		}
		list = append(list, d)
	}
	return list
}

// separated are the parts of a text between commas and spaces, full-width ones too.
func separated(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,，、", r) })
}

func fractionText(v *float64) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

func (r *Reader) fraction(name string) *float64 {
	if r.Sent(name) == "" {
		return nil
	}
	v := r.number(name)
	return &v
}

func unlessNone(v float64) string {
	if v == 0 {
		return ""
	}
	return text(v)
}

// PairsText is a map as a field shows it, a name and a value a line.
func PairsText[V ~string](m map[string]V) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, pairLine(name, string(m[name])))
	}
	return strings.Join(lines, "\n")
}

// ReadPairs is the map that was sent.
func ReadPairs[V ~string](r *Reader, name string) map[string]V {
	var out map[string]V
	for _, line := range r.Lines(name) {
		key, value := pairOf(line)
		if out == nil {
			out = map[string]V{}
		}
		out[key] = V(value)
	}
	return out
}

func windowsByText[K ~string](m map[K][]posthouse.Limit) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, string(name)+": "+limittext.Text(m[name], ", "))
	}
	return strings.Join(lines, "\n")
}

func readWindowsBy[K ~string](r *Reader, name string) map[K][]posthouse.Limit {
	var out map[K][]posthouse.Limit
	for _, line := range r.Lines(name) {
		cut := strings.LastIndex(line, ":") // no window has a colon, and the name of a template may
		if cut < 0 {
			r.refuse(name, r.Say("lines_of_pairs"))
			return nil
		}
		list, err := limittext.Read(line[cut+1:])
		if err != nil {
			r.refuse(name, err.Error())
			return nil
		}
		if out == nil {
			out = map[K][]posthouse.Limit{}
		}
		out[K(strings.TrimSpace(line[:cut]))] = list
	}
	return out
}

// rulesText is a rule a line: its type, and what is set of it as name=value.
func rulesText(list []posthouse.RuleSettings) string {
	var lines []string
	for _, rule := range list {
		parts := []string{rule.Type}
		put := func(name, value string) {
			if strings.ContainsAny(value, " \t\r\n\"") {
				value = strconv.Quote(value)
			}
			parts = append(parts, name+"="+value)
		}
		if rule.Roster != "" {
			put("roster", rule.Roster)
		}
		if len(rule.Recipients) > 0 {
			put("recipients", strings.Join(rule.Recipients, ","))
		}
		for _, name := range slices.Sorted(maps.Keys(rule.Options)) {
			put(name, rule.Options[name])
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return strings.Join(lines, "\n")
}

func (r *Reader) rules(name string) (list []posthouse.RuleSettings) {
	for _, line := range r.Lines(name) {
		kind, rest, _ := strings.Cut(line, " ")
		rule := posthouse.RuleSettings{Type: kind}
		for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
			key, value, more := option(rest)
			switch rest = more; key {
			case "":
				r.refuse(name, r.Say("want_options"))
				return nil
			case "roster":
				rule.Roster = value
			case "recipients":
				rule.Recipients = separated(value)
			default:
				if rule.Options == nil {
					rule.Options = map[string]string{}
				}
				rule.Options[key] = value
			}
		}
		list = append(list, rule)
	}
	return list
}

// option is the first name=value of a text, and the rest; without a name it is none.
func option(text string) (name, value, rest string) {
	name, rest, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, " \t") {
		return "", "", text
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		value, _ = strconv.Unquote(quoted)
		return name, value, rest[len(quoted):]
	}
	value, rest, _ = strings.Cut(rest, " ")
	return name, value, rest
}

// pairLine is a pair as a line. What would read otherwise stands in quotes, as in Go.
func pairLine(name, value string) string {
	if oddName(name) {
		name = strconv.Quote(name)
	}
	if odd(value) {
		value = strconv.Quote(value)
	}
	return name + ": " + value
}

// oddName reports whether a name would read otherwise before a value.
func oddName(name string) bool {
	return strings.Contains(name, ": ") || strings.HasSuffix(name, ":") || odd(name)
}

// odd reports whether a text is not what a line shows of it.
func odd(text string) bool {
	return text != strings.TrimSpace(text) || strings.ContainsAny(text, "\r\n") || strings.HasPrefix(text, `"`)
}

// pairOf reads a line of pairLine, or one that somebody has typed: without a space behind any colon the first one parts it. Quotes around what
// needs none are part of it.
func pairOf(line string) (name, value string) {
	name, value, spaced := strings.Cut(line, ": ")
	if !spaced {
		name, value, _ = strings.Cut(line, ":")
	}
	if quoted, err := strconv.QuotedPrefix(line); err == nil {
		plain, _ := strconv.Unquote(quoted)
		if rest, is := strings.CutPrefix(line[len(quoted):], ":"); is && oddName(plain) {
			return plain, valueIn(rest)
		}
	}
	return strings.TrimSpace(name), valueIn(value)
}

func valueIn(text string) string {
	text = strings.TrimSpace(text)
	if plain, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) && odd(plain) {
		return plain
	}
	return text
}
