package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse/wire"
)

// Decisions are bulk actions on many deliveries, which the server carries out step by step.
type Decisions struct{ api *caller }

// Begin decides about everything a filter selects: first with DryRun, which counts, then with the Confirm of that answer. It
// returns at once; Get says how far it is. One Confirm begins one decision, however often it is sent.
func (c Decisions) Begin(ctx context.Context, d wire.Decide) (wire.Decision, error) {
	return send[wire.Decision](ctx, c.api, http.MethodPost, path("decisions"), d)
}

// Get reads how far a decision is.
func (c Decisions) Get(ctx context.Context, id string) (wire.Decision, error) {
	return get[wire.Decision](ctx, c.api, path("decisions", id), nil)
}

// List lists the newest decisions, at most 200, newest first.
func (c Decisions) List(ctx context.Context) ([]wire.Decision, error) {
	page, err := get[wire.Page[wire.Decision]](ctx, c.api, path("decisions"), nil)
	return page.Items, err
}

// Undo takes back what a decision let go, where it has not begun: a decision of its own, whose Undoes names the other. Asked again,
// it answers the same.
func (c Decisions) Undo(ctx context.Context, id string) (wire.Decision, error) {
	return send[wire.Decision](ctx, c.api, http.MethodPost, path("decisions", id, "undo"), nil)
}

// Stop ends a decision where it is. What it has decided stays decided.
func (c Decisions) Stop(ctx context.Context, id string) (wire.Decision, error) {
	return send[wire.Decision](ctx, c.api, http.MethodPost, path("decisions", id, "stop"), nil)
}
