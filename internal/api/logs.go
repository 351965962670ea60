package api

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// logs is the resource of the three logs.
type logs struct{ read read.Reader }

func (l logs) routes() []web.Route {
	return web.Tagged("agents",
		web.Get("/v1/logs", reads, "Lines of the log of requests (receive), of hand-outs (send) or of reports (report), newest first.", l.list).
			Query("log", "delivery", "agent", "since", "until").Paged().Aside(),
	)
}

func (l logs) list(c *web.Call) (wire.Page[wire.Line], error) {
	f := work.LogFilter{
		Sight:  c.Sight(),
		Tenant: c.Tenant(), Log: cmp.Or(wire.Log(c.Query.Get("log")), wire.ReceiveLog), Delivery: c.Query.Get("delivery"), Agent: c.Query.Get("agent"),
		Since: c.Moment("since"), Until: c.Moment("until"), Cursor: c.Query.Get("cursor"), Limit: c.Number("limit", 1, web.MaxPage),
	}
	if !slices.Contains(wire.Logs(), f.Log) {
		c.Refuse("query.log", "%s", channel.Want(f.Log, wire.Logs()))
	}
	if f.Log == wire.ReceiveLog && f.Agent != "" {
		c.Refuse("query.agent", "does not narrow down the log of requests: no agent has to do with it")
	}
	if err := c.Wrong(); err != nil {
		return wire.Page[wire.Line]{}, err
	}
	return pageOf(l.read.Lines(c.Context(), f))
}
