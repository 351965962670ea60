package channel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A channel that sends by several accounts shares one configuration, and each account adds the fields that differ:
// those with Account set. The functions below work on raw configurations and never change their input.

// Shared is the type as the configuration that accounts share has to fit it: what each of them has may be missing.
func (t Type) Shared() Type {
	whole := t.Check
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		if t.Fields[i].Account {
			t.Fields[i].Required = false
		}
	}
	if whole != nil {
		t.Check = func(c Config) []posthouse.Problem {
			return slices.DeleteFunc(whole(c), func(p posthouse.Problem) bool {
				name, _, _ := strings.Cut(p.Path, ".")
				f, _ := t.field(name)
				return f.Account
			})
		}
	}
	return t
}

// Merge is the configuration of an account: what all share, with what is its own.
func (t Type) Merge(shared, own map[string]any) map[string]any {
	out := maps.Clone(shared)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, own)
	return out
}

// ValidateAccount decodes the configuration of an account. Beside what Validate finds, a field that is the channel's alone is
// a problem.
func (t Type) ValidateAccount(shared, own map[string]any) (Config, []posthouse.Problem) {
	var problems []posthouse.Problem
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if f, known := t.field(name); known && !f.Account {
			problems = append(problems, posthouse.Problem{Path: "config." + name, Message: fmt.Sprintf("is the channel's, the same for all its accounts: an account has %s", t.accountFields())})
		}
	}
	config, more := t.Validate(t.Merge(shared, own))
	return config, append(problems, more...)
}

func (t Type) accountFields() string {
	var names []string
	for _, f := range t.Fields {
		if f.Account {
			names = append(names, f.Name)
		}
	}
	if names == nil {
		return "no settings of this driver's"
	}
	return strings.Join(names, ", ")
}

// Destination is all by which a configuration decides to whom its secrets go, as a text that can be compared.
func (t Type) Destination(raw map[string]any) string { return strings.Join(t.destination(raw), "\n") }
