package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Keys are the API keys.
type Keys struct{ api *caller }

// NewKey is a key with its secret, which is shown this once.
type NewKey struct {
	posthouse.Key
	Secret string `json:"secret"`
}

// List lists the API keys, revoked ones too.
func (c Keys) List(ctx context.Context) ([]posthouse.Key, error) {
	page, err := get[Page[posthouse.Key]](ctx, c.api, path("keys"), nil)
	return page.Items, err
}

// Create makes an API key.
func (c Keys) Create(ctx context.Context, name string, scope posthouse.Scope) (NewKey, error) {
	return send[NewKey](ctx, c.api, http.MethodPost, path("keys"), map[string]string{"name": name, "scope": string(scope)})
}

// CreateForAgent makes an API key for an agent. Those it has stay valid.
func (c Keys) CreateForAgent(ctx context.Context, name, agent string) (NewKey, error) {
	return send[NewKey](ctx, c.api, http.MethodPost, path("keys"), map[string]string{"name": name, "scope": string(posthouse.ScopeAgent), "agent": agent})
}

// Revoke ends an API key. Servers notice within two seconds.
func (c Keys) Revoke(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("keys", id)})
	return err
}
