package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse/wire"
)

// Outbox is what programs handed in through the database and the server could not accept so far.
type Outbox struct{ api *caller }

// List counts the outbox and lists its rejected rows. Of the filter only Cursor and Limit are looked at.
func (c Outbox) List(ctx context.Context, f Filter) (wire.Outbox, error) {
	return get[wire.Outbox](ctx, c.api, path("outbox"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// Retry lets a rejected row be tried at once.
func (c Outbox) Retry(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodPost, path: path("outbox", id, "retry")})
	return err
}

// Drop deletes a rejected row: nothing is sent.
func (c Outbox) Drop(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("outbox", id)})
	return err
}
