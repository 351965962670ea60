// Package people is the resource of those who use the console: who there is, with which roles, and the links that let them in.
// It stands apart from package api, as the desk it talks to does.
package people

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	persons "github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// Store keeps people.
type Store interface {
	People(ctx context.Context, cursor string, limit int) (list []posthouse.Person, next string, err error)
	Person(ctx context.Context, name string) (p posthouse.Person, hash string, err error)
	PutPerson(ctx context.Context, now time.Time, p posthouse.Person) (stored posthouse.Person, created bool, err error)
	DeletePerson(ctx context.Context, now time.Time, name string) error
	EndSessions(ctx context.Context, now time.Time, person string) (n int, err error)
	ChangeTOTP(ctx context.Context, now time.Time, person string, change func(f *work.TOTP, now time.Time) error) error
}

// Links makes links that let in once.
type Links interface {
	Link(ctx context.Context, name string) (path string, ends time.Time, err error)
}

type people struct {
	store Store
	links Links
}

var putBody = web.BodyOf[wire.PutPerson]().Loose()

// Routes are the addresses of people.
func Routes(store Store, links Links) []web.Route {
	const admin = posthouse.ScopeAdmin
	p := people{store, links}
	return web.Tagged("people",
		web.Get("/v1/people", admin, "List who may use the console, by name. All of this needs a key of the tenant default.", p.list).Paged().Whole(),
		web.Get("/v1/people/{name}", admin, "One person.", p.get).Whole(),
		web.Put("/v1/people/{name}", admin, "Make a person, or replace title, roles and whether the person is kept out.", putBody, p.put).Answers(http.StatusOK, http.StatusCreated).Whole(),
		web.Delete("/v1/people/{name}", admin, "Delete a person. Sessions and links end at once.", p.remove).Whole(),
		web.Act("/v1/people/{name}/link", admin, "Make a link by which the person signs in to the console, once and within a day.", p.link).Answers(http.StatusCreated).Whole(),
		web.Act("/v1/people/{name}/reset-totp", admin, "Turn a person's one-time codes off: for a phone that is lost. Without any it does nothing.", p.resetTOTP).Whole(),
		web.Act("/v1/people/{name}/sign-out", admin, "End all sessions and links of a person.", p.signOut).Whole(),
	)
}

// rules is an error for callers of other tenants: a person can have roles in several, so who may change people could become
// any of them.
func rules(c *web.Call) error {
	if c.Tenant() == posthouse.DefaultTenant {
		return nil
	}
	if name := c.PathValue("name"); name != "" { // whether there is one or not
		return posthouse.Errorf(posthouse.CodeNotFound, "there is no person %.80q for this key: people are looked after with keys of the tenant %s", name, posthouse.DefaultTenant)
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "people are looked after with keys of the tenant %s: this one's is %.80s", posthouse.DefaultTenant, c.Tenant())
}

func (p people) list(c *web.Call) (wire.Page[posthouse.Person], error) {
	cursor, limit, err := c.Page()
	if err == nil {
		err = rules(c)
	}
	if err != nil {
		return wire.Page[posthouse.Person]{}, err
	}
	weight := func(one *posthouse.Person) int { return 512 + 200*len(one.Roles) }
	list, next, err := read.Gather(cursor, limit, weight, func(cursor string, limit int) ([]posthouse.Person, string, error) {
		return p.store.People(c.Context(), cursor, limit)
	})
	if list == nil {
		list = []posthouse.Person{}
	}
	return wire.Page[posthouse.Person]{Items: list, Next: next}, err
}

func (p people) get(c *web.Call) (posthouse.Person, error) {
	if err := rules(c); err != nil {
		return posthouse.Person{}, err
	}
	found, _, err := p.store.Person(c.Context(), c.PathValue("name"))
	return found, err
}

func (p people) put(c *web.Call, in wire.PutPerson) (posthouse.Person, error) {
	if err := rules(c); err != nil {
		return posthouse.Person{}, err
	}
	name := c.PathValue("name")
	c.CheckName("name", name)
	if why := persons.BadName(name); why != "" {
		c.RefuseNew("name", "%s", why)
	}
	c.CheckWord("title", in.Title, 255)
	checkRoles(c, in.Roles)
	if err := c.Wrong(); err != nil {
		return posthouse.Person{}, err
	}
	if err := p.keepsOne(c, name, in); err != nil {
		return posthouse.Person{}, err
	}
	before, _, err := p.store.Person(c.Context(), name)
	if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
		return before, err
	}
	stored, created, err := p.store.PutPerson(c.Context(), time.Now(), posthouse.Person{Name: name, Title: in.Title, Roles: in.Roles, Disabled: in.Disabled})
	if err != nil {
		return stored, err
	}
	c.Changed(before, stored)
	if created {
		c.Status = http.StatusCreated
		c.Changed(nil, stored)
	}
	return stored, nil
}

// keepsOne refuses that a person takes the own way in: nobody locks themselves out by a slip.
func (p people) keepsOne(c *web.Call, name string, in wire.PutPerson) error {
	if !itself(c, name) || !in.Disabled && in.Roles[posthouse.DefaultTenant] == posthouse.RoleAdmin {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeConflict, "you would lock yourself out: another administrator does that")
}

// itself reports whether a person asks about the own name.
func itself(c *web.Call, name string) bool { return c.Key.ID == "person:"+name }

func checkRoles(c *web.Call, roles map[string]posthouse.Role) {
	for tenant, role := range roles {
		at := "roles." + tenant
		c.CheckName(at, tenant)
		if !slices.Contains(posthouse.Roles(), role) {
			c.RefuseNew(at, "%s", channel.Want(role, posthouse.Roles()))
		}
	}
}

func (p people) remove(c *web.Call) error {
	before, err := p.get(c)
	if err != nil {
		return err
	}
	if itself(c, before.Name) {
		return posthouse.Errorf(posthouse.CodeConflict, "you would lock yourself out: another administrator does that")
	}
	c.Changed(before, nil)
	return p.store.DeletePerson(c.Context(), time.Now(), before.Name)
}

func (p people) link(c *web.Call) (wire.PersonLink, error) {
	found, err := p.get(c)
	if err != nil {
		return wire.PersonLink{}, err
	}
	path, ends, err := p.links.Link(c.Context(), found.Name)
	return wire.PersonLink{Path: path, EndsAt: ends.UTC()}, err
}

func (p people) resetTOTP(c *web.Call) (posthouse.Person, error) {
	found, err := p.get(c)
	if err != nil {
		return found, err
	}
	before := found
	found.TOTP = false
	c.Changed(before, found)
	return found, p.store.ChangeTOTP(c.Context(), time.Now(), found.Name, func(f *work.TOTP, _ time.Time) error {
		*f = work.TOTP{Step: f.Step} // a code that was taken stays taken
		return nil
	})
}

func (p people) signOut(c *web.Call) (wire.SignedOut, error) {
	found, err := p.get(c)
	if err != nil {
		return wire.SignedOut{}, err
	}
	n, err := p.store.EndSessions(c.Context(), time.Now(), found.Name)
	c.Affected(n)
	return wire.SignedOut{Ended: n}, err
}
