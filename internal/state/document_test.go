package state

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a log keeps is JSON that PostgreSQL takes as jsonb, whatever came in.
func TestDocumentIsJSONThatEveryDatabaseReads(t *testing.T) {
	t.Parallel()
	quoted := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for in, want := range map[string]string{
		"":                   "",
		`{"a": 1e3}`:         `{"a": 1e3}`,
		"limit=10":           `"limit=10"`,
		`{"a":"` + "\x00":    quoted(`{"a":"?`),
		`{"a":"\u0000"}`:     quoted(`{"a":"\u0000"}`),
		`{"a":"\ud800"}`:     quoted(`{"a":"\ud800"}`),
		`{"a":1e99999}`:      quoted(`{"a":1e99999}`),
		`{"a":"1e99999"}`:    `{"a":"1e99999"}`,
		`[-1E-2000]`:         quoted(`[-1E-2000]`),
		deep:                 quoted(deep),
		`{"a":"` + "\xff\"}": `"{\"a\":\"\"}"`,
	} {
		if got := Document(in, 4000); got != want {
			t.Errorf("Document(%.40q) = %.80s, want %.80s", in, got, want)
		}
	}
	if got := Document(`{"a":"您您您"}`, 9); got != `"{\"a\":\"您您您"` {
		t.Errorf("what is too long is cut to %s", got)
	}
}
