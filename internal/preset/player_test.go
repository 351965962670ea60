package preset

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/httpapi"
)

// A token that is played lasts from when it is asked for: a shape that names its end by a date would be over a day after that date.
func TestTokensLastFromNow(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for _, p := range list {
		pl, err := NewPlayer(p, "/presets/"+p.Name)
		if err != nil {
			t.Fatal(err)
		}
		shape := pl.TokenReply()
		if shape == nil {
			continue
		}
		tokens++
		now := shape.At.Now.Add(400 * 24 * time.Hour)
		answer := httpapi.Answer{Status: shape.Answer.Status, Header: shape.Answer.Header, Body: shape.Token("given", now)}
		token, lasts, refused := pl.r.Token(answer, now)
		if token != "given" || shape.Lasts != 0 && lasts != shape.Lasts.Std() {
			t.Errorf("%s: token %q lasts %s, want %s: %s", p.Name, token, lasts, shape.Lasts, refused.Error)
		}
	}
	if tokens < 3 {
		t.Errorf("%d presets give tokens", tokens)
	}
}

// A message without a title is read where its title has a line of its own before the text.
func TestAMessageWithoutATitleIsPlayed(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name != "slack_hook" {
			continue
		}
		pl, err := NewPlayer(p, "/presets/slack_hook")
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(PlayedAt + "/presets/slack_hook/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX")
		if err != nil {
			t.Fatal(err)
		}
		for body, want := range map[string][2]string{`{"text":"disk full"}`: {"", "disk full"}, `{"text":"db-1\ndisk\nfull"}`: {"db-1", "disk\nfull"}} {
			outs, _, err := pl.Message(channel.Request{Method: "POST", URL: at, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)})
			if err != nil || len(outs) != 1 || outs[0].Content.Title != want[0] || outs[0].Content.Text != want[1] {
				t.Errorf("%s: got %+v, %v", body, outs, err)
			}
		}
		return
	}
	t.Fatal("there is no preset slack_hook")
}
