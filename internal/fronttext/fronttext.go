// Package fronttext writes and reads the settings of fronts as people type them: recipients, lines of the table and words with a value. It
// is not what a front does with them, and checks no names.
package fronttext

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// Recipients reads recipients: users, or others by a word before a colon.
func Recipients(list []string) []posthouse.Recipient {
	out := make([]posthouse.Recipient, len(list))
	for i, text := range list {
		switch kind, rest, _ := strings.Cut(text, ":"); kind {
		case "roster":
			out[i].Roster = rest
		case "role":
			out[i].Role = rest
		case "address":
			out[i].Address = rest
		default:
			out[i].User = text
		}
	}
	return out
}

// OfRecipients writes recipients as Recipients reads them.
func OfRecipients(list []posthouse.Recipient) []string {
	out := make([]string, len(list))
	for i, r := range list {
		switch {
		case r.Roster != "":
			out[i] = "roster:" + r.Roster
		case r.Role != "":
			out[i] = "role:" + r.Role
		case r.User == "" && r.Address != "":
			out[i] = "address:" + r.Address
		default:
			out[i] = r.User
		}
	}
	return out
}

// The words of a line of the table that are no labels.
const (
	toChannel  = "to-channel"
	toRoute    = "to-route"
	recipients = "recipients"
)

// Match reads a line of the table: words of the form NAME=VALUE.
func Match(text string) (posthouse.FrontMatch, error) {
	m := posthouse.FrontMatch{If: map[string]string{}}
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok:
			return m, fmt.Errorf("the word %.80q: want NAME=VALUE, %s=CHANNEL, %s=ROUTE or %s=LIST", word, toChannel, toRoute, recipients)
		case name == toChannel:
			m.Channel = value
		case name == toRoute:
			m.Route = value
		case name == recipients:
			m.To = Recipients(strings.Split(value, ","))
		default:
			m.If[name] = value
		}
	}
	return m, nil
}

// OfMatch writes a line of the table as Match reads it.
func OfMatch(m posthouse.FrontMatch) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(m.If)) {
		words = append(words, name+"="+m.If[name])
	}
	if m.Channel != "" {
		words = append(words, toChannel+"="+m.Channel)
	}
	if m.Route != "" {
		words = append(words, toRoute+"="+m.Route)
	}
	if len(m.To) > 0 {
		words = append(words, recipients+"="+strings.Join(OfRecipients(m.To), ","))
	}
	return strings.Join(words, " ")
}

// Pair reads NAME=VALUE; a name alone is none. An error names the example of what is typed there.
func Pair(text, example string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return "", "", fmt.Errorf("%.80q is no name with a value: want NAME=VALUE, such as %s", text, example)
	}
	return name, strings.TrimSpace(value), nil
}

// OfPairs writes words with their values, a line each.
func OfPairs[V ~string](pairs map[string]V) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		b.WriteString(name + "=" + string(pairs[name]) + "\n")
	}
	return b.String()
}
