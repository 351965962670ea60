package render_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/render"
)

// canary is text that no fuzzed input holds by itself.
const canary = "\u2063canary\u2063"

// FuzzExecute fills any template with any value beside a canary. Every canary in
// the output must come from a placeholder of the template that names it, never
// from a value.
func FuzzExecute(f *testing.F) {
	for _, seed := range [][2]string{
		{"${a}{b}", "{b}"}, {"{a}${b}", "${b}"}, {"$${a}{{b}}", "}"}, {`{"x":"${a}"}`, "{{b}}"}, {"$$${a}", "$"}, {"{a", "b}"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		tmpl, err := render.Parse(text)
		if err != nil || strings.Contains(text+value, canary) {
			return
		}
		named := 0
		if _, err := tmpl.Fill(func(name string) (string, bool) {
			if name == "b" {
				named++
			}
			return "", true
		}); err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Execute(render.Strings(map[string]string{"a": value, "b": canary}), render.Lenient)
		var long *render.TooLongError
		if errors.As(err, &long) {
			return
		}
		if n := strings.Count(got, canary); err != nil || n != named {
			t.Fatalf("%d canaries for %d placeholders: %q, %v", n, named, got, err)
		}
	})
}

// special is what must be escaped for a text to stand for itself.
var special = regexp.MustCompile(`\$+\{|\{[^{}]+\}`)

func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(s string) string {
		if dollars := strings.Count(s, "$"); dollars > 0 && s[0] == '$' {
			return strings.Repeat("$", dollars) + s
		}
		if tmpl, err := render.Parse(s); err != nil || len(tmpl.Variables()) == 0 {
			return s
		}
		return "{" + s + "}"
	})
}

// FuzzEscape writes any text so that it stands for itself, and reads it back.
func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"{a}", "${a}", "$$", "{{a}}", "$$${", "{\"a\":{}}", "{a}}", "${{a}}", "{{{a}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		escaped := escape(text)
		if !utf8.ValidString(text) || len(escaped) > render.MaxTemplate {
			return
		}
		tmpl, err := render.Parse(escaped)
		if err != nil {
			t.Fatalf("%q: %v", escaped, err)
		}
		got, err := tmpl.Execute(render.Values{}, render.Strict)
		if err != nil || got != text {
			t.Fatalf("%q: got %q, %v, want %q", escaped, got, err, text)
		}
	})
}

func FuzzParseValues(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":{"a":[1,"2",null]}}`, `{"a":1,"a":1}`, `[`, `{"a":1,}`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		_, err := render.ParseValues(payload)
		if err == nil && len(strings.TrimSpace(string(payload))) > 0 && !json.Valid(payload) {
			t.Fatalf("accepted what is not JSON: %q", payload)
		}
	})
}

func FuzzCut(f *testing.F) {
	f.Add("a"+family+"b", 3, 1)
	f.Add("\xff\xfe", 1, 2)
	f.Fuzz(func(t *testing.T, s string, limit, unit int) {
		u := render.Unit(((unit % 4) + 4) % 4)
		cut := render.Cut(s, limit, u)
		if !strings.HasPrefix(s, cut) {
			t.Fatalf("%q does not begin with %q", s, cut)
		}
		if n := render.Length(cut).In(u); n > max(limit, 0) {
			t.Fatalf("%q is %d long, the limit is %d", cut, n, limit)
		}
		whole, head, tail := render.Length(s).Graphemes, render.Length(cut).Graphemes, render.Length(s[len(cut):]).Graphemes
		if whole > head+tail {
			t.Fatalf("%d graphemes became %d and %d", whole, head, tail)
		}
	})
}
