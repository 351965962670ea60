package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse/wire"
)

// Media are the files that are to be sent.
type Media struct{ api *caller }

// Add stores a file as it is read, one time: after an error the same file may be added again, and is stored once. An empty kind
// is found out by the server.
func (c Media) Add(ctx context.Context, name, kind string, body io.Reader) (wire.StoredMedia, error) {
	if kind == "" {
		kind = "application/octet-stream"
	}
	return uploaded[wire.StoredMedia](ctx, c.api, request{method: http.MethodPost, path: path("media"), query: url.Values{"name": {name}}, kind: kind}, body)
}

// Fetch has the server store the file that is at a URL.
func (c Media) Fetch(ctx context.Context, from wire.FetchMedia) (wire.StoredMedia, error) {
	return send[wire.StoredMedia](ctx, c.api, http.MethodPost, path("media", "fetch"), from)
}

// List lists the files, newest first. Of the filter only Cursor and Limit are looked at.
func (c Media) List(ctx context.Context, f Filter) (wire.Page[wire.StoredMedia], error) {
	return get[wire.Page[wire.StoredMedia]](ctx, c.api, path("media"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Get is what is known of a file.
func (c Media) Get(ctx context.Context, id string) (wire.StoredMedia, error) {
	return get[wire.StoredMedia](ctx, c.api, path("media", id), nil)
}

// Content writes a file to w as it comes.
func (c Media) Content(ctx context.Context, id string, w io.Writer) error {
	return c.api.stream(ctx, request{method: http.MethodGet, path: path("media", id, "content")}, w)
}

// Delete deletes a file. What still names it is not sent.
func (c Media) Delete(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("media", id)})
	return err
}
