package client

import (
	"context"
	"net/http"

	"github.com/posthouse/posthouse/wire"
)

// Examinations are what the process that answers says of itself. A key of the tenant default sees them.
type Examinations struct{ api *caller }

// Settings are those in force, each with where it was given; secrets are masked.
func (c Examinations) Settings(ctx context.Context) ([]wire.ServerSetting, error) {
	page, err := get[wire.Page[wire.ServerSetting]](ctx, c.api, path("settings"), nil)
	return page.Items, err
}

// Last is what it found unsafe or broken when it looked last.
func (c Examinations) Last(ctx context.Context) (wire.Examination, error) {
	return get[wire.Examination](ctx, c.api, path("doctor"), nil)
}

// Run has it look, and waits for the end.
func (c Examinations) Run(ctx context.Context) (wire.Examination, error) {
	return send[wire.Examination](ctx, c.api, http.MethodPost, path("doctor", "run"), nil)
}
