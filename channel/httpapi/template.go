package httpapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/render"
)

// template is a text whose placeholders are known.
type template struct {
	*render.Template
	where string // the setting it is, for errors
	parts map[string]part
}

// part is what stands for a placeholder, or for an argument within one.
type part struct {
	name     string // as it is written, empty for a text and a function
	secret   bool
	fixed    bool // a value of the configuration
	literal  bool
	value    string // of a secret, a value and a text
	variable variable
	token    bool
	heard    string // what of a receipt: body, header, query or report
	payload  bool
	path     path // within the payload, or a report
	call     *call
}

// constant reports whether a part is the same in each call.
func (p part) constant() bool { return p.secret || p.fixed || p.literal }

// syntax is where a text begins, and what it may name of the configuration.
type syntax struct {
	place   render.Place
	secrets map[string]string
	values  map[string]string
	token   bool // there is one
	// callback is set for texts about a receipt, which name nothing else but what it is made of.
	callback bool
}

// at is the syntax of a text that begins elsewhere.
func (syn syntax) at(place render.Place) syntax {
	syn.place = place
	return syn
}

// parseTemplate reads the text of a setting.
func parseTemplate(where, s string, syn syntax) (t template, err error) {
	t = template{Template: &render.Template{}, where: where, parts: map[string]part{}}
	if syn.place == render.URLPath {
		s = syn.unescaped(s)
	}
	parsed, err := render.ParseDollars(s, syn.place)
	if err != nil {
		return t, err
	}
	t.Template = parsed
	for _, name := range t.Variables() {
		p, err := syn.expression(name)
		if err != nil {
			return t, err
		}
		t.parts[name] = p
	}
	return t, nil
}

func newPart(name string, syn syntax) (p part, err error) {
	p.name = name
	if secret, ok := strings.CutPrefix(name, "secret."); ok {
		p.value, p.secret = syn.secrets[secret]
		if !p.secret {
			err = fmt.Errorf("${%s}: there is no %q among the secrets", name, secret)
		}
		return p, err
	}
	if value, ok := strings.CutPrefix(name, "value."); ok {
		p.value, p.fixed = syn.values[value]
		if !p.fixed {
			err = fmt.Errorf("${%s}: there is no %q among the values", name, value)
		}
		return p, err
	}
	if syn.callback {
		return heardPart(name)
	}
	if name == "token" {
		if p.token = syn.token; !p.token {
			err = errors.New("${token}: token_url is missing, which says where to get it")
		}
		return p, err
	}
	if name == "payload" || strings.HasPrefix(name, "payload.") || strings.HasPrefix(name, "payload[") {
		p.payload = true
		if p.path, err = parsePath("$" + strings.TrimPrefix(name, "payload")); err != nil {
			err = fmt.Errorf("${%s}: %w", name, err)
		}
		return p, err
	}
	var ok bool
	if p.variable, ok = variables[name]; !ok {
		err = errors.New("${" + name + "}: " + channel.UnknownName("placeholder", name, variableNames()))
	}
	return p, err
}

// rawPart is a secret or a value that stands in a URL as it is, such as the path of a hook.
var rawPart = regexp.MustCompile(`\$\{raw\((secret|value)\.([^()\s{}]+)\)\}`)

// unescaped puts the values of raw() in a URL before it is read: a question mark within one begins the query.
func (syn syntax) unescaped(s string) string {
	return rawPart.ReplaceAllStringFunc(s, func(written string) string {
		m := rawPart.FindStringSubmatch(written)
		value, known := map[string]map[string]string{"secret": syn.secrets, "value": syn.values}[m[1]][m[2]]
		if !known {
			return written
		}
		return strings.ReplaceAll(value, "${", "$${")
	})
}

// heardPart is a part of a receipt.
func heardPart(name string) (p part, err error) {
	p.name = name
	of, what, _ := strings.Cut(name, ".")
	switch {
	case name == "body":
	case what != "" && (of == "header" || of == "query"):
	case what != "" && of == "report":
		p.path, err = parsePath("$." + what)
	default:
		err = fmt.Errorf("${%s}: of a receipt there are body, header.<name>, query.<name>, report.<path>, secret.<name> and value.<name>", name)
	}
	p.heard = of
	return p, err
}

// static reports whether the text is always the same.
func (t template) static() bool { return len(t.leaves()) == 0 }

// leaves lists what calls fill, also within functions.
func (t template) leaves() (list []part) {
	for _, name := range t.Variables() {
		list = append(list, t.parts[name].leaves()...)
	}
	return slices.DeleteFunc(list, part.constant)
}

// render fills the text in one pass.
func (t template) render(s *scope) ([]byte, error) {
	return t.Append(nil, func(dst []byte, at render.Segment) ([]byte, error) {
		dst, err := t.parts[at.Name].append(dst, at, s)
		if err != nil {
			err = fmt.Errorf("the channel's %s: %w", t.where, err)
		}
		return dst, err
	})
}
