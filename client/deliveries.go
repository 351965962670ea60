package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
)

// Deliveries are the units of state: one message to one recipient over one channel.
type Deliveries struct{ api *caller }

// Explanation says why a delivery is where it is.
type Explanation struct {
	Delivery string          `json:"delivery"`
	State    posthouse.State `json:"state"`
	Summary  string          `json:"summary"`
	// Waits are all the causes that hold it.
	Waits []Wait `json:"waits"`
}

// Wait is one cause that holds a delivery. Until is zero where only a person or an event ends it.
type Wait struct {
	Cause  string    `json:"cause"`
	Detail string    `json:"detail"`
	Until  time.Time `json:"until,omitzero"`
}

// Replay is what became of the wish to send a delivery again: the new delivery's id, or why not.
type Replay struct {
	Of     string         `json:"of"`
	ID     string         `json:"id,omitempty"`
	Code   posthouse.Code `json:"code,omitempty"`
	Reason string         `json:"reason,omitempty"`
}

// ReplayRequest selects what is sent again. Only failed, expired, quarantined and undelivered
// deliveries can be; States narrows that down.
type ReplayRequest struct {
	Channel string            `json:"channel,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Ref     string            `json:"ref,omitempty"`
	User    string            `json:"user,omitempty"`
	States  []posthouse.State `json:"states,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	Until   time.Time         `json:"until,omitzero"`
	// ForceNew gives the provider a new idempotency key, so that one who remembers the old
	// one sends again.
	ForceNew bool `json:"force_new,omitempty"`
	// DryRun only counts.
	DryRun bool `json:"dry_run,omitempty"`
	// Max bounds how many are replayed. Defaults to 1000, at most 100000.
	Max int `json:"max,omitempty"`
}

// Replays answers a replay by filter.
type Replays struct {
	// Matched is how many deliveries fit, up to Max; Replayed how many are being sent again.
	Matched  int  `json:"matched"`
	Replayed int  `json:"replayed"`
	DryRun   bool `json:"dry_run"`
	// Replays are the first 1000 of them, one by one.
	Replays []Replay `json:"replays"`
}

// Outcome is a person's word on a delivery that is unknown or quarantined.
type Outcome string

// The outcomes: it arrived, it did not, or it did not and shall be tried again.
const (
	OutcomeSent    Outcome = "sent"
	OutcomeNotSent Outcome = "not_sent"
	OutcomeRetry   Outcome = "retry"
)

// Get reads one delivery.
func (c Deliveries) Get(ctx context.Context, id string) (posthouse.Delivery, error) {
	return get[posthouse.Delivery](ctx, c.api, path("deliveries", id), nil)
}

// List lists deliveries, newest first.
func (c Deliveries) List(ctx context.Context, f Filter) (Page[posthouse.Delivery], error) {
	return get[Page[posthouse.Delivery]](ctx, c.api, path("deliveries"), f.query())
}

// Attempts lists a delivery's tries to send, in order.
func (c Deliveries) Attempts(ctx context.Context, id string) ([]posthouse.Attempt, error) {
	page, err := get[Page[posthouse.Attempt]](ctx, c.api, path("deliveries", id, "attempts"), nil)
	return page.Items, err
}

// Events lists all that happened to a delivery, in order.
func (c Deliveries) Events(ctx context.Context, id string) ([]posthouse.Event, error) {
	page, err := get[Page[posthouse.Event]](ctx, c.api, path("deliveries", id, "events"), nil)
	return page.Items, err
}

// Explain says why a delivery waits and until when, or why it ended as it did.
func (c Deliveries) Explain(ctx context.Context, id string) (Explanation, error) {
	return get[Explanation](ctx, c.api, path("deliveries", id, "explain"), nil)
}

// Replay sends a delivery that ended badly again, as a new delivery. forceNew gives the
// provider a new idempotency key.
func (c Deliveries) Replay(ctx context.Context, id string, forceNew bool) (Replay, error) {
	return send[Replay](ctx, c.api, http.MethodPost, path("deliveries", id, "replay"), map[string]bool{"force_new": forceNew})
}

// ReplayAll replays what a filter selects.
func (c Deliveries) ReplayAll(ctx context.Context, r ReplayRequest) (Replays, error) {
	return send[Replays](ctx, c.api, http.MethodPost, path("deliveries", "replay"), r)
}

// Resolve closes an unknown or quarantined delivery, or sends it again.
func (c Deliveries) Resolve(ctx context.Context, id string, outcome Outcome) (posthouse.Delivery, error) {
	return send[posthouse.Delivery](ctx, c.api, http.MethodPost, path("deliveries", id, "resolve"), map[string]Outcome{"outcome": outcome})
}
