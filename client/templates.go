package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Templates are texts with placeholders.
type Templates struct{ api *caller }

// List lists the latest version of each template.
func (c Templates) List(ctx context.Context) ([]posthouse.Template, error) {
	return whole[posthouse.Template](ctx, c.api, path("templates"))
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
		Title      string                `json:"title,omitempty"`
		Text       string                `json:"text"`
		Type       posthouse.ContentType `json:"type,omitempty"`
		Extra      json.RawMessage       `json:"extra,omitempty"`
		Lenient    bool                  `json:"lenient,omitempty"`
		ExternalID string                `json:"external_id,omitempty"`
		Parameters map[string]string     `json:"parameters,omitempty"`
		Disabled   bool                  `json:"disabled,omitempty"`
		Language   string                `json:"language,omitempty"`

		Texts map[string]posthouse.TemplateText `json:"texts,omitempty"`
	}{t.Title, t.Text, t.Type, t.Extra, t.Lenient, t.ExternalID, t.Parameters, t.Disabled, t.Language, t.Texts})
}

// Delete deletes all versions of a template.
func (c Templates) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("templates", name)})
	return err
}

// Preview fills a template without sending anything.
func (c Templates) Preview(ctx context.Context, name string, p wire.Preview) (wire.Previewed, error) {
	return send[wire.Previewed](ctx, c.api, http.MethodPost, path("templates", name, "preview"), p)
}

// Test fills a template and sends it to one recipient, without queueing anything.
func (c Templates) Test(ctx context.Context, name string, test wire.TemplateTest) (wire.ChannelTested, error) {
	return send[wire.ChannelTested](ctx, c.api, http.MethodPost, path("templates", name, "test"), test)
}
