package render_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/render"
)

func TestParseReadsPlaceholdersAndLeavesOtherBraces(t *testing.T) {
	t.Parallel()
	values := map[string]string{"name": "Ann", "a.b": "dotted", "值班人": "王芳", "a-b_1": "dash", "0": "zero"}
	for name, c := range map[string]struct {
		text, want string
		names      []string
	}{
		"empty":                        {"", "", nil},
		"no placeholder":               {"plain", "plain", nil},
		"dollar form":                  {"Hi ${name}!", "Hi Ann!", []string{"name"}},
		"brace form":                   {"Hi {name}!", "Hi Ann!", []string{"name"}},
		"Chinese name":                 {"今日:{值班人}", "今日:王芳", []string{"值班人"}},
		"dotted name":                  {"${a.b}", "dotted", []string{"a.b"}},
		"dash, underscore, digit":      {"{a-b_1}{0}", "dashzero", []string{"a-b_1", "0"}},
		"each name once, in order":     {"{name}${0}{name}", "AnnzeroAnn", []string{"name", "0"}},
		"JSON stays":                   {`{ "a": {"b": [1, {}]}}`, `{ "a": {"b": [1, {}]}}`, nil},
		"placeholder inside JSON":      {`{"a":{"b":"${name}"}}`, `{"a":{"b":"Ann"}}`, []string{"name"}},
		"CSS stays":                    {"p{color:red}", "p{color:red}", nil},
		"repetition stays":             {"a{2,3}", "a{2,3}", nil},
		"empty braces stay":            {"{}", "{}", nil},
		"dots alone stay":              {"{...} {.a} {a.} {a..b} {-}", "{...} {.a} {a.} {a..b} {-}", nil},
		"spaces make it text":          {"{ name }", "{ name }", nil},
		"unclosed brace stays":         {"{name", "{name", nil},
		"closing brace stays":          {"a } b }}", "a } b }}", nil},
		"escaped braces":               {"{{name}}", "{name}", nil},
		"half an escape opens":         {"{{name}", "{Ann", []string{"name"}},
		"escaped dollar":               {"$${name}", "${name}", nil},
		"dollar and a value":           {"$$${name}", "$Ann", []string{"name"}},
		"two dollars and a text":       {"$$$${name}", "$${name}", nil},
		"dollars elsewhere stay":       {"$5 $$ $", "$5 $$ $", nil},
		"escaped dollar, then a value": {"$${{name}", "${Ann", []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl, err := render.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Execute(render.Strings(values), render.Strict)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if diff := cmp.Diff(append([]string{}, c.names...), tmpl.Variables()); diff != "" {
				t.Errorf("variables: %s", diff)
			}
		})
	}
}

func TestParseNamesThePlaceOfAMistake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty name":    {"a${}", `line 1, column 2: "${}" names nothing; write "$${" for the text "${"`},
		"spaces":        {"一\n二三${na me}", `line 2, column 3: "na me" is not a name: use letters, digits, "_", "-" and dots between parts; write "$${" for the text "${"`},
		"not closed":    {"${name\n}", `line 1, column 1: "${" has no closing "}" on its line; write "$${" for the text "${"`},
		"default value": {"${a:-b}", `line 1, column 1: "a:-b" is not a name: use letters, digits, "_", "-" and dots between parts; write "$${" for the text "${"`},
		"after dollars": {"$$${}", `line 1, column 3: "${}" names nothing; write "$${" for the text "${"`},
		"long name":     {"${" + strings.Repeat("x", 300) + "}", `line 1, column 1: the name has 300 bytes; the most is 256; write "$${" for the text "${"`},
		"not UTF-8":     {"王\xff", "line 1, column 2: the text is not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := render.Parse(c.text)
			var syntax *render.SyntaxError
			if !errors.As(err, &syntax) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func TestParseBoundsTheTemplate(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("{", render.MaxTemplate)
	if _, err := render.Parse(longest); err != nil {
		t.Errorf("the longest template: %v", err)
	}
	if _, err := render.Parse(longest + "{"); err == nil || !strings.Contains(err.Error(), "65537 bytes") {
		t.Errorf("got %v, want an error with the size", err)
	}
}

func TestParseAcceptsTheReplacementCharacter(t *testing.T) {
	t.Parallel()
	if _, err := render.Parse("a\uFFFDb"); err != nil {
		t.Error(err)
	}
}

// The plainer kind takes any text; what it does not take for a placeholder stays as it is.
func TestBracesTakeAnyText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		filled string
		names  []string
	}{
		"":                 {"", []string{}},
		"{a}-{b}-{a}":      {"<a>-<b>-<a>", []string{"a", "b"}},
		"{} } { {a":        {"{} } { {a", []string{}},
		"{{a}}":            {"{<a>}", []string{"a"}},
		"{a}b}":            {"<a>b}", []string{"a"}},
		"} {姓 名}{":         {"} <姓 名>{", []string{"姓 名"}},
		"${a} $${b} {x{y}": {"$<a> $$<b> {x<y>", []string{"a", "b", "y"}},
	} {
		parsed := render.ParseBraces(text)
		got, err := parsed.Fill(func(name string) (string, bool) { return "<" + name + ">", true })
		if err != nil || got != want.filled || !slices.Equal(parsed.Variables(), want.names) {
			t.Errorf("%q: got %q with %q, %v; want %q with %q", text, got, parsed.Variables(), err, want.filled, want.names)
		}
	}
}
