package api

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Judge settles what nobody knows, and wakes who sends. The engine's roles satisfy it.
type Judge interface {
	Resolve(ctx context.Context, tenant, id string, r engine.Resolution) (posthouse.Delivery, error)
	ResolveAll(ctx context.Context, tenant string, ids []string, r engine.Resolution) ([]posthouse.Delivery, error)
	Wake(tenant, name string)
}

// deliveries is the resource of single sendings.
type deliveries struct {
	read     read.Reader
	judge    Judge
	replays  Replays
	channels Channels
	quotas   Quotas
}

var (
	resolveBody    = web.BodyOf[wire.Resolve]().Loose()
	resolveAllBody = web.BodyOf[wire.ResolveAll]().Loose()
)

func (d deliveries) routes() []web.Route {
	return web.Tagged("deliveries",
		web.Get("/v1/deliveries", reads, "List deliveries, newest first.", d.list).Query(filterable...).Sighted(),
		web.Get("/v1/deliveries/{id}", reads, "One delivery: how it stands.", d.get).Sighted(),
		web.Get("/v1/deliveries/{id}/attempts", reads, "Every try to send it, with request and response.", d.attempts).Sighted(),
		web.Get("/v1/deliveries/{id}/events", reads, "Every transition it made.", d.events).Sighted(),
		web.Get("/v1/deliveries/{id}/explain", reads, "Why it waits, and until when.", d.explain).Sighted(),
		web.Get("/v1/deliveries/{id}/story", reads, "Its whole story: message, events, attempts, and what the logs say of it.", d.story).Sighted(),
		web.Post("/v1/deliveries/{id}/replay", admin, "Send a failed, expired, quarantined or undelivered one again, as a new delivery.", replayBody, d.replay).Sighted(),
		web.Post("/v1/deliveries/replay", admin, "Send again everything a filter selects.", replayAllBody, d.replayAll).Sighted(),
		web.Post("/v1/deliveries/resolve", admin, "A person's word on every unknown or quarantined delivery a filter selects: counted first, then confirmed.", resolveAllBody, d.resolveAll).Sighted(),
		web.Post("/v1/deliveries/{id}/resolve", admin, "A person's word on an unknown or quarantined delivery.", resolveBody, d.resolve).Sighted(),
	)
}

func (d deliveries) get(c *web.Call) (posthouse.Delivery, error) {
	return d.read.Deliveries.Delivery(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (d deliveries) list(c *web.Call) (wire.Page[posthouse.Delivery], error) {
	f, err := filterOf(c)
	if err != nil {
		return wire.Page[posthouse.Delivery]{}, err
	}
	return partsOf(f.Cursor, f.Limit, func(cursor string, limit int) ([]posthouse.Delivery, string, error) {
		f.Cursor, f.Limit = cursor, limit
		return d.read.Deliveries.Deliveries(c.Context(), f)
	})
}

func (d deliveries) attempts(c *web.Call) (wire.Page[posthouse.Attempt], error) {
	return wholeOf(d.read.History.Attempts(c.Context(), c.Tenant(), c.PathValue("id")))
}

func (d deliveries) events(c *web.Call) (wire.Page[posthouse.Event], error) {
	return wholeOf(d.read.History.Events(c.Context(), c.Tenant(), c.PathValue("id")))
}

func (d deliveries) explain(c *web.Call) (wire.Explanation, error) {
	return d.read.Explain(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (d deliveries) story(c *web.Call) (wire.Story, error) {
	return d.read.Story(c.Context(), c.Tenant(), c.PathValue("id"))
}

func (d deliveries) resolve(c *web.Call, in wire.Resolve) (posthouse.Delivery, error) {
	checkOutcome(c, in.Outcome)
	if err := c.Wrong(); err != nil {
		return posthouse.Delivery{}, err
	}
	if _, err := d.get(c); err != nil {
		return posthouse.Delivery{}, err
	}
	c.Asked(in, 1)
	return d.judge.Resolve(c.Context(), c.Tenant(), c.PathValue("id"), engine.Resolution(in.Outcome))
}

// pageOf is a part of a list.
func pageOf[T any](items []T, next string, err error) (wire.Page[T], error) {
	if items == nil {
		items = []T{}
	}
	return wire.Page[T]{Items: items, Next: next}, err
}

// partsOf is a page that is bounded by bytes too.
func partsOf[T any](cursor string, limit int, part func(cursor string, limit int) ([]T, string, error)) (wire.Page[T], error) {
	return pageOf(read.Gather(cursor, limit, sizeOf[T], part))
}

// sizeOf is what an entry takes in an answer.
func sizeOf[T any](v *T) int {
	text, _ := json.Marshal(v) // what cannot be written fails when it is sent
	return len(text)
}

// wholeOf is a list that has no parts.
func wholeOf[T any](items []T, err error) (wire.Page[T], error) { return pageOf(items, "", err) }
