package httpapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// template is a text with placeholders, parsed.
type template struct {
	where string // the setting it is, for errors
	parts []part
	size  int // of the literal text
}

// part is a literal text or, with a name, a placeholder.
type part struct {
	literal  string
	name     string
	where    string // the setting it stands in, for errors
	place    place
	variable variable
	payload  bool
	path     path // within the payload
}

// syntax knows how the literal text moves the place of what follows it.
type syntax struct {
	place   place
	moves   func(p place, literal string) place
	secrets map[string]string
}

// parseTemplate reads a text. Secrets are known now and become literal text.
func parseTemplate(where, s string, syn syntax) (template, error) {
	t := template{where: where}
	at := syn.place
	for s != "" {
		before, rest, found := strings.Cut(s, "${")
		if found && strings.HasSuffix(before, "$") { // "$${" is a plain "${"
			before, found = before[:len(before)-1]+"${", false
			s = rest
		} else {
			s = ""
		}
		t.literal(before)
		if syn.moves != nil {
			at = syn.moves(at, before)
		}
		if !found {
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return t, fmt.Errorf("the placeholder at %q has no closing brace", "${"+rest[:min(len(rest), 20)])
		}
		if err := t.placeholder(part{where: where, name: name, place: at}, syn.secrets); err != nil {
			return t, err
		}
		s = after
	}
	return t, nil
}

func (t *template) literal(s string) {
	if s != "" {
		t.parts = append(t.parts, part{literal: s})
		t.size += len(s)
	}
}

func (t *template) placeholder(p part, secrets map[string]string) error {
	if secret, ok := strings.CutPrefix(p.name, "secret."); ok {
		value, ok := secrets[secret]
		if !ok {
			return fmt.Errorf("${%s}: there is no %q among the secrets", p.name, secret)
		}
		t.literal(string(p.place.appendText(nil, value)))
		return nil
	}
	if p.name == "payload" || strings.HasPrefix(p.name, "payload.") || strings.HasPrefix(p.name, "payload[") {
		var err error
		p.payload = true
		if p.path, err = parsePath("$" + strings.TrimPrefix(p.name, "payload")); err != nil {
			return fmt.Errorf("${%s}: %w", p.name, err)
		}
		t.parts = append(t.parts, p)
		return nil
	}
	var ok bool
	if p.variable, ok = variables[p.name]; !ok {
		return errors.New("${" + p.name + "}: " + channel.UnknownName("placeholder", p.name, variableNames()))
	}
	t.parts = append(t.parts, p)
	return nil
}

// static reports whether the text is always the same.
func (t template) static() bool {
	for _, p := range t.parts {
		if p.name != "" {
			return false
		}
	}
	return true
}

// names lists the placeholders.
func (t template) names() []string {
	var out []string
	for _, p := range t.parts {
		if p.name != "" {
			out = append(out, p.name)
		}
	}
	return out
}

// render fills the text in one pass.
func (t template) render(s *scope) ([]byte, error) {
	if len(t.parts) == 0 {
		return nil, nil
	}
	out := make([]byte, 0, t.size+64*len(t.parts)+len(s.outs[0].Content.Text))
	for _, p := range t.parts {
		if p.name == "" {
			out = append(out, p.literal...)
			continue
		}
		var err error
		if out, err = p.append(out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inJSON follows the quotes of JSON text, from outside or inside of a string.
func inJSON(p place, literal string) place {
	for i := 0; i < len(literal); i++ {
		switch {
		case literal[i] == '\\' && p == jsonString:
			i++
		case literal[i] == '"' && p == jsonString:
			p = jsonValue
		case literal[i] == '"':
			p = jsonString
		}
	}
	return p
}

// inURL goes from the path to the query at the question mark.
func inURL(p place, literal string) place {
	if strings.Contains(literal, "?") {
		return urlQuery
	}
	return p
}
