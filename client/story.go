package client

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Logs are the lists of requests, hand-outs and reports.
type Logs struct{ api *caller }

// LogFilter narrows down the lines of a log. Each field defaults to no restriction.
type LogFilter struct {
	Delivery, Agent string
	Since, Until    time.Time
	Cursor          string
	Limit           int // 1 to 1000, defaults to 50
}

// Story reads a delivery's whole life.
func (c Deliveries) Story(ctx context.Context, delivery string) (wire.Story, error) {
	return get[wire.Story](ctx, c.api, path("deliveries", delivery, "story"), nil)
}

// List lists the lines of a log, newest first: "receive" has the requests to the SMS front door, "send" the
// hand-outs, "report" the reports.
func (c Logs) List(ctx context.Context, log wire.Log, f LogFilter) (wire.Page[wire.Line], error) {
	q := Filter{Since: f.Since, Until: f.Until, Cursor: f.Cursor, Limit: f.Limit}.query()
	for name, value := range map[string]string{"log": string(log), "delivery": f.Delivery, "agent": f.Agent} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return get[wire.Page[wire.Line]](ctx, c.api, path("logs"), q)
}
