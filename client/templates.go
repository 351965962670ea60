package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse"
)

// Templates are texts with placeholders.
type Templates struct{ api *caller }

// TemplatePreview asks what a template makes of a payload. Title and Text try a text that is
// not stored; without both the stored template is filled. A clock counts to now; the bounds of a
// channel's provider are looked at.
type TemplatePreview struct {
	Payload json.RawMessage  `json:"payload,omitempty"`
	Clock   *posthouse.Clock `json:"clock,omitempty"`
	Channel string           `json:"channel,omitempty"`
	Title   string           `json:"title,omitempty"`
	Text    string           `json:"text,omitempty"`
	Lenient bool             `json:"lenient,omitempty"`
}

// Lengths is the length of a text in bytes of UTF-8, units of UTF-16, code points, and as a
// reader counts.
type Lengths struct {
	Bytes      int `json:"bytes"`
	UTF16      int `json:"utf16"`
	Characters int `json:"characters"`
	Graphemes  int `json:"graphemes"`
}

// Preview is a filled template. Problems say what the payload lacks; Content then shows the
// placeholders that could not be filled. Warnings say what the channel's provider would cut or refuse.
type Preview struct {
	Content    posthouse.Content   `json:"content"`
	Title      Lengths             `json:"title_length"`
	Text       Lengths             `json:"text_length"`
	Variables  []string            `json:"variables"`
	Payload    json.RawMessage     `json:"payload,omitempty"`
	ExternalID string              `json:"external_id,omitempty"`
	Disabled   bool                `json:"disabled,omitempty"`
	Problems   []posthouse.Problem `json:"problems"`
	Warnings   []posthouse.Problem `json:"warnings"`
}

// List lists the latest version of each template.
func (c Templates) List(ctx context.Context) ([]posthouse.Template, error) {
	page, err := get[Page[posthouse.Template]](ctx, c.api, path("templates"), nil)
	return page.Items, err
}

// Get reads a version of a template, the latest for 0.
func (c Templates) Get(ctx context.Context, name string, version int) (posthouse.Template, error) {
	q := url.Values{}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	return get[posthouse.Template](ctx, c.api, path("templates", name), q)
}

// Put stores a new version of a template.
func (c Templates) Put(ctx context.Context, t posthouse.Template) (posthouse.Template, error) {
	return send[posthouse.Template](ctx, c.api, http.MethodPut, path("templates", t.Name), struct {
		Title      string `json:"title,omitempty"`
		Text       string `json:"text"`
		Lenient    bool   `json:"lenient,omitempty"`
		ExternalID string `json:"external_id,omitempty"`
		Disabled   bool   `json:"disabled,omitempty"`
	}{t.Title, t.Text, t.Lenient, t.ExternalID, t.Disabled})
}

// Delete deletes all versions of a template.
func (c Templates) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("templates", name)})
	return err
}

// Preview fills a template without sending anything.
func (c Templates) Preview(ctx context.Context, name string, p TemplatePreview) (Preview, error) {
	return send[Preview](ctx, c.api, http.MethodPost, path("templates", name, "preview"), p)
}

// TemplateTest is a message that is really sent and not queued.
type TemplateTest struct {
	Channel string              `json:"channel"`
	To      posthouse.Recipient `json:"to"`
	Payload json.RawMessage     `json:"payload,omitempty"`
	Clock   *posthouse.Clock    `json:"clock,omitempty"`
}

// Test fills a template and sends it to one recipient, without queueing anything.
func (c Templates) Test(ctx context.Context, name string, test TemplateTest) (ChannelTestResult, error) {
	return send[ChannelTestResult](ctx, c.api, http.MethodPost, path("templates", name, "test"), test)
}
