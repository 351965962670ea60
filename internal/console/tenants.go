package console

import (
	"cmp"
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/form"
	"github.com/posthouse/posthouse/wire"
)

// showTenants lists the tenants that the person's tenant may see: of the tenant default all, of another its own.
func showTenants(v *visit) error {
	list, err := v.call().Tenants.List(v.ctx())
	if err != nil {
		return err
	}
	part, next := cut(v, list, boardLength)
	return v.show("tenants", "tenants", struct {
		List []posthouse.Tenant
		Next string
	}{part, next})
}

// Ruling reports whether the page's tenant is the one whose admins change all tenants.
func (f frame) Ruling() bool { return f.v.tenant == posthouse.DefaultTenant }

// tenantForm is a tenant that is made or changed by a form.
type tenantForm struct {
	v *visit
	wire.Tenant
}

// onTenant does something with the form of a tenant, of a new one where the address has no name.
func onTenant(do func(*visit, formed) error) func(*visit) error {
	return func(v *visit) error {
		c, err := tenantOf(v, v.r.PathValue("name"))
		if err != nil {
			return err
		}
		return do(v, c)
	}
}

func tenantOf(v *visit, name string) (c tenantForm, err error) {
	if c.v = v; name != "" {
		c.Tenant, err = v.call().Tenants.Get(v.ctx(), name)
	}
	return c, err
}

func (c tenantForm) shown() form.Form { return form.OfTenant(c.Tenant.Tenant) }

func (c tenantForm) put(ctx context.Context, r *form.Reader) error {
	in := r.Tenant(c.Tenant.Tenant)
	if len(r.Problems) > 0 {
		return nil
	}
	_, err := c.v.call().Tenants.Put(ctx, cmp.Or(c.Name, c.v.form("name")), wire.PutTenantOf(in))
	return err
}

func (c tenantForm) taken(name string) bool {
	_, err := c.v.call().Tenants.Get(c.v.ctx(), name)
	return err == nil
}

func (c tenantForm) again() (formed, error) { return tenantOf(c.v, c.Name) }

func (c tenantForm) address() string {
	return c.v.at("tenants", cmp.Or(c.Name, c.v.form("name")))
}
