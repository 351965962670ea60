package render

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// agrees checks that a payload is read quickly as the decoder reads it, and left to it where that refuses it.
func agrees(t *testing.T, payload string) {
	t.Helper()
	if !utf8.ValidString(payload) || len(strings.TrimSpace(payload)) == 0 {
		return // refused, or nothing, before
	}
	want, err := decoded(json.RawMessage(payload))
	got, ok := quickly(json.RawMessage(payload))
	switch {
	case ok && err != nil:
		t.Errorf("%q is read quickly: the decoder says %v", payload, err)
	case ok && !reflect.DeepEqual(got, want.root):
		t.Errorf("%q is %#v, want %#v", payload, got, want.root)
	case !ok && err == nil && want.root != nil:
		t.Errorf("%q is left to the decoder, which takes it", payload)
	}
}

// What the quick reader takes is what the decoder makes of it.
func TestThePayloadsThatAreReadQuicklyAreReadRight(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, payload := range []string{
		`{}`, ` { } `, `{"a":"b"}`, "\t{\"a\" : \"b\" ,\n\"c\":1}\r\n", `{"a":-1.50e+10,"b":0,"c":true,"d":false,"e":null}`,
		`{"":"","\u00e9":"\u5f20\n\"\\","é":1}`, `{"\ud83d\ude00":"\ud83d","a":"\/\\"}`, `{"a":{"b":{"c":"d"},"e":[]},"f":[1,"x",{"g":[[]]}]}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":1}}`, `{"a":[{"b":1,"b":1}]}`,
		`null`, `1`, `"a"`, `[]`, `{"a":1}{}`, `{"a":1,}`, `{"a":01}`, `{`, `{"a`, `{"a":"b\"}`, `{"a":tru}`, "{\"a\":\"\n\"}",
		deep(maxDepth), deep(maxDepth + 1), `{"a":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + "}", `{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + "}",
	} {
		agrees(t, payload)
	}
}

func FuzzQuickly(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":{"a":[1,"2",null]}}`, `{"a":1,"a":1}`, `{"\u0061":"\n"}`, `[{}]`, `{"a":1,}`} {
		f.Add(seed)
	}
	f.Fuzz(agrees)
}

func BenchmarkParseValues(b *testing.B) {
	payload := json.RawMessage(`{"name":"张三17","sum":"42","until":"2030-10-01"}`)
	for b.Loop() {
		if _, err := ParseValues(payload); err != nil {
			b.Fatal(err)
		}
	}
}
