package fronttext

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	to := []posthouse.Recipient{{User: "li.na"}, {Roster: "sre"}, {Role: "dba"}, {Address: "ops@example.com"}}
	if got := Recipients(OfRecipients(to)); !cmp.Equal(got, to) {
		t.Errorf("recipients: %s", cmp.Diff(to, got))
	}
	for text, want := range map[string]posthouse.FrontMatch{
		"a=b severity=x to-channel=db recipients=role:dba,u1": {If: map[string]string{"severity": "x", "a": "b"}, Channel: "db", To: []posthouse.Recipient{{Role: "dba"}, {User: "u1"}}},
		"a=b to-route=night": {If: map[string]string{"a": "b"}, Route: "night"},
		"a=":                 {If: map[string]string{"a": ""}},
		"":                   {If: map[string]string{}},
	} {
		got, err := Match(text)
		if err != nil || !cmp.Equal(got, want) || OfMatch(got) != text {
			t.Errorf("%q is read as %+v (%v), and written as %q", text, got, err, OfMatch(got))
		}
	}
	if _, err := Match("a=b c"); err == nil {
		t.Error("a word without a value is taken")
	}
	for text, ok := range map[string]bool{"title=a == b": true, " a = b ": true, "a": false, "=b": false, "": false} {
		if name, value, err := Pair(text, "a=b"); (err == nil) != ok || ok && (name == "" || value == "") {
			t.Errorf("%q: %q, %q, %v", text, name, value, err)
		}
	}
	if got := OfPairs(map[string]posthouse.Priority{"warning": posthouse.High, "info": posthouse.Low}); got != "info=low\nwarning=high\n" {
		t.Errorf("pairs are written as %q", got)
	}
}
