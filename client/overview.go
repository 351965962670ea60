package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse/wire"
)

// Overview reads how sending went in the last minutes, 60 where none are named, and what is open.
func (c *Client) Overview(ctx context.Context, minutes int) (wire.Overview, error) {
	var query url.Values
	if minutes > 0 {
		query = url.Values{"minutes": {strconv.Itoa(minutes)}}
	}
	return get[wire.Overview](ctx, c.api, path("overview"), query)
}
