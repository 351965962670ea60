package console

import (
	"cmp"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// folk is what the page of the console's people shows.
type folk struct {
	List     []posthouse.Person
	Added    posthouse.Person // of a form
	Role     posthouse.Role
	Link     *wire.PersonLink // of Added, which is shown this once
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a link that lets in.
func (f folk) Fleeting() bool { return f.Link != nil }

// Grantable are the roles that a form gives.
func (f folk) Grantable() []posthouse.Role { return posthouse.Roles() }

func showPeople(v *visit) error { return folk{Role: posthouse.RoleViewer}.draw(v, http.StatusOK) }

// draw shows everybody.
func (f folk) draw(v *visit, status int) (err error) {
	if f.List, err = v.call().People.List(v.ctx()); err != nil {
		return err
	}
	return v.draw(status, "people", "people", f)
}

// addPerson makes a person with a role in the tenant of the page, and the link by which that person comes in.
func addPerson(v *visit) error {
	f := folk{Added: posthouse.Person{Name: v.form("name"), Title: v.form("title")}, Role: posthouse.Role(v.form("role"))}
	ctx := withNote(v.ctx(), v.form("note"))
	_, err := v.call().People.Get(ctx, cmp.Or(f.Added.Name, "-"))
	switch {
	case err == nil:
		f.Problems = problemAt("name", say("person_there", v.zh))
		return f.draw(v, http.StatusConflict)
	case f.Added.Name == "":
		f.Problems = problemAt("name", say("wish_no_name", v.zh))
		return f.draw(v, http.StatusUnprocessableEntity)
	}
	_, err = v.call().People.Put(ctx, f.Added.Name, wire.PutPerson{Title: f.Added.Title, Roles: map[string]posthouse.Role{v.tenant: f.Role}})
	if err != nil {
		if f.Problems = refusalOf(err, "name"); f.Problems == nil {
			return err
		}
		return f.draw(v, http.StatusUnprocessableEntity)
	}
	return f.link(v)
}

// linkPerson makes another link for a person who is there.
func linkPerson(v *visit) error {
	p, err := v.call().People.Get(v.ctx(), v.r.PathValue("name"))
	if err != nil {
		return err
	}
	return folk{Added: p, Role: posthouse.RoleViewer}.link(v)
}

func (f folk) link(v *visit) error {
	link, err := v.call().People.Link(v.ctx(), f.Added.Name)
	if err != nil {
		return err
	}
	f.Link = &link
	return f.draw(v, http.StatusOK)
}

// ring is what the page of keys shows.
type ring struct {
	List     []posthouse.Key
	Name     string
	Scope    posthouse.Scope
	New      *wire.NewKey // which is shown this once
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a secret.
func (r ring) Fleeting() bool { return r.New != nil }

// Scopes are those that a form gives. A key of an agent is made with the agent.
func (r ring) Scopes() []posthouse.Scope {
	return []posthouse.Scope{posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin}
}

func showKeys(v *visit) error { return ring{Scope: posthouse.ScopeSend}.draw(v, http.StatusOK) }

func (r ring) draw(v *visit, status int) (err error) {
	if r.List, err = v.call().Keys.List(v.ctx()); err != nil {
		return err
	}
	return v.draw(status, "keys", "keys", r)
}

// addKey makes a key of the tenant and shows its secret, this once.
func addKey(v *visit) error {
	r := ring{Name: v.form("name"), Scope: posthouse.Scope(v.form("scope"))}
	made, err := v.call().Keys.Create(withNote(v.ctx(), v.form("note")), wire.Key{Name: r.Name, Scope: r.Scope, Note: v.form("note")})
	if err == nil {
		r.New, r.Name = &made, ""
		return r.draw(v, http.StatusOK)
	}
	if r.Problems = refusalOf(err, "name"); r.Problems == nil {
		return err
	}
	return r.draw(v, http.StatusUnprocessableEntity)
}
