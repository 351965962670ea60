package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Deliveries are the units of state: one message to one recipient over one channel.
type Deliveries struct{ api *caller }

// Get reads one delivery.
func (c Deliveries) Get(ctx context.Context, id string) (posthouse.Delivery, error) {
	return get[posthouse.Delivery](ctx, c.api, path("deliveries", id), nil)
}

// List lists deliveries, newest first.
func (c Deliveries) List(ctx context.Context, f Filter) (wire.Page[posthouse.Delivery], error) {
	return get[wire.Page[posthouse.Delivery]](ctx, c.api, path("deliveries"), f.query())
}

// Stopped counts the newest deliveries of a state by channel and reason.
func (c Deliveries) Stopped(ctx context.Context, state posthouse.State) (wire.Stopped, error) {
	return get[wire.Stopped](ctx, c.api, path("deliveries", "stopped"), url.Values{"state": {string(state)}})
}

// Attempts lists a delivery's tries to send, in order.
func (c Deliveries) Attempts(ctx context.Context, id string) ([]posthouse.Attempt, error) {
	return whole[posthouse.Attempt](ctx, c.api, path("deliveries", id, "attempts"))
}

// Events lists all that happened to a delivery, in order.
func (c Deliveries) Events(ctx context.Context, id string) ([]posthouse.Event, error) {
	return whole[posthouse.Event](ctx, c.api, path("deliveries", id, "events"))
}

// Explain says why a delivery waits and until when, or why it ended as it did.
func (c Deliveries) Explain(ctx context.Context, id string) (wire.Explanation, error) {
	return get[wire.Explanation](ctx, c.api, path("deliveries", id, "explain"), nil)
}

// Replay sends a delivery that ended badly again, as a new delivery. forceNew gives the
// provider a new idempotency key.
func (c Deliveries) Replay(ctx context.Context, id string, forceNew bool) (wire.Replayed, error) {
	return send[wire.Replayed](ctx, c.api, http.MethodPost, path("deliveries", id, "replay"), wire.Replay{ForceNew: forceNew})
}

// ReplayAll replays what a filter selects.
func (c Deliveries) ReplayAll(ctx context.Context, r wire.ReplayAll) (wire.ReplayedAll, error) {
	return send[wire.ReplayedAll](ctx, c.api, http.MethodPost, path("deliveries", "replay"), r)
}

// ResolveAll decides about everything a filter selects: first with DryRun, which counts, then with the Confirm of that answer.
func (c Deliveries) ResolveAll(ctx context.Context, r wire.ResolveAll) (wire.ResolvedAll, error) {
	return send[wire.ResolvedAll](ctx, c.api, http.MethodPost, path("deliveries", "resolve"), r)
}

// Resolve closes an unknown or quarantined delivery, or sends it again.
func (c Deliveries) Resolve(ctx context.Context, id string, outcome wire.Outcome) (posthouse.Delivery, error) {
	return send[posthouse.Delivery](ctx, c.api, http.MethodPost, path("deliveries", id, "resolve"), wire.Resolve{Outcome: outcome})
}
