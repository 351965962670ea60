package preset

import (
	"testing"
	"time"

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
