package limittext_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// FLEET-9: no limit is said by a word, and is another thing than to say nothing, as a text and as JSON.
func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	window := func(most int, per string) (l posthouse.Limit) {
		l.Max = most
		if err := l.Per.UnmarshalText([]byte(per)); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for text, want := range map[string][]posthouse.Limit{
		"":                 nil,
		" , ":              nil,
		"unlimited":        {},
		"20/1s":            {window(20, "1s")},
		"20/1s;1000/1m":    {window(20, "1s"), window(1000, "1m")},
		"20/1s, 1000/1m\n": {window(20, "1s"), window(1000, "1m")},
	} {
		got, err := limittext.Read(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q is read otherwise, %v (-want +got):\n%s", text, err, diff)
		}
		again, err := limittext.Read(limittext.Text(got, ";"))
		if diff := cmp.Diff(want, again); diff != "" || err != nil {
			t.Errorf("%q comes back otherwise, %v (-want +got):\n%s", text, err, diff)
		}
		doc, err := json.Marshal(posthouse.AccountSettings{Limits: got})
		var stored posthouse.AccountSettings
		if err == nil {
			err = json.Unmarshal(doc, &stored)
		}
		if diff := cmp.Diff(want, stored.Limits); diff != "" || err != nil {
			t.Errorf("%q is stored as %s, %v (-want +got):\n%s", text, doc, err, diff)
		}
	}
	for _, text := range []string{"20", "20/", "x/1s", "unlimited;20/1s", "none", "0"} {
		if got, err := limittext.Read(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
