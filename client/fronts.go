package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Fronts are the addresses at which senders of other makers hand in messages.
type Fronts struct{ api *caller }

// Kinds lists whose forms they can speak.
func (c Fronts) Kinds(ctx context.Context) ([]wire.FrontKind, error) {
	page, err := get[wire.Page[wire.FrontKind]](ctx, c.api, path("front-kinds"), nil)
	return page.Items, err
}

// List lists the fronts by name.
func (c Fronts) List(ctx context.Context) ([]posthouse.Front, error) {
	return whole[posthouse.Front](ctx, c.api, path("fronts"))
}

// Get reads one front.
func (c Fronts) Get(ctx context.Context, name string) (posthouse.Front, error) {
	return get[posthouse.Front](ctx, c.api, path("fronts", name), nil)
}

// Put makes a front, whose token is answered this once, or replaces the settings of one.
func (c Fronts) Put(ctx context.Context, name string, f wire.PutFront) (wire.NewFront, error) {
	return send[wire.NewFront](ctx, c.api, http.MethodPut, path("fronts", name), f)
}

// Rotate gives a front another token, which is answered this once.
func (c Fronts) Rotate(ctx context.Context, name string) (wire.NewFront, error) {
	return send[wire.NewFront](ctx, c.api, http.MethodPost, path("fronts", name, "token"), nil)
}

// Delete deletes a front: who calls it is refused.
func (c Fronts) Delete(ctx context.Context, name string) error {
	_, err := c.api.do(ctx, request{method: http.MethodDelete, path: path("fronts", name)})
	return err
}

// Calls lists the last ten calls at a front, the newest first.
func (c Fronts) Calls(ctx context.Context, name string) ([]posthouse.FrontCall, error) {
	page, err := get[wire.Page[posthouse.FrontCall]](ctx, c.api, path("fronts", name, "calls"), nil)
	return page.Items, err
}

// Reveal shows the body of a call as it came. The audit log has who saw it and why.
func (c Fronts) Reveal(ctx context.Context, name, id, reason string) (wire.RevealedCall, error) {
	return send[wire.RevealedCall](ctx, c.api, http.MethodPost, path("fronts", name, "calls", id, "reveal"), wire.Reveal{Reason: reason})
}
