package feishu

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// message is what Feishu is told: its msg_type, and the content as JSON.
type message struct {
	kind    string
	content json.RawMessage
}

// made is a content in Feishu's form.
func made(c posthouse.Content, kind posthouse.ContentType) (message, error) {
	switch kind {
	case posthouse.ImageContent:
		return message{"image", errcode.Encoded(map[string]string{"image_key": c.Media[0].ID})}, nil
	case posthouse.FileContent:
		return message{"file", errcode.Encoded(map[string]string{"file_key": c.Media[0].ID})}, nil
	case posthouse.MarkdownContent:
		return card(c.Title, called(c, `<at id=%s></at>`), nil), nil
	case posthouse.CardContent:
		var link struct {
			URL    string `json:"url"`
			Button string `json:"button"`
		}
		if err := json.Unmarshal(c.Extra, &link); err != nil || link.URL == "" {
			return message{}, errors.New(`wants {"url": "https://…", "button": "…"}: where the card leads`)
		}
		if u, err := url.Parse(link.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return message{}, errors.New("has a url that is not one of http or https with a host")
		}
		if link.Button == "" {
			link.Button = "查看详情"
		}
		return card(c.Title, c.Text, []any{map[string]any{
			"tag": "button", "type": "primary", "text": plain(link.Button),
			"behaviors": []any{map[string]string{"type": "open_url", "default_url": link.URL}},
		}}), nil
	case posthouse.TemplateContent:
		return own(c.Extra)
	}
	text := called(c, `<at user_id="%s"></at>`)
	if c.Title != "" {
		text = c.Title + "\n" + text
	}
	return message{"text", errcode.Encoded(map[string]string{"text": text})}, nil
}

func plain(text string) map[string]string {
	return map[string]string{"tag": "plain_text", "content": text}
}

// card is a card of Feishu's version 2.0: a title, a text in Markdown, and what stands below.
func card(title, text string, below []any) message {
	whole := map[string]any{
		"schema": "2.0", "body": map[string]any{"elements": append([]any{map[string]string{"tag": "markdown", "content": text}}, below...)},
	}
	if title != "" {
		whole["header"] = map[string]any{"title": plain(title)}
	}
	return message{"interactive", errcode.Encoded(whole)}
}

// own is a card that the sender has made: all of it, of version 1.0 or 2.0, or the id of one that is kept at Feishu with its variables.
func own(extra json.RawMessage) (message, error) {
	var of struct {
		TemplateID string          `json:"template_id"`
		Version    string          `json:"template_version_name"`
		Variables  json.RawMessage `json:"template_variable"`
	}
	if len(extra) == 0 || !isObject(extra) || json.Unmarshal(extra, &of) != nil {
		return message{}, errors.New("wants a card of Feishu's, or its template_id and template_variable")
	}
	if of.TemplateID == "" {
		return message{"interactive", extra}, nil
	}
	data := map[string]any{"template_id": of.TemplateID}
	if of.Version != "" {
		data["template_version_name"] = of.Version
	}
	if len(of.Variables) > 0 {
		data["template_variable"] = of.Variables
	}
	return message{"interactive", errcode.Encoded(map[string]any{"type": "template", "data": data})}, nil
}

// called is a text that begins with those whom it calls.
func called(c posthouse.Content, form string) string {
	var b strings.Builder
	at := func(id string) { b.WriteString(strings.Replace(form, "%s", id, 1)) }
	if c.MentionAll {
		at("all")
	}
	for _, id := range c.Mentions {
		at(strings.Map(func(r rune) rune {
			if r <= ' ' || strings.ContainsRune(`"<>&`, r) {
				return -1
			}
			return r
		}, id))
	}
	if b.Len() > 0 {
		b.WriteString(" ")
	}
	b.WriteString(c.Text)
	return b.String()
}
