package api

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Overviewer reads how the sending of a tenant goes.
type Overviewer interface {
	Overview(ctx context.Context, tenant, channel string, now, since time.Time) (wire.Overview, error)
}

// Bounds of how far back an overview looks, in minutes.
const (
	usualOverview = 60
	mostOverview  = 90 * 24 * 60
)

type overview struct{ of Overviewer }

func (o overview) routes() []web.Route {
	return web.Tagged("overview", web.Get("/v1/overview", reads, "What was accepted and how attempts ended by the minute or hour, what is open, and what goes wrong: from kept counts.", o.get).Query("minutes", "channel"))
}

func (o overview) get(c *web.Call) (wire.Overview, error) {
	minutes := cmp.Or(c.Number("minutes", 1, mostOverview), usualOverview)
	if err := c.Wrong(); err != nil {
		return wire.Overview{}, err
	}
	now := time.Now()
	return o.of.Overview(c.Context(), c.Tenant(), c.Query.Get("channel"), now, now.Add(-time.Duration(minutes)*time.Minute))
}
