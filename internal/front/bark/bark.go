// Package bark is the front for clients that push by Bark.
package bark

import (
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://bark.day.app/#/tutorial).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "bark", Paths: []string{"/push"}, Title: "Bark", MaxBody: 64 << 10, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string { return []string{r.Field("device_key", "key")} },
	}
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	m := inbound.Message{Title: r.Field("title"), Text: r.Field("body", "content"), Payload: map[string]any{"group": r.Field("group"), "url": r.Field("url")}, Labels: map[string]string{"group": r.Field("group")}}
	parts := r.Rest
	if len(parts) > 0 && parts[0] == "push" {
		parts = parts[1:]
	}
	switch len(parts) { // /:body, /:title/:body, /:title/:subtitle/:body
	case 0:
	case 1:
		m.Text = parts[0]
	default:
		m.Title, m.Text = parts[0], strings.Join(parts[1:], "\n")
	}
	if sub := r.Field("subtitle"); sub != "" {
		m.Text = sub + "\n" + m.Text
	}
	if md := r.Field("markdown"); md != "" {
		m.Text, m.Markdown = md, md
	}
	if channel.Blank(m.Title + m.Text) {
		return nil, errors.New("there is neither a title nor a body")
	}
	if url := r.Field("url"); url != "" {
		m.Text = strings.TrimSpace(m.Text + "\n" + url)
	}
	m.Priority = priority(r.Field("level"))
	return []inbound.Message{m}, nil
}

func priority(level string) posthouse.Priority {
	switch level {
	case "critical", "timeSensitive":
		return posthouse.High
	case "passive":
		return posthouse.Low
	}
	return ""
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	status, text := out.Status.HTTP(), out.Reason
	switch out.Status {
	case inbound.Accepted:
		text = "success"
	case inbound.Unauthorized: // Bark knows no 401
		status, text = http.StatusBadRequest, "failed to get device token: the key is not known"
	}
	inbound.AnswerJSON(w, status, map[string]any{"code": status, "message": text, "timestamp": r.Now.Unix()})
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the server's URL, and the device key", Text: s.URL + "\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl '" + s.Address() + "/a%20try/hello?level=timeSensitive'\n"},
	}
}
