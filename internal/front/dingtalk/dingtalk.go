// Package dingtalk is the front for scripts that post to a group robot of DingTalk: texts, Markdown and cards are taken apart, and put
// together again for whatever channel is behind.
package dingtalk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://open.dingtalk.com/document/orgapp/custom-robots-send-group-messages).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "dingtalk", Paths: []string{"/robot/send"}, Driver: "dingtalk_robot", Title: "DingTalk robot", TitleZH: "钉钉群机器人", Signs: true, MaxBody: 64 << 10, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string { return r.URL.Query()["access_token"] },
	}
}

type link struct {
	Title      string `json:"title"`
	Text       string `json:"text"`
	MessageURL string `json:"messageUrl"`
	FeedURL    string `json:"messageURL"`
}

type body struct {
	Type string `json:"msgtype"`
	Text struct {
		Content string `json:"content"`
	} `json:"text"`
	Markdown link `json:"markdown"`
	Link     link `json:"link"`
	Card     struct {
		link
		SingleTitle string `json:"singleTitle"`
		SingleURL   string `json:"singleURL"`
		Buttons     []struct {
			Title string `json:"title"`
			URL   string `json:"actionURL"`
		} `json:"btns"`
	} `json:"actionCard"`
	Feed struct {
		Links []link `json:"links"`
	} `json:"feedCard"`
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	if err := verify(r); err != nil {
		return nil, err
	}
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of a robot")
	}
	return inbound.One(b.message())
}

func (b *body) message() (inbound.Message, error) {
	switch b.Type {
	case "text":
		return inbound.Message{Text: b.Text.Content}, nil
	case "markdown":
		return inbound.Message{Title: b.Markdown.Title, Text: b.Markdown.Text, Markdown: b.Markdown.Text}, nil
	case "link":
		return linked(b.Link), nil
	case "actionCard":
		m := inbound.Message{Title: b.Card.Title, Text: b.Card.Text, Markdown: b.Card.Text}
		if b.Card.SingleURL != "" {
			m.Text, m.Markdown = m.Text+"\n"+b.Card.SingleTitle+": "+b.Card.SingleURL, m.Markdown+"\n\n["+b.Card.SingleTitle+"]("+b.Card.SingleURL+")"
		}
		for _, one := range b.Card.Buttons {
			m.Text, m.Markdown = m.Text+"\n"+one.Title+": "+one.URL, m.Markdown+"\n\n["+one.Title+"]("+one.URL+")"
		}
		return m, nil
	case "feedCard":
		var m inbound.Message
		for _, one := range b.Feed.Links {
			m.Text, m.Markdown = m.Text+one.Title+": "+one.FeedURL+"\n", m.Markdown+"["+one.Title+"]("+one.FeedURL+")\n\n"
		}
		return m, nil
	}
	return inbound.Message{}, fmt.Errorf("msgtype is %.40q: want text, markdown, link, actionCard or feedCard", b.Type)
}

func linked(l link) inbound.Message {
	return inbound.Message{Title: l.Title, Text: l.Text + "\n" + l.MessageURL, Markdown: l.Text + "\n\n[" + l.Title + "](" + l.MessageURL + ")"}
}

// signedWithin is how old a signature may be.
const signedWithin = time.Hour

// verify checks the signature of a front that wants one: the secret is the token.
func verify(r *inbound.Request) error {
	if !r.Front.Signed {
		return nil
	}
	at, given := r.URL.Query().Get("timestamp"), r.URL.Query().Get("sign")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || r.Now.Sub(time.UnixMilli(ms)).Abs() > signedWithin {
		return inbound.ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(r.Token))
	mac.Write([]byte(at + "\n" + r.Token))
	if want := base64.StdEncoding.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(given)) {
		return inbound.ErrSignature
	}
	return nil
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	said := struct {
		Code int    `json:"errcode"`
		Text string `json:"errmsg"`
	}{0, "ok"}
	status := http.StatusOK
	switch out.Status {
	case inbound.Accepted:
	case inbound.Unauthorized:
		said.Code, said.Text = 300005, "token is not exist"
		if r.Token != "" {
			said.Code, said.Text = 310000, "sign not match"
		}
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status, said.Code, said.Text = http.StatusServiceUnavailable, -1, out.Reason
	default:
		said.Code, said.Text = 40035, out.Reason
	}
	inbound.AnswerJSON(w, status, said)
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the webhook of the robot", Text: s.URL + "/robot/send?access_token=" + s.Token + "\n"},
		{Title: "a try by hand", Text: fmt.Sprintf("curl -H 'Content-Type: application/json' -d '{\"msgtype\":\"text\",\"text\":{\"content\":\"a try\"}}' '%s/robot/send?access_token=%s'\n", s.URL, s.Token)},
	}
}
