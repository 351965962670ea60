package client

import (
	"context"

	"github.com/posthouse/posthouse/wire"
)

// Processes are those that work on the server's database. A key of the tenant default sees them.
type Processes struct{ api *caller }

// List lists those that are there, and those of the last day that ended without a word.
func (c Processes) List(ctx context.Context) ([]wire.Process, error) {
	page, err := get[wire.Page[wire.Process]](ctx, c.api, path("processes"), nil)
	return page.Items, err
}
