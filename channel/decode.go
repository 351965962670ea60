package channel

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// decode is Type.Validate. An empty text, list or map counts as not given.
func decode(t Type, raw map[string]any) (Config, []posthouse.Problem) {
	d := decoder{values: make(map[string]any, len(t.Fields))}
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
		d.field(f, raw[f.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(names, name) {
			d.problem(name, "%s", UnknownName("setting", name, names))
		}
	}
	cfg := Config{d.values}
	if t.Check != nil {
		d.check(t.Check(cfg))
	}
	return cfg, d.problems
}

type decoder struct {
	values   map[string]any
	problems []posthouse.Problem
}

func (d *decoder) problem(path, format string, args ...any) {
	d.problems = append(d.problems, posthouse.Problem{
		Path: "config." + path, Message: fmt.Sprintf(format, args...),
	})
}

// check adds what the type's own Check found, but nothing about a field that is already reported.
func (d *decoder) check(found []posthouse.Problem) {
	reported := d.problems
	for _, p := range found {
		field, _, _ := strings.Cut(p.Path, ".")
		known := slices.ContainsFunc(reported, func(q posthouse.Problem) bool {
			return q.Path == "config."+field || strings.HasPrefix(q.Path, "config."+field+".")
		})
		if !known {
			d.problem(p.Path, "%s", p.Message)
		}
	}
}

func (d *decoder) field(f Field, raw any) {
	d.values[f.Name] = f.zero()
	if f.Default != nil {
		d.values[f.Name] = f.Default
	}
	if empty(raw) {
		if f.Required {
			d.problem(f.Name, "is missing; give %s", f.allowed())
		}
		return
	}
	if v, ok := d.convert(f, raw); ok {
		d.values[f.Name] = v
	}
}

// convert turns what JSON, YAML or Go code gave into the field's Go type.
func (d *decoder) convert(f Field, raw any) (any, bool) {
	switch f.Kind {
	case KindMap, KindSecrets:
		return d.texts(f, raw)
	case KindList:
		return d.list(f, raw)
	}
	v, ok := f.scalar(raw)
	if !ok {
		d.problem(f.Name, "%s is not allowed; give %s", f.shown(raw), f.allowed())
	} else if v == Mask && f.Kind == KindSecret {
		d.problem(f.Name, "%s", maskWithoutSecret)
	}
	return v, ok
}

func (d *decoder) texts(f Field, raw any) (any, bool) {
	out := map[string]string{}
	if m, ok := raw.(map[string]string); ok {
		raw = widen(m)
	}
	m, ok := raw.(map[string]any)
	if !ok {
		d.problem(f.Name, "%s is not allowed; give %s", f.shown(raw), f.allowed())
		return out, false
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, ok := m[name].(string)
		switch {
		case !ok:
			d.problem(f.Name+"."+name, "%s is not allowed; give a text", f.shown(m[name]))
		case text == Mask && f.Secret():
			d.problem(f.Name+"."+name, "%s", maskWithoutSecret)
		default:
			out[name] = text
		}
	}
	return out, true
}

func (d *decoder) list(f Field, raw any) (any, bool) {
	if l, ok := raw.([]string); ok {
		return l, true
	}
	l, ok := raw.([]any)
	if !ok {
		d.problem(f.Name, "%s is not allowed; give %s", f.shown(raw), f.allowed())
		return nil, false
	}
	out := make([]string, 0, len(l))
	for i, item := range l {
		text, ok := item.(string)
		if !ok {
			d.problem(fmt.Sprintf("%s[%d]", f.Name, i), "%s is not allowed; give a text", f.shown(item))
			continue
		}
		out = append(out, text)
	}
	return out, true
}

const maskWithoutSecret = "the mask keeps a stored secret, but none is stored for this destination; give the secret itself"

func (f Field) scalar(raw any) (any, bool) {
	switch f.Kind {
	case KindInt:
		n, ok := whole(raw)
		return n, ok && (f.Min == 0 && f.Max == 0 || n >= f.Min && n <= f.Max)
	case KindBool:
		b, ok := raw.(bool)
		return b, ok
	case KindDuration:
		return duration(raw)
	}
	s, ok := raw.(string)
	if !ok {
		return "", false
	}
	switch f.Kind {
	case KindString:
		ok = !strings.ContainsFunc(s, control)
	case KindURL:
		ok = webURL(s)
	case KindChoice:
		ok = slices.Contains(f.Values(), s)
	}
	return s, ok
}

// webURL reports whether s is an absolute http or https URL without credentials in it, which
// would end up in logs.
func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

func control(r rune) bool { return r < 0x20 || r == 0x7f }

// whole accepts the number types that JSON, YAML and Go code produce.
func whole(raw any) (int, bool) {
	switch n := raw.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case uint64:
		return int(n), n <= math.MaxInt32
	case float64:
		return int(n), n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32
	}
	return 0, false
}

func duration(raw any) (time.Duration, bool) {
	switch v := raw.(type) {
	case time.Duration:
		return v, v >= 0
	case posthouse.Duration:
		return v.Std(), v >= 0
	case string:
		var d posthouse.Duration
		err := d.UnmarshalText([]byte(v))
		return d.Std(), err == nil && d >= 0
	}
	return 0, false
}

func (f Field) zero() any {
	switch f.Kind {
	case KindInt:
		return 0
	case KindBool:
		return false
	case KindDuration:
		return time.Duration(0)
	case KindMap, KindSecrets:
		return map[string]string(nil)
	case KindList:
		return []string(nil)
	}
	return ""
}

// allowed says what a field takes, for an error's text.
func (f Field) allowed() string {
	switch f.Kind {
	case KindURL:
		return "an http or https URL without a user name in it, such as https://example.com/send"
	case KindInt:
		if f.Min == 0 && f.Max == 0 {
			return "a whole number"
		}
		return fmt.Sprintf("a whole number from %d to %d", f.Min, f.Max)
	case KindBool:
		return "true or false"
	case KindDuration:
		return "a duration such as 500ms, 90s, 5m, 1h30m or 7d"
	case KindChoice:
		return "one of " + strings.Join(f.Values(), ", ")
	case KindMap, KindSecrets:
		return "names with a text each"
	case KindList:
		return "a list of texts"
	case KindString:
		return "one line of text"
	}
	return "a text"
}

// shown quotes a refused value for an error's text, but never a secret.
func (f Field) shown(raw any) string {
	if f.Secret() {
		return "this value"
	}
	s := fmt.Sprintf("%v", raw)
	switch v := raw.(type) {
	case string:
		s = fmt.Sprintf("%q", v)
	case float64: // of JSON: as it was written, and not as 1e+06
		s = strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		if text, err := json.Marshal(v); err == nil {
			s = string(text)
		}
	}
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

func empty(raw any) bool {
	switch v := raw.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case []string:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case map[string]string:
		return len(v) == 0
	}
	return false
}

func widen(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
