package httpapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// meaning is what a line of the table of codes says of an answer.
type meaning struct {
	class posthouse.Class
	after time.Duration // how long to wait where the answer does not say, 0 for no word of it
}

// rule is a line of the table that a code alone does not find.
type rule struct {
	code   string // "*" for any
	text   string // that the message holds, in small letters
	path   path   // of a value, where the line begins with $
	isPath bool
	value  string // at the path; "" for any that says something
	meaning
}

// table is what answers mean, as a channel's codes say.
type table struct {
	exact map[string]meaning
	rules []rule
}

// newTable reads lines such as 40035 = request, "310000 keywords" = content, "* quota" = "account 1h" and
// "$.failed[0]" = recipient. problem is told what is wrong with one.
func newTable(lines map[string]string, problem func(line, message string)) table {
	t := table{exact: make(map[string]meaning, len(lines))}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		word, wait, _ := strings.Cut(strings.TrimSpace(lines[line]), " ")
		m := meaning{class: posthouse.Class(word)}
		var d posthouse.Duration
		switch {
		case !m.class.Valid():
			problem(line, `"`+word+`" is not allowed; give one of `+strings.Join(classNames(), ", ")+`, with a wait behind it where the provider names one, such as "rate 10m"`)
		case wait != "" && (d.UnmarshalText([]byte(strings.TrimSpace(wait))) != nil || d <= 0):
			problem(line, `the wait "`+wait+`" is not a duration such as 90s, 10m or 24h`)
		}
		m.after = d.Std()
		if err := t.add(line, m); err != nil {
			problem(line, err.Error())
		}
	}
	return t
}

// add puts a line in its place: rules that say more come first.
func (t *table) add(line string, m meaning) (err error) {
	code, text, more := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "$"):
		r := rule{isPath: true, meaning: m}
		where, value, _ := strings.Cut(line, "=")
		r.value = strings.TrimSpace(value)
		r.path, err = parsePath(strings.TrimSpace(where))
		t.rules = append(t.rules, r)
	case more:
		t.rules = append(t.rules, rule{code: code, text: strings.ToLower(strings.TrimSpace(text)), meaning: m})
		t.exact[line] = m
	default:
		t.exact[line] = m
	}
	slices.SortStableFunc(t.rules, func(a, b rule) int {
		if a.isPath != b.isPath {
			return map[bool]int{true: -1, false: 1}[a.isPath]
		}
		return cmp.Or(len(b.value)-len(a.value), len(b.text)-len(a.text))
	})
	return err
}

// override puts classes in the place of what the lines of these codes say.
func (t *table) override(codes map[string]posthouse.Class) {
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if class := codes[code]; t.exact[code].class != class {
			_ = t.add(code, meaning{class: class}) // a path that cannot be read finds nothing
		}
	}
}

// of is what the table says of an answer with a code, which may be empty, and a message.
func (t *table) of(a answer, code, message string) (meaning, bool) {
	said := ""
	for _, r := range t.rules {
		switch {
		case r.isPath:
			if r.holds(a) {
				return r.meaning, true
			}
		case r.code == "*" || r.code == code && code != "":
			if said == "" {
				said = strings.ToLower(cmp.Or(message, string(a.body)))
			}
			if strings.Contains(said, r.text) {
				return r.meaning, true
			}
		}
	}
	m, ok := t.exact[code]
	return m, ok && code != ""
}

// holds reports whether an answer has the rule's value, or where it names none anything but nothing: null, false, 0, "", [] and {}.
func (r *rule) holds(a answer) bool {
	raw, found := picker{path: r.path, isPath: true}.raw(a)
	if !found {
		return false
	}
	if r.value != "" {
		return text(raw) == r.value
	}
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "false", "0", `""`, "[]", "{}":
		return false
	}
	return true
}

// ofStatus is what the table says of an answer by its status, or of the end of a call without one.
func (t *table) ofStatus(r *channel.Reply, a answer, message string) (meaning, bool) {
	if r.Code == "" {
		return meaning{}, false
	}
	if m, ok := t.of(a, r.Code, message); ok {
		return m, true
	}
	if status, ok := strings.CutPrefix(r.Code, "HTTP_"); ok {
		return t.of(a, status, message)
	}
	return meaning{}, false
}
