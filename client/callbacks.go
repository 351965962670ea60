package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse/wire"
)

// Callbacks are the addresses at which a channel's provider calls the server.
type Callbacks struct{ api *caller }

// List lists the addresses of a channel and its accounts.
func (c Callbacks) List(ctx context.Context, channel string) ([]wire.Callback, error) {
	page, err := get[wire.Page[wire.Callback]](ctx, c.api, path("channels", channel, "callbacks"), nil)
	return page.Items, err
}

// Create makes a new address for a channel, or for one of its accounts where account is not empty.
func (c Callbacks) Create(ctx context.Context, channel, account string) (wire.Callback, error) {
	return send[wire.Callback](ctx, c.api, http.MethodPost, path("channels", channel, "callbacks"), wire.NewCallback{Account: account})
}

// Delete deletes an address: who calls it is refused.
func (c Callbacks) Delete(ctx context.Context, channel, address string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("channels", channel, "callbacks", address)})
	return err
}
