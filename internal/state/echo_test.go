package state

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

func TestAnIDThatRepeatsASensitiveContentIsNotKept(t *testing.T) {
	t.Parallel()
	out := &channel.Outgoing{Content: posthouse.Content{Title: "登录", Text: "Your code is 4711."}, Payload: []byte(`{"code": "0815", "n": 7}`)}
	for ref, want := range map[string]string{
		"":                              "",
		"m-20260311":                    "m-20260311",
		"7":                             "7",
		"471":                           "471", // by chance
		"4711":                          "",
		"0815":                          "",
		"Your code is 4711.":            "",
		"sent: Your code is 4711. (ok)": "",
		"登录":                            "",
	} {
		if got := unechoed(ref, out); got != want {
			t.Errorf("%q is kept as %q, want %q", ref, got, want)
		}
	}
}

func TestACodeThatRepeatsASensitiveContentIsNotKept(t *testing.T) {
	t.Parallel()
	outs := []channel.Outgoing{{Content: posthouse.Content{Text: "Your code is 4711."}}}
	for code, want := range map[string]string{"4711": "", "Your code is 4711.": "", "40001": "40001", "NETWORK_ERROR": "NETWORK_ERROR"} {
		results := []channel.Result{{Class: posthouse.ClassTransient, Code: code}}
		Hush(results, outs)
		if got := results[0].Code; got != want {
			t.Errorf("the code %q is kept as %q, want %q", code, got, want)
		}
	}
}
