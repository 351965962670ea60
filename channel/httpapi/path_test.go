package httpapi

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const doc = ` {"code" : 0, "a":{"b":[{"c":"x"},{"c":"y \"q\" \u4e2d"}], "n":null}, "t":true, "f":-1.5e3, "e":"", "d":1, "d":2, "中":"z", "k\u0065y":7} `
	for path, want := range map[string]string{
		"$.code": "0", "$.a.b[0].c": "x", "$.a.b[1].c": `y "q" 中`, "$.a.n": "", "$.t": "true", "$.f": "-1.5e3", "$.e": "",
		"$.d": "2", "$.中": "z", "$.key": "7", "$.a.b[0]": `{"c":"x"}`,
	} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		raw, ok := p.find([]byte(doc))
		if got := text(raw); !ok || got != want {
			t.Errorf("%s = %q, %t; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"$.x", "$.code.x", "$.a.b[2]", "$.a.b.c", "$[0]", "$.a[0]", "$.e.x"} {
		p, err := parsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if raw, ok := p.find([]byte(doc)); ok {
			t.Errorf("%s is found: %s", path, raw)
		}
	}
}

func TestPathsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "code", "$code", "$.", "$..a", "$.a[", "$.a[x]", "$.a[-1]", "$.a[0]b", "$.a."} {
		if p, err := parsePath(path); err == nil {
			t.Errorf("%q is read as %+v", path, p)
		}
	}
}

// FuzzFind compares with encoding/json on valid documents, and wants an end on all others.
func FuzzFind(f *testing.F) {
	for _, doc := range []string{
		`{"a":{"b":[1,{"c":"x"}]}}`, `{"a":1,"a":{"b":[]}}`, `[[1,2],[3]]`, `"x"`, `{"a":`, `{"a"`, `[:`, `{,}`, `{"a":{"b":[{"c":"\"}"}]}}`, `{"\u0061":{"b":[0,{"c":null}]}}`, `[1 2`,
	} {
		f.Add([]byte(doc))
	}
	p, err := parsePath("$.a.b[1].c")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		raw, ok := p.find(doc)
		var v any
		if json.Unmarshal(doc, &v) != nil {
			return
		}
		want, wantOK := plainly(v)
		if ok != wantOK {
			t.Fatalf("%s: found %t, want %t", doc, ok, wantOK)
		}
		if !ok {
			return
		}
		var got any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: found %q: %v", doc, raw, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: found %s, want %s", doc, a, b)
		}
	})
}

// plainly is $.a.b[1].c on a decoded document.
func plainly(v any) (any, bool) {
	for _, key := range []string{"a", "b"} {
		m, _ := v.(map[string]any)
		var ok bool
		if v, ok = m[key]; !ok {
			return nil, false
		}
	}
	l, _ := v.([]any)
	if len(l) < 2 {
		return nil, false
	}
	m, _ := l[1].(map[string]any)
	c, ok := m["c"]
	return c, ok
}
