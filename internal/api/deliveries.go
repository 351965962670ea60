package api

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// deliveries is the resource of single sendings.
type deliveries struct {
	read  read.Reader
	forms func(tenant, channel, address string) []string
}

func (d deliveries) routes() []web.Route {
	return web.Tagged("deliveries",
		web.Get("/v1/deliveries", reads, "List deliveries, newest first.", d.list).Query(slices.Concat(filterable, stoppable)...).Sighted().Aside(),
		web.Get("/v1/deliveries/stopped", reads, "What is in a state, by channel and reason: counted over the newest 10,000.", d.stopped).Query("state").Aside(),
		web.Get("/v1/deliveries/{id}", reads, "One delivery: how it stands.", d.get).Sighted(),
		web.Get("/v1/deliveries/{id}/attempts", reads, "Every try to send it, with request and response.", d.attempts).Paged().Sighted(),
		web.Get("/v1/deliveries/{id}/events", reads, "Every transition it made.", d.events).Paged().Sighted(),
		web.Get("/v1/deliveries/{id}/explain", reads, "Why it waits, and until when.", d.explain).Sighted(),
		web.Get("/v1/deliveries/{id}/story", reads, "Its whole story: message, events, attempts, and what the logs say of it.", d.story).Sighted(),
	)
}

func (d deliveries) get(c *web.Call) (posthouse.Delivery, error) {
	return d.read.Deliveries.Delivery(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (d deliveries) list(c *web.Call) (wire.Page[posthouse.Delivery], error) {
	priority := posthouse.Priority(c.Query.Get("priority"))
	if priority != "" && !priority.Valid() {
		c.Refuse("query.priority", "%s", channel.Want(priority, posthouse.Priorities()))
	}
	f, err := filterOf(c)
	f.Reason, f.KnownAs, f.Priority = c.Query.Get("reason"), c.Query.Get("known_as"), priority
	if err != nil {
		return wire.Page[posthouse.Delivery]{}, err
	}
	if f.KnownAs != "" && d.forms != nil {
		f.Forms = d.forms(c.Tenant(), f.Channel, f.KnownAs)
	}
	return pageOf(read.LookedLight(f.Cursor, f.Limit, sizeOf, func(cursor string, limit int) ([]posthouse.Delivery, string, error) {
		f.Cursor, f.Limit, f.Look = cursor, limit, mostLooked
		return d.read.Deliveries.Deliveries(c.Context(), f)
	}))
}

func (d deliveries) stopped(c *web.Call) (wire.Stopped, error) {
	state := cmp.Or(posthouse.State(c.Query.Get("state")), posthouse.Unknown)
	if !slices.Contains(stops, state) {
		c.Refuse("query.state", "%s", channel.Want(state, stops))
	}
	if err := c.Wrong(); err != nil {
		return wire.Stopped{}, err
	}
	return d.read.Stopped(c.Context(), c.Viewer(), state)
}

// stops are the states whose deliveries are counted by why they are there.
var stops = []posthouse.State{posthouse.Unknown, posthouse.Quarantined, posthouse.Failed, posthouse.Undelivered, posthouse.Expired, posthouse.Suppressed, posthouse.Cancelled}

func (d deliveries) attempts(c *web.Call) (wire.Page[posthouse.Attempt], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Attempt, string, error) {
		return d.read.History.AttemptPage(c.Context(), c.Viewer(), c.PathValue("id"), cursor, limit)
	})
}

func (d deliveries) events(c *web.Call) (wire.Page[posthouse.Event], error) {
	return paged(c, func(cursor string, limit int) ([]posthouse.Event, string, error) {
		return d.read.History.EventPage(c.Context(), c.Viewer(), c.PathValue("id"), cursor, limit)
	})
}

func (d deliveries) explain(c *web.Call) (wire.Explanation, error) {
	return d.read.Explain(c.Context(), c.Viewer(), c.PathValue("id"))
}

func (d deliveries) story(c *web.Call) (wire.Story, error) {
	return d.read.Story(c.Context(), c.Viewer(), c.PathValue("id"))
}
