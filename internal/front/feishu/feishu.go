// Package feishu is the front for scripts that post to a custom robot of Feishu or Lark.
package feishu

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot).
func Form() inbound.Form {
	return inbound.Form{Kind: "feishu", Paths: []string{"/open-apis/bot/"}, Title: "Feishu robot", TitleZH: "飞书自定义机器人", Signs: true, MaxBody: 64 << 10, Read: read, Answer: answer, Setup: setup}
}

type span struct {
	Tag  string `json:"tag"`
	Text string `json:"text"`
	Href string `json:"href"`
}

type post struct {
	Title   string   `json:"title"`
	Content [][]span `json:"content"`
}

type element struct {
	Tag     string          `json:"tag"`
	Content string          `json:"content"`
	Text    json.RawMessage `json:"text"`
}

type card struct {
	Header struct {
		Title struct {
			Content string `json:"content"`
		} `json:"title"`
	} `json:"header"`
	Elements []element `json:"elements"`
	Body     struct {
		Elements []element `json:"elements"`
	} `json:"body"`
}

type body struct {
	Type      string `json:"msg_type"`
	Timestamp any    `json:"timestamp"`
	Sign      string `json:"sign"`
	Content   struct {
		Text string          `json:"text"`
		Post map[string]post `json:"post"`
	} `json:"content"`
	Card card `json:"card"`
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	var b body
	decoder := json.NewDecoder(strings.NewReader(string(r.Body)))
	decoder.UseNumber()
	if err := decoder.Decode(&b); err != nil {
		return nil, errors.New("the body is no JSON of a robot")
	}
	if err := verify(r, &b); err != nil {
		return nil, err
	}
	return inbound.One(b.message())
}

func (b *body) message() (inbound.Message, error) {
	switch b.Type {
	case "text":
		return inbound.Message{Text: b.Content.Text}, nil
	case "post":
		for _, language := range slices.Sorted(maps.Keys(b.Content.Post)) { // the first has all: each says the same
			return b.Content.Post[language].message(), nil
		}
		return inbound.Message{}, errors.New("content.post is empty")
	case "interactive":
		m := inbound.Message{Title: b.Card.Header.Title.Content}
		for _, e := range append(b.Card.Elements, b.Card.Body.Elements...) {
			if text := e.text(); text != "" {
				m.Text += text + "\n\n"
			}
		}
		m.Text = strings.TrimSpace(m.Text)
		m.Markdown = m.Text
		return m, nil
	}
	return inbound.Message{}, fmt.Errorf("msg_type is %.40q: want text, post or interactive", b.Type)
}

func (p post) message() inbound.Message {
	m := inbound.Message{Title: p.Title}
	for _, line := range p.Content {
		for _, s := range line {
			if s.Href != "" {
				m.Text, m.Markdown = m.Text+s.Text+" "+s.Href, m.Markdown+"["+s.Text+"]("+s.Href+")"
			} else {
				m.Text, m.Markdown = m.Text+s.Text, m.Markdown+s.Text
			}
		}
		m.Text, m.Markdown = m.Text+"\n", m.Markdown+"\n\n"
	}
	m.Text, m.Markdown = strings.TrimSpace(m.Text), strings.TrimSpace(m.Markdown)
	return m
}

// text is that of an element of a card: of its own, or of the object in it.
func (e element) text() string {
	if e.Content != "" {
		return e.Content
	}
	var inner struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(e.Text, &inner) == nil {
		return inner.Content
	}
	return ""
}

// signedWithin is how old a signature may be.
const signedWithin = time.Hour

// verify checks the signature of a front that wants one: HMAC of nothing, with the time and the secret, which is the token, as its key.
func verify(r *inbound.Request, b *body) error {
	if !r.Front.Signed {
		return nil
	}
	at := fmt.Sprint(b.Timestamp)
	unix, err := strconv.ParseInt(at, 10, 64)
	if err != nil || r.Now.Sub(time.Unix(unix, 0)).Abs() > signedWithin {
		return inbound.ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(at+"\n"+r.Token))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(b.Sign)) {
		return inbound.ErrSignature
	}
	return nil
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	status, code, text := http.StatusOK, 9499, "Bad Request: "+out.Reason
	switch out.Status {
	case inbound.Accepted:
		inbound.AnswerJSON(w, status, map[string]any{"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": map[string]any{}, "msg": "success"})
		return
	case inbound.Unauthorized:
		code, text = 19001, "param invalid: incoming webhook access token invalid"
		if r.Token != "" {
			code, text = 19021, "sign match fail or timestamp is not within one hour from current time"
		}
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status, code, text = http.StatusServiceUnavailable, 11232, out.Reason
	}
	inbound.AnswerJSON(w, status, map[string]any{"code": code, "data": map[string]any{}, "msg": text})
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the webhook of the robot", Text: s.URL + "/open-apis/bot/v2/hook/" + s.Token + "\n"},
		{Title: "a try by hand", Text: fmt.Sprintf("curl -H 'Content-Type: application/json' -d '{\"msg_type\":\"text\",\"content\":{\"text\":\"a try\"}}' %s/open-apis/bot/v2/hook/%s\n", s.URL, s.Token)},
	}
}
