package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Subscriptions are the addresses that are told of what happens to deliveries.
type Subscriptions struct{ api *caller }

// List lists them, with how far each has come.
func (c Subscriptions) List(ctx context.Context) ([]wire.Subscription, error) {
	return whole[wire.Subscription](ctx, c.api, path("subscriptions"))
}

// Get reads one.
func (c Subscriptions) Get(ctx context.Context, id string) (wire.Subscription, error) {
	return get[wire.Subscription](ctx, c.api, path("subscriptions", id), nil)
}

// Create has an address told. The signing secret is shown this once.
func (c Subscriptions) Create(ctx context.Context, s wire.NewSubscription) (wire.SubscriptionWithSecret, error) {
	return send[wire.SubscriptionWithSecret](ctx, c.api, http.MethodPost, path("subscriptions"), s)
}

// Delete tells it no more.
func (c Subscriptions) Delete(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("subscriptions", id)})
	return err
}

// Rotate makes a new signing secret; the old one signs beside it for an overlap: nil is 24 hours.
func (c Subscriptions) Rotate(ctx context.Context, id string, overlap *posthouse.Duration) (wire.SubscriptionWithSecret, error) {
	return send[wire.SubscriptionWithSecret](ctx, c.api, http.MethodPost, path("subscriptions", id, "rotate"), wire.RotateSecret{Overlap: overlap})
}

// Pause tells it nothing until it is resumed.
func (c Subscriptions) Pause(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodPost, path: path("subscriptions", id, "pause")})
	return err
}

// Resume goes on where it was paused, and tries again at once.
func (c Subscriptions) Resume(ctx context.Context, id string) error {
	_, err := c.api.do(ctx, request{method: http.MethodPost, path: path("subscriptions", id, "resume")})
	return err
}

// Test posts a signed test to it, at once.
func (c Subscriptions) Test(ctx context.Context, id string) (wire.SubscriptionTest, error) {
	return send[wire.SubscriptionTest](ctx, c.api, http.MethodPost, path("subscriptions", id, "test"), nil)
}

// Replay tells it again what happened since a time or behind an event.
func (c Subscriptions) Replay(ctx context.Context, id string, from wire.ReplayEvents) (wire.Subscription, error) {
	return send[wire.Subscription](ctx, c.api, http.MethodPost, path("subscriptions", id, "replay"), from)
}

// DeadLetters lists what it did not take, newest first.
func (c Subscriptions) DeadLetters(ctx context.Context, id string) ([]wire.DeadLetter, error) {
	page, err := get[wire.Page[wire.DeadLetter]](ctx, c.api, path("subscriptions", id, "dead-letters"), nil)
	return page.Items, err
}
