// Package messagepusher is the front for clients that push by message-pusher. It demands its token always. Users and channels that a
// request names are labels, by which a front's table can lead elsewhere: recipients are the front's.
package messagepusher

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://github.com/songquanpeng/message-pusher, docs/API.md).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "message-pusher", Paths: []string{"/push/"}, Title: "message-pusher", MaxBody: 256 << 10, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string {
			return []string{r.Field("token"), strings.TrimSpace(r.Header.Get("Authorization"))}
		},
	}
}

// The original's states of a message.
const (
	pending = 1
	sent    = 2
	failed  = 3
)

// asked is the id of the message whose state a request asks for, empty where it asks for none.
func asked(r *inbound.Request) string {
	id, is := strings.CutPrefix(strings.Join(r.Rest, "/"), "api/message/status/")
	if !is || r.Method != http.MethodGet {
		return ""
	}
	return id
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	if id := asked(r); id != "" {
		return nil, r.Find(id)
	}
	title, description, content := r.Field("title"), r.Field("description", "short", "desp"), r.Field("content", "desp")
	text := cmp.Or(content, description, title)
	if text == "" {
		return nil, errors.New("one of title, description and content is required")
	}
	user := ""
	if len(r.Rest) > 0 {
		user = r.Rest[len(r.Rest)-1]
	}
	m := inbound.Message{
		Title: title, Text: text, Labels: map[string]string{"user": user, "channel": r.Field("channel"), "to": r.Field("to", "openid")},
		Payload: map[string]any{"description": description, "url": r.Field("url"), "user": user, "channel": r.Field("channel")},
	}
	if content != "" {
		m.Markdown = content
	}
	if url := r.Field("url"); url != "" {
		m.Text += "\n" + url
	}
	return []inbound.Message{m}, nil
}

// stateOf is how far a message is, in the original's words: failed where nobody was reached, pending as long as anybody may be.
func stateOf(f *inbound.Found) int {
	failures, open := 0, 0
	for i := range f.Deliveries {
		switch s := f.Deliveries[i].State; {
		case s == posthouse.Sent || s == posthouse.Delivered:
		case s.Open() || s == posthouse.Unknown:
			open++
		default:
			failures++
		}
	}
	for i := range f.Notifications {
		switch f.Notifications[i].State {
		case posthouse.NotificationWaiting:
			open++
		case posthouse.NotificationNotTold:
			failures++
		}
	}
	switch {
	case open > 0:
		return pending
	case failures == len(f.Deliveries)+len(f.Notifications):
		return failed
	}
	return sent
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	if r.Found != nil {
		inbound.AnswerJSON(w, http.StatusOK, map[string]any{"success": true, "message": "", "status": stateOf(r.Found)})
		return
	}
	status := http.StatusOK // it answers 200 whatever happens but a wrong token
	text := out.Reason
	switch out.Status {
	case inbound.Accepted:
		text = "ok"
	case inbound.Unauthorized:
		status, text = http.StatusUnauthorized, "无效的 token"
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status = http.StatusServiceUnavailable
	}
	inbound.AnswerJSON(w, status, map[string]any{"success": out.Status == inbound.Accepted, "message": text, "uuid": out.ID()})
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the server's URL, and the token", Text: s.URL + "\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl -H 'Content-Type: application/json' -d '{\"title\":\"try\",\"content\":\"hello\",\"token\":\"" + s.Token + "\"}' " + s.URL + "/push/me\n"},
	}
}
