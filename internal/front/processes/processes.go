// Package processes is the resource of the processes that work on the database.
package processes

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Reader lists processes. read.Processes satisfies it.
type Reader interface {
	Processes(ctx context.Context) ([]wire.Process, error)
}

// Routes are the addresses of processes.
func Routes(of Reader) []web.Route {
	return web.Tagged("processes", web.Get("/v1/processes", posthouse.ScopeAdmin,
		"List the processes that work on the database, and those of the last day that ended without a word. It needs a key of the tenant default.", func(c *web.Call) (wire.Page[wire.Process], error) {
			if c.Tenant() != posthouse.DefaultTenant {
				return wire.Page[wire.Process]{}, posthouse.Errorf(posthouse.CodeForbidden, "processes serve all tenants, and are shown to keys of the tenant %s: this one's is %.80s", posthouse.DefaultTenant, c.Tenant())
			}
			list, err := of.Processes(c.Context())
			return wire.Page[wire.Process]{Items: append([]wire.Process{}, list...)}, err
		}))
}
