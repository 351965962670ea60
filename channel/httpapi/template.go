package httpapi

import (
	"errors"
	"fmt"
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

// part is what stands for a placeholder.
type part struct {
	secret   bool
	value    string // of a secret
	variable variable
	payload  bool
	path     path // within the payload
}

// syntax is where a text begins, and the secrets it may name.
type syntax struct {
	place   render.Place
	secrets map[string]string
}

// parseTemplate reads the text of a setting.
func parseTemplate(where, s string, syn syntax) (t template, err error) {
	t = template{Template: &render.Template{}, where: where, parts: map[string]part{}}
	parsed, err := render.ParseDollars(s, syn.place)
	if err != nil {
		return t, err
	}
	t.Template = parsed
	for _, name := range t.Variables() {
		p, err := newPart(name, syn.secrets)
		if err != nil {
			return t, err
		}
		t.parts[name] = p
	}
	return t, nil
}

func newPart(name string, secrets map[string]string) (p part, err error) {
	if secret, ok := strings.CutPrefix(name, "secret."); ok {
		p.value, p.secret = secrets[secret]
		if !p.secret {
			err = fmt.Errorf("${%s}: there is no %q among the secrets", name, secret)
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

// static reports whether the text is always the same.
func (t template) static() bool { return len(t.names()) == 0 }

// names lists the placeholders that calls fill.
func (t template) names() []string {
	return slices.DeleteFunc(t.Variables(), func(name string) bool { return t.parts[name].secret })
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
