package channel

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Secrets are kept apart from other settings by a field's kind alone, so that whoever stores,
// shows or writes a configuration needs to know nothing about the driver. The three functions
// below work on raw configurations, as JSON or YAML decoded them, and never change their input.

// Redact replaces each secret by Mask. A name the type does not know is masked too: nobody can
// say what it holds.
func (t Type) Redact(raw map[string]any) map[string]any {
	out, _ := t.MapSecrets(raw, func(string, string) (string, error) { return Mask, nil })
	for name := range out {
		if _, known := t.field(name); !known {
			out[name] = Mask
		}
	}
	return out
}

// Keep replaces each Mask in a new configuration by the secret the old one holds there. A secret is
// bound to where it goes: where the new configuration has another destination, nothing is kept, or
// whoever may change a URL could have the secrets sent to an address of theirs. A Mask that stands for
// nothing stays, and Validate names it.
func (t Type) Keep(old, new map[string]any) map[string]any {
	if !slices.Equal(t.destination(old), t.destination(new)) {
		return maps.Clone(new)
	}
	stored := map[string]string{}
	_, _ = t.MapSecrets(old, func(name, value string) (string, error) {
		stored[name] = value
		return value, nil
	})
	out, _ := t.MapSecrets(new, func(name, value string) (string, error) {
		if secret, ok := stored[name]; ok && value == Mask {
			return secret, nil
		}
		return value, nil
	})
	return out
}

// MapSecrets returns a copy of a raw configuration with each secret value replaced by what f
// makes of it; the store encrypts and decrypts with it. The name is the field's, such as
// "secret", or "headers.X-Key" within a field of many secrets. Empty secrets are left alone. The
// first error of f ends it.
func (t Type) MapSecrets(raw map[string]any, f func(name, value string) (string, error)) (map[string]any, error) {
	out := maps.Clone(raw)
	for name, v := range raw {
		field, _ := t.field(name)
		if !field.Secret() {
			continue
		}
		mapped, err := mapSecret(name, v, f)
		if err != nil {
			return nil, err
		}
		out[name] = mapped
	}
	return out, nil
}

// destination is all by which a configuration decides to whom its secrets go.
func (t Type) destination(raw map[string]any) []string {
	var out []string
	for _, f := range t.Fields {
		value := raw[f.Name]
		if empty(value) {
			value = f.Default
		}
		switch {
		case f.Kind == KindURL:
			out = append(out, placeOf(value))
		case f.Destination && !empty(value):
			out = append(out, f.Name+"="+fmt.Sprint(value))
		}
	}
	return out
}

// placeOf is scheme, host and port of a URL, in one spelling.
func placeOf(raw any) string {
	text, _ := raw.(string)
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return strings.ToLower(u.Scheme) + "://" + plainHost(u) + ":" + portOf(u)
}

func mapSecret(name string, v any, f func(name, value string) (string, error)) (any, error) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return v, nil
		}
		return f(name, v)
	case map[string]string:
		return mapSecret(name, widen(v), f)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			mapped, err := mapSecret(name+"."+key, value, f)
			if err != nil {
				return nil, err
			}
			out[key] = mapped
		}
		return out, nil
	}
	return v, nil // not a secret's form: Validate refuses it
}

func (t Type) field(name string) (Field, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}
