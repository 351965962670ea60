package httpapi

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

func validated(t *testing.T, config map[string]any) channel.Config {
	t.Helper()
	config["url"], config["body"] = "https://example.com/in", "{}"
	c, problems := Type().Validate(config)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// Words by which a provider calls everybody take the grant where they stand by themselves, in whatever width and case.
func TestWordsThatCallEverybody(t *testing.T) {
	words, none := validated(t, map[string]any{"everybody": []any{"@all", "@channel"}}), validated(t, map[string]any{})
	for text, want := range map[string]bool{
		"@all server down": true, "down: @Channel.": true, "（＠ａｌｌ）": true, "@al\u200bl": true, "x@all.example.com is full": false, "@allies": false, "@all_hands": true, "_@all_ please": true, "@all_": true, "@allhands": false, "all": false,
	} {
		if got := Type().Everybody(words, channel.Outgoing{Content: posthouse.Content{Text: text}}); (got == "content.text") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := Type().Everybody(none, channel.Outgoing{Content: posthouse.Content{Title: "@all"}}); got != "" {
		t.Errorf("without the setting a bare word is %q", got)
	}
	for _, payload := range []string{`{"who":"hi @all"}`, `{"who":"hi \u0040all"}`} {
		if got := Type().Everybody(words, channel.Outgoing{Payload: []byte(payload)}); got != "payload.who" {
			t.Errorf("in the payload %s: %q", payload, got)
		}
	}
}
