package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/wire"
)

var seeds = []string{
	``, `{}`, `[]`, `null`, ` {"channel" : "oa"} `, `{"channel":"oa","to":[{"user":"u","adress":1}],"content":{"text":"\ud83d\ude00"}}`,
	`{"messages":[{"channel":1},{"payload":{"a":[1,2.5e300,-0]}}]}`, `{"priority":"a","priority":"b"}`, `{"not_before":"2026-10-01T08:30:00+08:00","deadline":""}`,
	`{"a":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`, `{"to":"\ud800"}`, `{"":{"\"":1}}`, `{"content":{"text":"x"}} {}`, "{\"x\":\"\xff\"}",
	`{"Channel":"x","CHANNEL":"y"}`, `{"to":[null,1,{"user":null}]}`, `{"payload":1e999}`, `{"template":"` + strings.Repeat("x", 100) + `"}`,
}

// depthOf is how deep a valid JSON text nests.
func depthOf(text []byte) int {
	depth, most, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			most = max(most, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return most
}

// FuzzReader holds the strict reader to encoding/json: it takes a text exactly when that does (and
// it is UTF-8 and not too deep), and finds a problem in all that encoding/json would refuse.
func FuzzReader(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, problems, err := sendReader.Read(text)
		valid := json.Valid(text) && utf8.Valid(text) && depthOf(text) <= maxDepth
		if valid != (err == nil) {
			t.Fatalf("valid: %t, but the error is %v", valid, err)
		}
		if !valid {
			return
		}
		var v wire.Send
		strict := json.NewDecoder(bytes.NewReader(text))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&v); err != nil && len(problems) == 0 {
			t.Fatalf("encoding/json says %v, the reader found nothing", err)
		}
		if diff := cmp.Diff(v, got); diff != "" && len(problems) == 0 {
			t.Fatalf("encoding/json reads another value (-encoding/json +reader):\n%s", diff)
		}
		for _, p := range problems {
			if p.Message == "" || !utf8.ValidString(p.Path+p.Message) {
				t.Fatalf("the problem %+q cannot be shown", p)
			}
		}
	})
}

// FuzzCanonical: what says the same has one canonical form, which is what encoding/json writes.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if checkSyntax(text) != nil || depthOf(text) > maxDepth {
			return
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, text, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		form := jsonForm(t, text)
		for _, same := range [][]byte{text, form, spaced.Bytes()} {
			if again := formOf(same); !bytes.Equal(again, form) {
				t.Fatalf("the form of %q is %q, want %q", same, again, form)
			}
		}
	})
}

// BenchmarkReader is what reading one message costs of an accept: strictly, and the hash of its canonical form.
func BenchmarkReader(b *testing.B) {
	text := []byte(`{"channel":"later","to":[{"user":"u1001","type":"branch"}],"content":{"title":"Duty","text":"You are on duty tomorrow."},"kind":"duty","ref":"2026-10-01"}`)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, problems, err := sendReader.Read(text); err != nil || problems != nil {
				b.Fatal(problems, err)
			}
		}
	})
	b.Run("hash", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hashOf(text)
		}
	})
}
