package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
)

// NewKey is a key with its secret, which is shown this once.
type NewKey struct {
	posthouse.Key
	Secret string `json:"secret"`
}

// Keys lists the API keys, revoked ones too.
func (c *Client) Keys(ctx context.Context) ([]posthouse.Key, error) {
	page, err := get[Page[posthouse.Key]](ctx, c, path("keys"), nil)
	return page.Items, err
}

// CreateKey makes an API key.
func (c *Client) CreateKey(ctx context.Context, name string, scope posthouse.Scope) (NewKey, error) {
	return send[NewKey](ctx, c, http.MethodPost, path("keys"), map[string]string{"name": name, "scope": string(scope)})
}

// CreateAgentKey makes an API key for an agent. Those it has stay valid.
func (c *Client) CreateAgentKey(ctx context.Context, name, agent string) (NewKey, error) {
	return send[NewKey](ctx, c, http.MethodPost, path("keys"), map[string]string{"name": name, "scope": string(posthouse.ScopeAgent), "agent": agent})
}

// RevokeKey ends an API key. Servers notice within two seconds.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: path("keys", id)})
	return err
}
