package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Overviewer reads how the sending of a tenant goes.
type Overviewer interface {
	Overview(ctx context.Context, tenant, channel string, now, since time.Time) (wire.Overview, error)
	ByChannel(ctx context.Context, tenant string, now, since time.Time) ([]wire.OverviewChannel, error)
}

// Bounds of how far back an overview looks, in minutes.
const (
	usualOverview = 60
	mostOverview  = 90 * 24 * 60
	mostByChannel = 4 * 60
)

// byChannel is what the parameter by may say.
const byChannel = "channel"

type overview struct{ of Overviewer }

func (o overview) routes() []web.Route {
	return web.Tagged("overview", web.Get("/v1/overview", reads, "What was accepted and how attempts ended by the minute or hour, what is open, and what goes wrong: from kept counts.", o.get).Query("minutes", "channel", "by").Aside())
}

func (o overview) get(c *web.Call) (wire.Overview, error) {
	minutes := cmp.Or(c.Number("minutes", 1, mostOverview), usualOverview)
	by := c.Query.Get("by")
	switch {
	case by != "" && by != byChannel:
		c.Refuse("query.by", "is %.60q: want channel, or leave it out", by)
	case by != "" && minutes > mostByChannel:
		c.Refuse("query.by", "goes with at most %d minutes", mostByChannel)
	}
	if err := c.Wrong(); err != nil {
		return wire.Overview{}, err
	}
	now := time.Now()
	since := now.Add(-time.Duration(minutes) * time.Minute)
	out, err := o.of.Overview(c.Context(), c.Tenant(), c.Query.Get("channel"), now, since)
	if err == nil && by == byChannel {
		out.Channels, err = o.of.ByChannel(c.Context(), c.Tenant(), now, since)
		if channel := c.Query.Get("channel"); channel != "" {
			out.Channels = slices.DeleteFunc(out.Channels, func(one wire.OverviewChannel) bool { return one.Channel != channel })
		}
	}
	return out, err
}
