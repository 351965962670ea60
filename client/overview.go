package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/posthouse/posthouse/wire"
)

// OverviewByChannel is Overview of all channels, with how each of them went and how full its fullest window is: at most 240 minutes back.
func (c *Client) OverviewByChannel(ctx context.Context, minutes int) (wire.Overview, error) {
	query := url.Values{"by": {"channel"}}
	if minutes > 0 {
		query.Set("minutes", strconv.Itoa(minutes))
	}
	return get[wire.Overview](ctx, c.api, path("overview"), query)
}

// Overview reads how sending went in the last minutes, 60 where none are named, and what is open: of a channel, or of all
// where none is named.
func (c *Client) Overview(ctx context.Context, channel string, minutes int) (wire.Overview, error) {
	query := url.Values{}
	if minutes > 0 {
		query.Set("minutes", strconv.Itoa(minutes))
	}
	if channel != "" {
		query.Set("channel", channel)
	}
	return get[wire.Overview](ctx, c.api, path("overview"), query)
}
