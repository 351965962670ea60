package render_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/render"
)

func TestDollarsKnowWhereTheyStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		begin      render.Place
		text, want string
	}{
		{render.JSONValue, `{"a": ${v}, "b": "x \" ${v}", "c": {d}}`, `{"a": "q\"&/", "b": "x \" q\"&/", "c": {d}}`},
		{render.URLPath, "https://h/${v}?k=${v}", "https://h/q%22&%2F?k=q%22%26%2F"},
		{render.XMLText, "<a>${v}</a>", "<a>q&#34;&amp;/</a>"},
		{render.Plain, "$${v} $$${v} ${v}$", `${v} $${v} q"&/$`},
		{render.Plain, "", ""},
	} {
		tmpl, err := render.ParseDollars(c.text, c.begin)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Append(nil, func(dst []byte, s render.Segment) ([]byte, error) { return s.Place.Append(dst, `q"&/`), nil })
		if err != nil || string(got) != c.want {
			t.Errorf("%s becomes %s, %v, want %s", c.text, got, err, c.want)
		}
	}
}
