package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Keys are the API keys.
type Keys struct{ api *caller }

// List lists the API keys, revoked ones too.
func (c Keys) List(ctx context.Context) ([]posthouse.Key, error) {
	return whole[posthouse.Key](ctx, c.api, path("keys"))
}

// Create makes an API key. Those that an agent has stay valid beside a new one of it.
func (c Keys) Create(ctx context.Context, key wire.Key) (wire.NewKey, error) {
	return send[wire.NewKey](ctx, c.api, http.MethodPost, path("keys"), key)
}

// Rotate makes another key like one, which goes on for an overlap beside it: nil is 24 hours.
func (c Keys) Rotate(ctx context.Context, id string, overlap *posthouse.Duration) (wire.NewKey, error) {
	return send[wire.NewKey](ctx, c.api, http.MethodPost, path("keys", id, "rotate"), wire.RotateKey{Overlap: overlap})
}

// SetQuota bounds what a key may ask for; an empty quota bounds nothing.
func (c Keys) SetQuota(ctx context.Context, id string, quota posthouse.Quota) (posthouse.Key, error) {
	return send[posthouse.Key](ctx, c.api, http.MethodPut, path("keys", id, "quota"), quota)
}

// Revoke ends an API key. Servers notice within two seconds.
func (c Keys) Revoke(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("keys", id)})
	return err
}
