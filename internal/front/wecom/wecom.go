// Package wecom is the front for scripts that post to a group robot of WeCom.
package wecom

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://developer.work.weixin.qq.com/document/path/91770).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "wecom", Title: "WeCom robot", TitleZH: "企业微信群机器人", MaxBody: 64 << 10, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string { return r.URL.Query()["key"] },
	}
}

type content struct {
	Content string `json:"content"`
}

type body struct {
	Type       string  `json:"msgtype"`
	Text       content `json:"text"`
	Markdown   content `json:"markdown"`
	MarkdownV2 content `json:"markdown_v2"`
	News       struct {
		Articles []struct {
			Title       string `json:"title"`
			Description string `json:"description"`
			URL         string `json:"url"`
		} `json:"articles"`
	} `json:"news"`
	Card struct {
		Main struct {
			Title string `json:"title"`
			Text  string `json:"desc"`
		} `json:"main_title"`
		Sub    string `json:"sub_title_text"`
		Action struct {
			URL string `json:"url"`
		} `json:"card_action"`
	} `json:"template_card"`
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of a robot")
	}
	return inbound.One(b.message())
}

func (b *body) message() (m inbound.Message, err error) {
	switch b.Type {
	case "text":
		m.Text = b.Text.Content
	case "markdown":
		m.Text, m.Markdown = b.Markdown.Content, b.Markdown.Content
	case "markdown_v2":
		m.Text, m.Markdown = b.MarkdownV2.Content, b.MarkdownV2.Content
	case "news":
		for i, a := range b.News.Articles {
			if i == 0 {
				m.Title = a.Title
			}
			m.Text += strings.TrimSpace(a.Title+"\n"+a.Description+"\n"+a.URL) + "\n\n"
			m.Markdown += "[" + a.Title + "](" + a.URL + ")\n\n" + a.Description + "\n\n"
		}
	case "template_card":
		m.Title, m.Text = b.Card.Main.Title, strings.TrimSpace(strings.Join([]string{b.Card.Main.Text, b.Card.Sub, b.Card.Action.URL}, "\n"))
	default:
		err = fmt.Errorf("msgtype is %.40q: want text, markdown, news or template_card", b.Type)
	}
	m.Text, m.Markdown = strings.TrimSpace(m.Text), strings.TrimSpace(m.Markdown)
	return m, err
}

func answer(w http.ResponseWriter, _ *inbound.Request, out inbound.Result) {
	said := struct {
		Code int    `json:"errcode"`
		Text string `json:"errmsg"`
	}{0, "ok"}
	status := http.StatusOK
	switch out.Status {
	case inbound.Accepted:
	case inbound.Unauthorized:
		said.Code, said.Text = 93000, "invalid webhook url"
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status, said.Code, said.Text = http.StatusServiceUnavailable, -1, out.Reason
	default:
		said.Code, said.Text = 40058, out.Reason
	}
	inbound.AnswerJSON(w, status, said)
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the webhook of the robot", Text: s.URL + "/cgi-bin/webhook/send?key=" + s.Token + "\n"},
		{Title: "a try by hand", Text: fmt.Sprintf("curl --json '{\"msgtype\":\"text\",\"text\":{\"content\":\"a try\"}}' '%s/cgi-bin/webhook/send?key=%s'\n", s.URL, s.Token)},
	}
}
