package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Tenants are the parties on the server. A key of the tenant default sees and changes all of them, another one sees its
// own.
type Tenants struct{ api *caller }

// List lists the tenants by name.
func (c Tenants) List(ctx context.Context) ([]posthouse.Tenant, error) {
	return whole[posthouse.Tenant](ctx, c.api, path("tenants"))
}

// Get reads one tenant with what it has.
func (c Tenants) Get(ctx context.Context, name string) (wire.Tenant, error) {
	return get[wire.Tenant](ctx, c.api, path("tenants", name), nil)
}

// Put makes a tenant or changes its note, quota and language.
func (c Tenants) Put(ctx context.Context, name string, t wire.PutTenant) (posthouse.Tenant, error) {
	return send[posthouse.Tenant](ctx, c.api, http.MethodPut, path("tenants", name), t)
}

// AddKey makes a key of a tenant.
func (c Tenants) AddKey(ctx context.Context, name string, key wire.Key) (wire.NewKey, error) {
	return send[wire.NewKey](ctx, c.api, http.MethodPost, path("tenants", name, "keys"), key)
}

// Delete deletes a tenant that has nothing; with force, what is set up with it is deleted too. One with open deliveries or
// rows of the outbox stays in any case.
func (c Tenants) Delete(ctx context.Context, name string, force bool) error {
	r := request{method: http.MethodDelete, path: path("tenants", name)}
	if force {
		r.query = url.Values{"force": {"true"}}
	}
	_, err := c.api.do(ctx, r)
	return err
}
