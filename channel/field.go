package channel

import (
	"github.com/posthouse/posthouse"
)

// Kind is what a field holds.
type Kind string

// The kinds of a field, with the Go type Config holds for each.
const (
	KindString   Kind = "string"   // string, one line
	KindText     Kind = "text"     // string, many lines
	KindSecret   Kind = "secret"   // string, encrypted at rest and never shown
	KindURL      Kind = "url"      // string, http or https
	KindInt      Kind = "int"      // int
	KindBool     Kind = "bool"     // bool
	KindDuration Kind = "duration" // time.Duration
	KindChoice   Kind = "choice"   // string, one of Choices
	KindMap      Kind = "map"      // map[string]string
	KindSecrets  Kind = "secrets"  // map[string]string whose values are secret
	KindList     Kind = "list"     // []string
)

// Field is one setting of a driver.
type Field struct {
	Name           string
	Label, LabelZH string
	Help, HelpZH   string
	Kind           Kind
	Required       bool
	Default        any      // of the Go type the kind holds; nil means the zero value
	Choices        []Choice // for KindChoice
	Min, Max       int      // for KindInt; both 0 means no bounds
	// Destination is set where the field decides to whom the secrets go: see Type.Keep. Scheme, host and
	// port of a KindURL do so anyway.
	Destination bool
	// Account is set where each account of a channel has a value of its own, such as an application's id and secret.
	Account bool
	// Group is what a field that is rarely needed is for. Forms fold the fields of a group that stand together. Defaults to none: the field
	// stays in view.
	Group Group
}

// Group is what several fields are for, as a form says it.
type Group struct{ Label, LabelZH string }

// OwnInstallation is the group of a provider's addresses, which few change.
func OwnInstallation() Group { return Group{"Private installation or proxy", "私有部署或代理"} }

// Choice is one of the values of a KindChoice: what is stored, and what a form calls it. The two labels may be one word, such as the name
// of a method; a form shows no value without them.
type Choice struct {
	Value          string
	Label, LabelZH string
}

// TextOrMarkdown are the choices of what contents are whose type nobody says.
func TextOrMarkdown() []Choice {
	return []Choice{{"text", "Plain text", "纯文本"}, {"markdown", "Markdown", "Markdown"}}
}

// Values are what may be stored of a KindChoice.
func (f Field) Values() []string {
	values := make([]string, len(f.Choices))
	for i, c := range f.Choices {
		values[i] = c.Value
	}
	return values
}

// Secret reports whether the field's value is encrypted at rest and masked.
func (f Field) Secret() bool { return f.Kind == KindSecret || f.Kind == KindSecrets }

// Mask stands for a secret wherever a configuration is shown. Writing it back keeps the secret.
const Mask = "********"

// Validate decodes a channel's configuration by the type's fields: unknown names, missing and
// malformed values are all reported at once, with paths below "config". The Config holds every
// field, defaults filled in.
func (t Type) Validate(raw map[string]any) (Config, []posthouse.Problem) {
	return decode(t, raw)
}
