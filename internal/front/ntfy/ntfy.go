// Package ntfy is the front for clients that publish to ntfy. It publishes only: nobody subscribes here. The topic may be any; it is a
// label by which a front's table can lead elsewhere.
package ntfy

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://docs.ntfy.sh/publish/).
func Form() inbound.Form {
	return inbound.Form{Kind: "ntfy", Paths: []string{"/*/publish", "/*/trigger"}, Title: "ntfy", MaxBody: maxBody, Read: read, Answer: answer, Setup: setup, Tokens: tokens}
}

// maxBody is the longest message that ntfy takes; what is longer becomes an attachment there.
const maxBody = 4096

// tokens are in the query as the header Authorization would be, in base64.
func tokens(r *inbound.Request) []string {
	given := r.URL.Query().Get("auth")
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(given, "="))
	if err != nil {
		return nil
	}
	probe := http.Request{Header: http.Header{"Authorization": {string(text)}}}
	if user, password, ok := probe.BasicAuth(); ok {
		return []string{password, user}
	}
	_, token, _ := strings.Cut(string(text), " ")
	return []string{token}
}

// document is a message as JSON.
type document struct {
	Topic    string   `json:"topic"`
	Message  string   `json:"message"`
	Title    string   `json:"title"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click"`
	Delay    string   `json:"delay"`
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	var d document
	switch path := strings.Join(r.Rest, "/"); {
	case r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodGet:
		return nil, errors.New("the method is none of POST, PUT and GET")
	case path == "" && strings.HasPrefix(strings.TrimSpace(string(r.Body)), "{") && json.Unmarshal(r.Body, &d) == nil:
	default:
		d.Topic = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path, "/publish"), "/send"), "/trigger")
		d.fill(r)
	}
	m := inbound.Message{
		Title: d.Title, Text: cmp.Or(strings.TrimSpace(d.Message), "triggered"), Priority: priority(d.Priority), Labels: map[string]string{"topic": d.Topic},
		Payload: map[string]any{"topic": d.Topic, "tags": strings.Join(d.Tags, ","), "click": d.Click}, Ref: d.Topic,
	}
	if d.Click != "" {
		m.Text += "\n" + d.Click
	}
	when, err := moment(d.Delay, r.Now)
	m.NotBefore = when
	return []inbound.Message{m}, err
}

// fill reads headers and the query, where each field has several names.
func (d *document) fill(r *inbound.Request) {
	d.Message = cmp.Or(param(r, "message", "m"), string(r.Body))
	d.Title, d.Click, d.Delay = param(r, "title", "t"), param(r, "click"), param(r, "delay", "at", "in")
	d.Priority = level(param(r, "priority", "prio", "p"))
	if tags := param(r, "tags", "tag", "ta"); tags != "" {
		d.Tags = strings.Split(tags, ",")
	}
}

func param(r *inbound.Request, names ...string) string {
	for _, name := range names {
		for _, v := range []string{r.Header.Get("X-" + name), r.Header.Get(name), r.URL.Query().Get(name)} {
			if v == "" {
				continue
			}
			if text, err := new(mime.WordDecoder).DecodeHeader(v); err == nil {
				return text
			}
			return v
		}
	}
	return ""
}

func level(text string) int {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "min":
		return 1
	case "low":
		return 2
	case "default":
		return 3
	case "high":
		return 4
	case "max", "urgent":
		return 5
	}
	n, _ := strconv.Atoi(text) // 0 is the default
	return n
}

// priority is that of a number from 1 to 5, 0 for none.
func priority(n int) posthouse.Priority {
	if n == 0 {
		return ""
	}
	return inbound.Scale(strconv.Itoa(n), 2, 4)
}

// moment reads a delay: a duration, a number of seconds since 1970, or a time.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var d posthouse.Duration
	if err := d.UnmarshalText([]byte(text)); err == nil && d > 0 {
		return now.Add(d.Std()), nil
	}
	if unix, err := strconv.ParseInt(text, 10, 64); err == nil && unix > 0 {
		return time.Unix(unix, 0), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("the delay %.40q is not understood here: want a duration such as 30m, or a time", text)
}

// fault is what ntfy answers to what it does not take.
type fault struct {
	Code  int    `json:"code"`
	HTTP  int    `json:"http"`
	Error string `json:"error"`
	Link  string `json:"link,omitempty"`
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	status := out.Status.HTTP()
	switch out.Status {
	case inbound.Accepted:
		topic := strings.Join(r.Rest, "/")
		inbound.AnswerJSON(w, status, map[string]any{"id": id(out.ID()), "time": r.Now.Unix(), "event": "message", "topic": topic})
	case inbound.Unauthorized:
		inbound.AnswerJSON(w, status, fault{40101, status, "unauthorized", "https://ntfy.sh/docs/publish/#authentication"})
	default:
		inbound.AnswerJSON(w, status, fault{status*100 + 1, status, out.Reason, ""})
	}
}

// id is as long as ntfy's.
func id(of string) string { return of[max(0, len(of)-12):] }

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the server's URL, and an access token", Text: s.URL + "\n" + s.Token + "\n"},
		{Title: "a try by hand", Text: "curl -H 'Authorization: Bearer " + s.Token + "' -H 'Title: a try' -d 'hello' " + s.URL + "/alerts\n"},
	}
}
