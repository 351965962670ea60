package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
)

// Health is what a server says about itself to anybody.
type Health struct {
	Status   string    `json:"status"`
	Version  string    `json:"version"`
	Database string    `json:"database"`
	Unsafe   []Setting `json:"unsafe"`
}

// Setting is a setting of the database that is unsafe.
type Setting struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// Readiness says whether a server can do its work, part by part.
type Readiness struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks"`
}

// Check is one part of Readiness.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	// Optional parts are named when they fail, but the server stays ready: the others go on.
	Optional bool `json:"optional,omitempty"`
}

// Health asks whether the server runs. It needs no key.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c.api, "/healthz", nil)
}

// Ready asks what the server can do. A server that is not ready is an answer, not an error. It
// needs no key.
func (c *Client) Ready(ctx context.Context) (Readiness, error) {
	answer, _, err := c.api.once(ctx, request{method: http.MethodGet, path: "/readyz"})
	var r Readiness
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
