package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Health asks whether the server runs. It needs no key.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	return get[wire.Health](ctx, c.api, "/healthz", nil)
}

// Ready asks what the server can do. A server that is not ready is an answer, not an error. It
// needs no key.
func (c *Client) Ready(ctx context.Context) (wire.Readiness, error) {
	answer, _, err := c.api.once(ctx, request{method: http.MethodGet, path: "/readyz"})
	var r wire.Readiness
	if json.Unmarshal(answer.body, &r) == nil && r.Checks != nil {
		return r, nil
	}
	if err == nil {
		err = errors.New("the server's readiness is not what the API promises")
	}
	var coded *posthouse.Error
	if errors.As(err, &coded) {
		return r, coded
	}
	return r, err
}
