package form

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limittext"
	"github.com/posthouse/posthouse/wire"
)

// Reader takes a form that was sent apart. What cannot be read is a problem; all else is left for the API to refuse.
type Reader struct {
	Sent Sent
	// Has reports whether a field was sent, be it empty. Required for channels.
	Has func(name string) bool
	// Say is a text by its name in the reader's language. Required.
	Say      func(name string) string
	Problems []posthouse.Problem
}

// Channel is a channel as the form says it. A setting that was not sent stays: the form may be of a server that did not have it yet.
func (r *Reader) Channel(d wire.Driver, ch posthouse.Channel) posthouse.Channel {
	ch.Config = r.config(ofChannel(d, ch), ch.Config)
	for _, s := range settings() {
		if r.Has(s.fields[0].Name) && !r.unchanged(s, ch) {
			s.read(r, &ch)
		}
	}
	return ch
}

// unchanged reports whether a setting was sent as the form shows it: what no field can tell of it stays, such as a space at an end.
func (r *Reader) unchanged(s setting, ch posthouse.Channel) bool {
	for i, shown := range s.show(ch) {
		if !r.as(s.fields[i].Name, shown) {
			return false
		}
	}
	return true
}

// as reports whether a field was sent as it is shown, but for how browsers end lines and for spaces around.
func (r *Reader) as(name, shown string) bool {
	return strings.TrimSpace(strings.ReplaceAll(r.Sent(name), "\r\n", "\n")) == strings.TrimSpace(shown)
}

// Account is an account as the form says it.
func (r *Reader) Account(d wire.Driver, a posthouse.Account) posthouse.Account {
	a.Config = r.config(ofAccount(d), a.Config)
	a.Weight, a.Pools = r.whole("weight"), strings.Fields(r.Sent("pools"))
	a.BaseRate, a.Limits, a.Budget = r.number("base_rate"), r.Windows("limits"), r.budget("budget")
	return a
}

// Tenant is a tenant as the form says it; its quiet hours and caps stay.
func (r *Reader) Tenant(t posthouse.Tenant) posthouse.Tenant {
	t.Note, t.Language = strings.TrimSpace(r.Sent("for")), strings.TrimSpace(r.Sent("language"))
	t.Quota = posthouse.Quota{Requests: r.Windows("quota.requests"), Open: r.whole("quota.open"), MentionAll: r.whole("quota.mention_all")}
	t.MandatoryKinds, t.OptionalKinds = r.Lines("mandatory_kinds"), r.Lines("optional_kinds")
	return t
}

// Lines are the items of a field that has one a line.
func (r *Reader) Lines(name string) (list []string) {
	for line := range strings.Lines(r.Sent(name)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// config is a configuration as the form says it.
func (r *Reader) config(fields []wire.Field, stored map[string]any) map[string]any {
	config := map[string]any{}
	for _, one := range fields {
		shown := fieldOf(one, stored[one.Name])
		if value := stored[one.Name]; value != nil && !shown.is(channel.KindSecret, channel.KindBool) && r.as(shown.Name, shown.Value) {
			config[one.Name] = value
		} else if value := valueOf(one, r.Sent(shown.Name), value); value != nil {
			config[one.Name] = value
		}
	}
	return config
}

func (r *Reader) refuse(path, message string) {
	r.Problems = append(r.Problems, posthouse.Problem{Path: path, Message: message})
}

func (r *Reader) whole(name string) int {
	n, err := strconv.Atoi(cmp.Or(r.Sent(name), "0"))
	if err != nil {
		r.refuse(name, r.Say("want_number"))
	}
	return n
}

func (r *Reader) number(name string) float64 {
	v, err := strconv.ParseFloat(cmp.Or(r.Sent(name), "0"), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		r.refuse(name, r.Say("want_decimal"))
		return 0
	}
	return v
}

func (r *Reader) budget(name string) *posthouse.Budget {
	b, err := limittext.Budget(r.Sent(name))
	if err != nil {
		r.refuse(name, err.Error())
	}
	return b
}

// Windows are the limits of a field.
func (r *Reader) Windows(name string) []posthouse.Limit {
	text := r.Sent(name)
	list, err := limittext.Read(text)
	if err == nil {
		return list
	}
	message := err.Error()
	if strings.Contains(strings.TrimSpace(text), "\n") {
		message = fmt.Sprintf("line %d: %s", limittext.Wrong(text), message)
	}
	r.refuse(name, message)
	return nil
}

// valueOf is what the form says of a field, nil for nothing or for what holds without it. An empty secret keeps the one that is stored.
func valueOf(one wire.Field, text string, stored any) any {
	switch channel.Kind(one.Kind) {
	case channel.KindBool:
		if on := text != ""; stored != nil || on != (one.Default == true) {
			return on
		}
		return nil // as it is without it
	case channel.KindSecret:
		if text == "" && stored != nil {
			return channel.Mask
		}
	case channel.KindInt:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case channel.KindMap, channel.KindSecrets:
		return pairs(text)
	case channel.KindList:
		return items(text)
	}
	if text == "" {
		return nil
	}
	return text
}

// pairs are lines of name: value, nil where there is none.
func pairs(text string) any {
	out := map[string]any{}
	for line := range strings.Lines(text) {
		if name, value := pairOf(strings.TrimSpace(line)); name != "" {
			out[name] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// items are lines, nil where there is none.
func items(text string) any {
	var out []any
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
