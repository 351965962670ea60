// Package preset makes channels of what is known of providers: it reads presets strictly, fills them with what a user gives, shows
// how a new version differs from what a channel has, and tries them over their shapes. A channel that was made of one is a channel of
// the httpapi driver like any other. It calls nobody, and keeps nothing.
package preset

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Driver is the driver of channels that are made of presets.
const Driver = "httpapi"

// Preset is what is known of a provider.
type Preset struct {
	Name           string
	Version        int
	Group          Group
	Title, TitleZH string
	Doc, DocZH     string
	// Links are the provider's own pages.
	Links []string
	// Fields are what to ask the user, besides OriginField.
	Fields []Field
	// Config is the configuration of the httpapi driver, without the values of the fields.
	Config map[string]any
	Limits []Limit
	// Notes say what a user should know, and Unverified what is not certain; NotesZH and UnverifiedZH are the same in Chinese.
	// UnverifiedZH may be missing.
	Notes, NotesZH, Unverified, UnverifiedZH []string
	// Own is set for one that the installation added.
	Own bool
	// Text and ShapesText are the files as they are written.
	Text, ShapesText string
	Shapes           *Shapes
}

// Group says what a provider is for, for those who look for one.
type Group string

// The groups.
const (
	Chat  Group = "chat"  // groups and robots
	Push  Group = "push"  // phones and browsers
	SMS   Group = "sms"   // and what else goes by number
	Alert Group = "alert" // on-call services
)

// Groups lists the groups in the order of a gallery.
func Groups() []Group { return []Group{Chat, Push, SMS, Alert} }

// Kind is what a field holds.
type Kind string

// The kinds of fields.
const (
	Text Kind = "text"
	URL  Kind = "url"  // the beginning of a URL, which the preset goes on with
	Hook Kind = "hook" // a whole URL of which all behind the host is secret
)

// Field is one thing to ask the user.
type Field struct {
	Name                         string
	Kind                         Kind
	Label, LabelZH, Help, HelpZH string
	Secret                       bool
	Default, Example             string
	Pattern                      *regexp.Regexp
}

// OriginField is the field that every preset has: scheme, host and perhaps the beginning of the path for all of its URLs, such as those
// of a proxy, of a gateway of one's own or of the simulator.
const OriginField = "origin"

// Limit is a limit as the provider states it.
type Limit struct {
	posthouse.Limit
	// Of is whose calls it counts: channel, account or recipient.
	Of           string
	Source, Date string
	Unverified   bool
}

// place is a placeholder of a field at the beginning of a URL.
var place = regexp.MustCompile(`^\$\{(value|hook)\.([a-z0-9_]+)\}`)

// urls are the settings that are URLs.
var urls = []string{"url", "token_url"}

// Fill makes a configuration of what the user gives. What is not given stays as before, the configuration of the channel as it is
// shown, where there is one: a masked secret is kept. Paths of problems are below config.
func (p *Preset) Fill(given map[string]string, before map[string]any) (map[string]any, []posthouse.Problem) {
	f := filling{preset: p, secrets: map[string]any{}, values: map[string]any{}}
	f.unknown(given)
	oldSecrets, oldValues := texts(before["secrets"]), texts(before["values"])
	for _, one := range p.Fields {
		text, isGiven := given[one.Name]
		switch {
		case isGiven && text != "":
			f.take(one, text)
		case one.Kind == Hook && oldSecrets[one.Name] != "" && oldValues[one.Name] != "":
			f.secrets[one.Name], f.values[one.Name] = oldSecrets[one.Name], oldValues[one.Name]
		case one.Secret && oldSecrets[one.Name] != "":
			f.secrets[one.Name] = oldSecrets[one.Name]
		case !one.Secret && oldValues[one.Name] != "" && !isGiven:
			f.values[one.Name] = oldValues[one.Name]
		case one.Default != "":
			f.take(one, one.Default)
		default:
			f.problem(one.Name, "is missing; give %s", one.wants())
		}
	}
	origin, isGiven := given[OriginField]
	if !isGiven {
		origin = oldValues[OriginField]
	}
	if origin != "" {
		f.take(Field{Name: OriginField, Kind: URL}, origin)
	}
	return f.config(), f.problems
}

// Refill is Fill for a channel that stays with what it was made of, and whatever was changed in it: only what the user gives becomes another.
func (p *Preset) Refill(given map[string]string, before map[string]any) (map[string]any, []posthouse.Problem) {
	fresh, problems := p.Fill(given, before)
	config := maps.Clone(before)
	for _, name := range []string{"secrets", "values"} {
		if fresh[name] != nil {
			config[name] = fresh[name]
		}
	}
	for _, one := range append(slices.Clone(p.Fields), Field{Name: OriginField, Kind: URL}) {
		if _, moved := given[one.Name]; !moved || one.Kind == Text {
			continue
		}
		for _, name := range urls {
			if fresh[name] != nil {
				config[name] = fresh[name]
			}
		}
	}
	return config, problems
}

// filling is one Fill.
type filling struct {
	preset          *Preset
	secrets, values map[string]any
	problems        []posthouse.Problem
}

func (f *filling) problem(field, format string, args ...any) {
	f.problems = append(f.problems, posthouse.Problem{Path: "config." + field, Message: fmt.Sprintf(format, args...)})
}

func (f *filling) unknown(given map[string]string) {
	names := []string{OriginField}
	for _, one := range f.preset.Fields {
		names = append(names, one.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			f.problem(name, "%s", channel.UnknownName("field", name, names))
		}
	}
}

// take puts a value in its place.
func (f *filling) take(one Field, text string) {
	if one.Secret && text == channel.Mask {
		f.secrets[one.Name] = text
		return
	}
	if !one.takes(text) {
		f.problem(one.Name, "%s is not allowed; give %s", one.shown(text), one.wants())
		return
	}
	switch {
	case one.Kind == Hook:
		u, _ := url.Parse(text) // it was looked at
		f.values[one.Name] = u.Scheme + "://" + u.Host
		f.secrets[one.Name] = strings.TrimPrefix(text[strings.Index(text, u.Host)+len(u.Host):], "/")
	case one.Kind == URL:
		f.values[one.Name] = strings.TrimSuffix(text, "/")
	case one.Secret:
		f.secrets[one.Name] = text
	default:
		f.values[one.Name] = text
	}
}

// takes reports whether a field may have a value.
func (one *Field) takes(text string) bool {
	if one.Kind == URL || one.Kind == Hook {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
			return false
		}
		if one.Kind == Hook && u.Path == "" || one.Kind == URL && u.RawQuery != "" {
			return false
		}
	}
	return !strings.ContainsAny(text, "\r\n\x00") && (one.Pattern == nil || one.Pattern.MatchString(text))
}

// wants says what a field takes.
func (one *Field) wants() string {
	switch {
	case one.Kind == URL:
		return "an http or https URL such as " + one.example("https://example.com")
	case one.Kind == Hook:
		return "the whole URL that the provider shows, such as " + one.example("https://example.com/hook/…")
	case len(one.choices()) > 0:
		return "one of " + strings.Join(one.choices(), ", ")
	case one.Pattern != nil && one.Example != "":
		return "a value such as " + one.Example
	case one.Example != "":
		return "one line of text, such as " + one.Example
	}
	return "one line of text"
}

// choices are the values of a field that takes one of a few, as its pattern names them.
func (one *Field) choices() []string {
	if one.Pattern == nil {
		return nil
	}
	list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(one.Pattern.String(), "^(?:"), ")$"), "|")
	if len(list) == 1 || slices.ContainsFunc(list, func(s string) bool { return s != regexp.QuoteMeta(s) }) {
		return nil
	}
	return list
}

func (one *Field) example(otherwise string) string {
	if one.Example != "" {
		return one.Example
	}
	return otherwise
}

// shown quotes a value for an error, but never a secret.
func (one *Field) shown(text string) string {
	if one.Secret {
		return "this value"
	}
	return fmt.Sprintf("%.60q", text)
}

// config is the preset's configuration with the values.
func (f *filling) config() map[string]any {
	config := maps.Clone(f.preset.Config)
	for _, name := range urls {
		if text, ok := config[name].(string); ok {
			config[name] = f.url(text)
		}
	}
	if len(f.secrets) > 0 {
		config["secrets"] = f.secrets
	}
	if len(f.values) > 0 {
		config["values"] = f.values
	}
	return config
}

// url is a URL with its beginning: that of a field, or of the origin, which goes before it.
func (f *filling) url(text string) string {
	if m := place.FindStringSubmatch(text); m != nil {
		begin, _ := f.values[m[2]].(string)
		rest := text[len(m[0]):]
		if m[1] == "hook" {
			rest = "/${raw(secret." + m[2] + ")}" + rest
		}
		text = begin + rest
	}
	origin, _ := f.values[OriginField].(string)
	if at := strings.Index(text, "://"); origin != "" && at >= 0 {
		if slash := strings.IndexByte(text[at+3:], '/'); slash >= 0 {
			return origin + text[at+3+slash:]
		}
		return origin
	}
	return text
}

// texts is a map of texts, as a configuration is shown.
func texts(v any) map[string]string {
	out := map[string]string{}
	m, _ := v.(map[string]any)
	for name, value := range m {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out
}

// Given reads the fields that a channel's config has in the place of a configuration.
func Given(config map[string]any) (map[string]string, []posthouse.Problem) {
	given, problems := map[string]string{}, []posthouse.Problem(nil)
	for _, name := range slices.Sorted(maps.Keys(config)) {
		text, ok := config[name].(string)
		if !ok {
			problems = append(problems, posthouse.Problem{Path: "config." + name, Message: "a field of a preset is a text: give it between quotes"})
			continue
		}
		given[name] = text
	}
	return given, problems
}
