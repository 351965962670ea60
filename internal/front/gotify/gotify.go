// Package gotify is the front for clients that send to a Gotify server.
package gotify

import (
	"errors"
	"hash/fnv"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://gotify.net/api-docs).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "gotify", Paths: []string{"/message"}, Title: "Gotify", MaxBody: 256 << 10, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string { return r.Header.Values("X-Gotify-Key") },
	}
}

// The bounds of Gotify's priorities: 1 to 3 are silent, and 8 and above ring.
const (
	silent = 3
	rings  = 8
)

func read(r *inbound.Request) ([]inbound.Message, error) {
	text := r.Field("message")
	if r.Method != http.MethodPost || text == "" {
		return nil, errors.New("the field message is required, by POST /message")
	}
	m := inbound.Message{Title: r.Field("title"), Text: text}
	if p := r.Field("priority"); p != "" && p != "0" { // 0 is what clients send who say nothing
		m.Priority = inbound.Scale(p, silent, rings)
	}
	return []inbound.Message{m}, nil
}

// fault is what Gotify answers to what it does not take.
type fault struct {
	Error string `json:"error"`
	Code  int    `json:"errorCode"`
	Text  string `json:"errorDescription"`
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	status := out.Status.HTTP()
	switch out.Status {
	case inbound.Accepted:
		priority := 0
		if n := r.Field("priority"); len(n) == 1 && n[0] >= '0' && n[0] <= '9' {
			priority = int(n[0] - '0')
		} else if n == "10" {
			priority = 10
		}
		inbound.AnswerJSON(w, status, map[string]any{
			"id": number(out.ID()), "appid": 1, "message": r.Field("message"), "title": r.Field("title"), "priority": priority, "date": r.Now.UTC().Format(time.RFC3339Nano),
		})
	case inbound.Unauthorized:
		inbound.AnswerJSON(w, status, fault{http.StatusText(status), status, "you need to provide a valid access token or user credentials to access this api"})
	default:
		inbound.AnswerJSON(w, status, fault{http.StatusText(status), status, out.Reason})
	}
}

// number is an id as a number above 0, which clients want it to be and JavaScript can hold.
func number(id string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // it never fails
	return int64(h.Sum64()>>12) | 1
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the server's URL, and the token of the application", Text: s.URL + "\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl -F title=try -F message=hello '" + s.URL + "/message?token=" + s.Token + "'\n"},
	}
}
