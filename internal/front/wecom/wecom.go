// Package wecom is the front for scripts that post to a group robot of WeCom, or send as an application of it.
package wecom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/inbound"
)

// Form is the language (https://developer.work.weixin.qq.com/document/path/91770).
func Form() inbound.Form {
	return inbound.Form{
		Kind: "wecom", Paths: []string{"/cgi-bin/webhook/"}, Driver: "wecom_robot", Title: "WeCom robot", TitleZH: "企业微信群机器人", MaxBody: maxBody, Read: read, Answer: answer, Setup: setup,
		Tokens: func(r *inbound.Request) []string { return r.URL.Query()["key"] },
	}
}

// maxBody is as much as a file has that WeCom takes; what the server takes of a body bounds it further.
const maxBody = 20<<20 + 64<<10

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
	TextCard struct {
		Title string `json:"title"`
		Text  string `json:"description"`
		URL   string `json:"url"`
	} `json:"textcard"`
	Image struct {
		Body  []byte `json:"base64"` // a robot's
		Media string `json:"media_id"`
	} `json:"image"`
	File  media `json:"file"`
	Voice media `json:"voice"`
	Video media `json:"video"`
	Card  struct {
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

type media struct {
	ID    string `json:"media_id"`
	Title string `json:"title"`
}

func read(r *inbound.Request) ([]inbound.Message, error) {
	if strings.HasSuffix(r.URL.Path, "/upload_media") {
		return nil, upload(r)
	}
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return nil, errors.New("the body is no JSON of WeCom's")
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
	case "textcard":
		m.Title, m.Text = b.TextCard.Title, strings.TrimSpace(b.TextCard.Text+"\n"+b.TextCard.URL)
		m.Markdown = b.TextCard.Text + "\n\n[" + b.TextCard.URL + "](" + b.TextCard.URL + ")"
	case "image", "file", "voice", "video":
		err = b.attach(&m)
	default:
		err = fmt.Errorf("msgtype is %.40q: want text, markdown, news, textcard, template_card, image, file, voice or video", b.Type)
	}
	m.Text, m.Markdown = strings.TrimSpace(m.Text), strings.TrimSpace(m.Markdown)
	return m, err
}

// attach adds the one file of a message, which has no text of its own.
func (b *body) attach(m *inbound.Message) error {
	if b.Type == "image" && len(b.Image.Body) > 0 {
		kind := http.DetectContentType(b.Image.Body)
		m.Text, m.Alone, m.Files = "[image]", true, []inbound.File{{Name: "image." + strings.TrimPrefix(kind, "image/"), Type: kind, Body: b.Image.Body}}
		return nil
	}
	of := map[string]media{"image": {ID: b.Image.Media}, "file": b.File, "voice": b.Voice, "video": b.Video}[b.Type]
	if of.ID == "" {
		return fmt.Errorf("%s.media_id is missing", b.Type)
	}
	m.Title, m.Text, m.Alone, m.Files = of.Title, "["+b.Type+"]", true, []inbound.File{{Upload: of.ID}}
	return nil
}

// upload keeps a file: the part media of a form.
func upload(r *inbound.Request) error {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return errors.New("an upload is a form with the part media")
	}
	for parts := multipart.NewReader(bytes.NewReader(r.Body), params["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			return errors.New("the form has no part media with a file")
		}
		if part.FormName() != "media" || part.FileName() == "" {
			continue
		}
		body, err := io.ReadAll(part) // as long as the request's at most, which is bounded
		if err != nil {
			return errors.New("the form ends within its file")
		}
		_, err = r.Keep(inbound.File{Name: part.FileName(), Body: body})
		return err
	}
}

// said is an answer of WeCom's.
type said struct {
	Code  int    `json:"errcode"`
	Text  string `json:"errmsg"`
	Type  string `json:"type,omitempty"`
	Media string `json:"media_id,omitempty"`
	At    string `json:"created_at,omitempty"`
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	status, said := ended(out, 93000, "invalid webhook url")
	if r.Kept != "" && out.Status == inbound.Accepted {
		said.Type, said.Media, said.At = r.URL.Query().Get("type"), r.Kept, strconv.FormatInt(r.Now.Unix(), 10)
	}
	inbound.AnswerJSON(w, status, said)
}

// ended is what became of a call in WeCom's words. The codes for nobody's token are those of robots or of applications.
func ended(out inbound.Result, code int, text string) (status int, said said) {
	said.Text = "ok"
	switch status = http.StatusOK; out.Status {
	case inbound.Accepted:
	case inbound.Unauthorized:
		said.Code, said.Text = code, text
	case inbound.Unavailable: // who looks at the status alone must not take it for done
		status, said.Code, said.Text = http.StatusServiceUnavailable, -1, out.Reason
	default:
		said.Code, said.Text = 40058, out.Reason
	}
	return status, said
}

func setup(s inbound.Setup) []inbound.Snippet {
	return []inbound.Snippet{
		{Title: "the webhook of the robot", Text: s.URL + "/cgi-bin/webhook/send?key=" + s.Token + "\n"},
		{Title: "a try by hand", Text: fmt.Sprintf("curl -H 'Content-Type: application/json' -d '{\"msgtype\":\"text\",\"text\":{\"content\":\"a try\"}}' '%s/cgi-bin/webhook/send?key=%s'\n", s.URL, s.Token)},
	}
}
