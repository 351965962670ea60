package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"

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

// tenantPage is what the page of a tenant shows beside its form.
type tenantPage struct {
	form.Form
	Holds                wire.TenantHolds
	WithKey              bool                // the form of a new one asks for a first key
	Draft                posthouse.Key       // of a key, as the form says it
	Key                  *wire.NewKey        // which is shown this once
	KeyProblems, Leaving []posthouse.Problem // of the forms of a key, and of deleting
	Typed                string              // of the form that deletes
	Force                bool
}

// Fleeting says that nothing keeps a page with a secret.
func (t tenantPage) Fleeting() bool { return t.Key != nil }

// held is a number of what a tenant has.
type held struct {
	Word string
	N    int
	More bool // it was counted no further
}

// Has are the numbers that are not zero.
func (t tenantPage) Has() (list []held) {
	for _, part := range t.Holds.Parts() {
		if part.N > 0 {
			list = append(list, held{"holds_" + strings.ReplaceAll(part.Name, " ", "_"), part.N, part.N >= wire.HoldsAtMost})
		}
	}
	return list
}

// dress shows beside the form what the tenant has. A new one may get its first key with it.
func (c tenantForm) dress(f form.Form) any {
	t := tenantPage{Form: f, Holds: c.Holds, WithKey: c.v.form("key") != "", Draft: posthouse.Key{Name: c.v.form("key.name"), Scope: posthouse.ScopeAdmin}}
	if c.v.r.Method == http.MethodGet {
		t.WithKey = true
	}
	return t
}

// page is the page of a tenant as it is stored.
func (c tenantForm) page() tenantPage {
	return tenantPage{Form: c.shown(), Holds: c.Holds, Draft: posthouse.Key{Scope: posthouse.ScopeAdmin}}
}

// whenMade makes the first key of a tenant that was just made, where the form asks for one, and shows it this once.
func (c tenantForm) whenMade() error {
	if c.v.form("key") == "" {
		return c.v.goTo(c.address() + "?said=stored")
	}
	stored, err := tenantOf(c.v, c.v.form("name"))
	if err != nil {
		return err
	}
	return stored.addKey(wire.Key{Name: cmp.Or(c.v.form("key.name"), c.v.form("name")), Scope: posthouse.ScopeAdmin})
}

// addTenantKey makes a key of a tenant and shows its secret, this once.
func addTenantKey(v *visit) error {
	c, err := tenantOf(v, v.r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.addKey(wire.Key{Name: v.form("key.name"), Scope: posthouse.Scope(v.form("scope")), Note: v.form("note")})
}

func (c tenantForm) addKey(key wire.Key) error {
	t := c.page()
	made, err := c.v.call().Tenants.AddKey(withNote(c.v.ctx(), c.v.form("note")), c.Name, key)
	if err == nil {
		t.Key = &made
		t.Holds.Keys++
		return c.v.draw(http.StatusOK, "tenant-form", "tenants", t)
	}
	if t.KeyProblems = refusalOf(err, "name"); t.KeyProblems == nil {
		return err
	}
	t.Draft.Name, t.Draft.Scope = key.Name, key.Scope
	return c.v.draw(http.StatusUnprocessableEntity, "tenant-form", "tenants", t)
}

// deleteTenant deletes a tenant whose name was typed.
func deleteTenant(v *visit) error {
	c, err := tenantOf(v, v.r.PathValue("name"))
	if err != nil {
		return err
	}
	t := c.page()
	t.Typed, t.Force = v.form("typed"), v.form("force") != ""
	if t.Typed != c.Name {
		t.Leaving = problemAt("typed", say("typed_wrong", v.zh))
		return v.draw(http.StatusUnprocessableEntity, "tenant-form", "tenants", t)
	}
	err = v.call().Tenants.Delete(withNote(v.ctx(), v.form("note")), c.Name, t.Force)
	if err == nil {
		return v.goTo(v.at("tenants") + "?said=changed_said")
	}
	if posthouse.CodeOf(err) != posthouse.CodeConflict {
		return err
	}
	why := "tenant_has"
	if c.Holds.Open+c.Holds.Outbox+c.Holds.Campaigns > 0 {
		why = "tenant_sends"
	}
	t.Leaving = problemAt("force", say(why, v.zh))
	return v.draw(http.StatusUnprocessableEntity, "tenant-form", "tenants", t)
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
