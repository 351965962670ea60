package shell

import (
	"bytes"
	"testing"
)

// All lists have one envelope, whatever kind of list a command shows.
func TestEveryListStandsInOneEnvelope(t *testing.T) {
	t.Parallel()
	type page struct {
		Items []int  `json:"items"`
		Next  string `json:"next,omitempty"`
	}
	for name, c := range map[string]struct {
		shown any
		want  string
	}{
		"a list":       {[]string{"a"}, "{\n  \"items\": [\n    \"a\"\n  ]\n}\n"},
		"an empty one": {[]string(nil), "{\n  \"items\": []\n}\n"},
		"a page":       {page{Items: []int{1}, Next: "x"}, "{\n  \"items\": [\n    1\n  ],\n  \"next\": \"x\"\n}\n"},
		"a thing":      {map[string]int{"n": 1}, "{\n  \"n\": 1\n}\n"},
	} {
		var out bytes.Buffer
		sh := &Shell{Out: &out, JSON: true}
		if err := sh.Show(c.shown, func() { t.Error("it is shown to a person") }); err != nil || out.String() != c.want {
			t.Errorf("%s: got %s, %v", name, out.String(), err)
		}
	}
}
