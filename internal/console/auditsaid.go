package console

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/internal/console/difference"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/wire"
)

// auditChange is one value that a change made another, in words.
type auditChange struct {
	Path           string // as the API names it
	Word, From, To string
}

// auditTeller says lines of the audit log in the words of the forms.
type auditTeller struct {
	frame
	drivers []wire.Driver // none for who may not see them
}

// unchanging are members of things that each change moves, or that say how they stand.
var unchanging = []string{"version", "updated_at", "created_at", "state", "state_reason", "state_until", "tenant"}

func teller(v *visit) (*auditTeller, error) {
	list, err := v.call().Channels.Drivers(v.ctx())
	return &auditTeller{frame: frame{v: v}, drivers: list}, hiddenFrom(err)
}

// line reads what a line changed.
func (t *auditTeller) line(e wire.AuditEntry) auditLine {
	l := auditLine{AuditEntry: e, Who: t.who(e)}
	var detail struct{ Request, Before, After json.RawMessage }
	if json.Unmarshal(e.Detail, &detail) != nil {
		return l
	}
	driver := driverOf(detail.After, detail.Before)
	for _, c := range difference.Values(detail.Before, detail.After) {
		if !slices.Contains(unchanging, c.Path) {
			f := t.field(driver, c.Path)
			l.Changes = append(l.Changes, auditChange{Path: c.Path, Word: t.member(c.Path, f), From: t.value(c.Path, c.From, f), To: t.value(c.Path, c.To, f)})
		}
	}
	if len(detail.Request) > 0 {
		l.Asked = string(detail.Request)
	}
	return l
}

// who is who made a change: a person by name, a key by name and id.
func (t *auditTeller) who(e wire.AuditEntry) string {
	switch {
	case e.KeyName == "" && e.Key == "":
		return t.FromWord(e.Source)
	case e.KeyName == "":
		return e.Key
	case e.Key == "":
		return t.KeyWord(e.KeyName)
	}
	return t.KeyWord(e.KeyName) + " (" + e.Key + ")"
}

// driverOf is the driver that the first of some documents names, empty for none: those of an account name none.
func driverOf(docs ...json.RawMessage) string {
	for _, doc := range docs {
		var of struct{ Driver string }
		if json.Unmarshal(doc, &of) == nil && of.Driver != "" {
			return of.Driver
		}
	}
	return ""
}

// field is the field of a driver that a path is of, nil for none. Where the driver is not known, the first that has such a field speaks for all.
func (t *auditTeller) field(driver, path string) *wire.Field {
	of, name, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, ".")
	if of != "config" {
		return nil
	}
	for _, d := range t.drivers {
		if driver != "" && d.Name != driver {
			continue
		}
		for i := range d.Fields {
			if d.Fields[i].Name == name {
				return &d.Fields[i]
			}
		}
	}
	return nil
}

// member is what changed in words, as far as they are known: of config.headers.X-Key the label of the form, and X-Key.
func (t *auditTeller) member(path string, f *wire.Field) string {
	if f == nil {
		return t.Member(path)
	}
	word := t.Say(f.Label, f.LabelZH)
	if rest := strings.TrimPrefix(path, "config."+f.Name); rest != "" {
		word += " · " + rest[1:]
	}
	return word
}

// Member is a member of a thing in words: the longest beginning of its path that has some, and the rest as it is.
func (f frame) Member(path string) string {
	word := func(path string) string {
		w := f.T("audit_member_" + path)
		if strings.HasPrefix(w, "audit_member_") {
			return ""
		}
		return w
	}
	for of := path; of != ""; of = of[:max(0, strings.LastIndexByte(of, '.'))] {
		said, rest := word(of), strings.TrimPrefix(path[len(of):], ".")
		switch {
		case said == "":
			continue
		case rest == "":
			if whole, _, inside := strings.Cut(of, "."); inside && whole == "days" {
				said = strings.Join([]string{word(whole), said}, " · ")
			}
			return said
		}
		if inner := word(rest); inner != "" {
			rest = inner
		}
		return said + " · " + rest
	}
	return path
}

// lengths are the members that hold lengths of time.
var lengths = []string{
	"after", "before", "dedup_window", "duration", "every", "fair_after", "forget_after", "hold_timeout", "jitter", "lag", "lease", "not_told_within", "overlap", "probe_after", "probe_max", "promise", "spread", "step",
	"timeout", "wait", "window", "within",
}

// value is a value of a document as a form says it. A text stays as it is written: a telephone number is no number, and somebody may be called 007.
func (t *auditTeller) value(path string, said difference.Said, f *wire.Field) string {
	value := said.Text
	if f != nil {
		for _, c := range f.Choices {
			if c.Value == value {
				return t.Say(c.Label, c.LabelZH)
			}
		}
	}
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case !said.Plain && (value == "true" || value == "false"):
		return t.T(map[bool]string{true: "yes", false: "no"}[value == "true"])
	case path == "name":
		return t.KeyWord(value)
	case path == "on_unknown" && value != "":
		return t.T("camp_policy_" + value)
	case path == "priority" && value != "":
		return t.T(value)
	case strings.HasSuffix(last, "limits") || path == "quota.requests":
		return t.windows(value)
	case f == nil && slices.Contains(lengths, last):
		var d posthouse.Duration
		if d.UnmarshalText([]byte(value)) == nil {
			return t.Length(d.Std())
		}
	}
	if n, err := strconv.Atoi(value); err == nil && f == nil && !said.Plain {
		return t.Digits(n)
	}
	return catalog.WithTimes(value, t.Clock)
}

// windows are limits as pages say them; what is none stays as it is.
func (t *auditTeller) windows(text string) string {
	list, err := limittext.Read(text)
	if err != nil || len(list) == 0 {
		return text
	}
	var words []string
	for _, l := range list {
		words = append(words, t.Window(l.Max, l.Per))
	}
	return strings.Join(words, ", ")
}

// KeyWord is the name of a key; of one that the server has named, in words.
func (f frame) KeyWord(name string) string {
	if word := f.T("key_named_" + name); !strings.HasPrefix(word, "key_named_") {
		return word
	}
	return name
}

// FromWord is where a change came from: an address, or in words where no request asked for it.
func (f frame) FromWord(source string) string {
	if word := f.T("audit_from_" + source); !strings.HasPrefix(word, "audit_from_") {
		return word
	}
	return source
}
