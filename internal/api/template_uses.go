package api

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
)

// Fronts are listed, to see which templates they use.
type Fronts interface {
	Fronts(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Front, next string, err error)
}

// templateUses are the stored settings that name templates.
type templateUses struct {
	routes  Ways
	digests Digests
	fronts  Fronts
	plans   Plans
}

func (u templateUses) eachDigest(c *web.Call, see func(*posthouse.Digest) error) error {
	return everyOf(func(cursor string) ([]posthouse.Digest, string, error) {
		return u.digests.Digests(c.Context(), c.Tenant(), cursor, 0)
	}, see)
}

// unused refuses to delete a template that a digest, a route, a front or an open reminder sends by: their messages would wait in vain, or be
// refused.
func (u templateUses) unused(c *web.Call, name string) error {
	refused := func(by string) error {
		return posthouse.Errorf(posthouse.CodeConflict, "the template makes the texts of %s: change or delete that first", by)
	}
	if err := u.eachDigest(c, func(d *posthouse.Digest) error {
		if d.Template == name {
			return refused("the digest " + d.Name)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := everyOf(func(cursor string) ([]posthouse.Route, string, error) {
		return u.routes.Routes(c.Context(), c.Tenant(), cursor, 0)
	}, func(r *posthouse.Route) error {
		if slices.ContainsFunc(r.Steps, func(s posthouse.RouteStep) bool {
			return s.Template == name || slices.Contains(slices.Collect(maps.Values(s.Templates)), name)
		}) {
			return refused("the route " + r.Name)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := u.reminds(c, name, refused); err != nil || u.fronts == nil {
		return err
	}
	return everyOf(func(cursor string) ([]posthouse.Front, string, error) {
		return u.fronts.Fronts(c.Context(), c.Tenant(), cursor, 0)
	}, func(f *posthouse.Front) error {
		if f.Template == name {
			return refused("the front " + f.Name)
		}
		return nil
	})
}

// reminds refuses it where a reminder or a schedule that is open sends by it.
func (u templateUses) reminds(c *web.Call, name string, refused func(by string) error) error {
	return everyOf(func(cursor string) ([]work.Plan, string, error) {
		return u.plans.PlansIn(c.Context(), c.Tenant(), work.PlanReminder, work.PlanFilter{}, cursor, 1000)
	}, func(p *work.Plan) error {
		r, err := remind.Read(*p)
		if err == nil && r.State == posthouse.ReminderOpen && r.Draft.Template == name {
			err = refused("the reminder " + r.ID)
		}
		return err
	})
}

// gathered refuses a new version of a template that asks for what the digests that use it do not have.
func (u templateUses) gathered(c *web.Call, t posthouse.Template) error {
	name := unmet(t)
	if name == "" {
		return nil
	}
	return u.eachDigest(c, func(d *posthouse.Digest) error {
		if d.Template != t.Name {
			return nil
		}
		c.RefuseNew("text", "asks for ${%.60s}, and the digest %s, which uses this template, does not have that: want %s", name, d.Name, strings.Join(digest.Names(), ", "))
		return c.Wrong()
	})
}

// unmet is a name that a template needs and that no digest has, empty for none.
func unmet(t posthouse.Template) string {
	if t.Lenient {
		return "" // what it does not get stays as it is written
	}
	for _, name := range content.Variables(t) {
		if name != content.FieldPlatform && !slices.Contains(digest.Names(), name) {
			return name
		}
	}
	return ""
}
