package wecom

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/files"
)

// appMessage is the body of a call.
type appMessage struct {
	Users   string `json:"touser,omitempty"`
	Parties string `json:"toparty,omitempty"`
	Tags    string `json:"totag,omitempty"`
	Type    string `json:"msgtype"`
	Agent   int    `json:"agentid"`

	Text     *words          `json:"text,omitempty"`
	Markdown *words          `json:"markdown,omitempty"`
	Image    *media          `json:"image,omitempty"`
	Voice    *media          `json:"voice,omitempty"`
	Video    *media          `json:"video,omitempty"`
	File     *media          `json:"file,omitempty"`
	Card     *card           `json:"textcard,omitempty"`
	News     json.RawMessage `json:"news,omitempty"`
	Template json.RawMessage `json:"template_card,omitempty"`

	Safe     int `json:"safe,omitempty"`
	Check    int `json:"enable_duplicate_check,omitempty"`
	Interval int `json:"duplicate_check_interval,omitempty"` // seconds
}

type words struct {
	Content string `json:"content"`
}

type media struct {
	ID    string `json:"media_id"`
	Title string `json:"title,omitempty"`
	Text  string `json:"description,omitempty"`
}

// parts are the members, departments and tags among recipients, in the order in which they stand.
func parts(to []channel.Outgoing) (users, parties, tags string) {
	var lists [3][]string
	for _, address := range batch.Addresses(to) {
		if id, is := strings.CutPrefix(address, party); is {
			lists[1] = append(lists[1], id)
		} else if id, is := strings.CutPrefix(address, tag); is {
			lists[2] = append(lists[2], id)
		} else {
			lists[0] = append(lists[0], address)
		}
	}
	return strings.Join(lists[0], "|"), strings.Join(lists[1], "|"), strings.Join(lists[2], "|")
}

// message is what a call says that begins with a delivery, without its recipients, and the id of the file in it. stale is one that
// WeCom has refused. The error is a *files.Error or one of the access.
func (a *app) message(ctx context.Context, first channel.Outgoing, stale string) (m appMessage, id string, err error) {
	c := first.Content
	m = appMessage{Type: string(kindOf(c, a.format)), Agent: a.agent}
	if a.safe {
		m.Safe = 1
	}
	if a.check > 0 {
		m.Check, m.Interval = 1, int(a.check.Seconds())
	}
	var file *media
	if kind := kindOf(c, a.format); kind.HasMedia() {
		if id, err = a.library.ID(ctx, kind, c.Media[0], stale); err != nil {
			return m, "", err
		}
		file = &media{ID: id}
	}
	switch kindOf(c, a.format) {
	case posthouse.MarkdownContent:
		m.Markdown = &words{markdown(c)}
	case posthouse.ImageContent:
		m.Image = file
	case posthouse.VoiceContent:
		m.Voice = file
	case posthouse.FileContent:
		m.File = file
	case posthouse.VideoContent:
		file.Title, file.Text = c.Title, c.Text
		m.Video = file
	case posthouse.NewsContent:
		m.News = c.Extra
	case posthouse.TemplateContent:
		m.Type, m.Template = "template_card", named(c.Extra, first.Delivery)
	case posthouse.CardContent:
		text, err := cardOf(c)
		if err != nil {
			return m, "", files.Bad("content.extra: %v", err)
		}
		m.Type, m.Card = "textcard", &text
	default:
		m.Text = &words{plainText(c)}
	}
	return m, id, nil
}

func (a *app) upload(ctx context.Context, kind posthouse.ContentType, file *files.File) (string, time.Duration, error) {
	form, body, err := file.Form("media")
	if err != nil {
		return "", 0, err
	}
	reply, v, answer, err := a.call(ctx, "/cgi-bin/media/upload", url.Values{"type": {string(kind)}}, http.Header{"Content-Type": {form}}, body)
	if err != nil {
		return "", 0, err
	}
	return files.Uploaded(reply, v, answer.Media, mediaLasts)
}
