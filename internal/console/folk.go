package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// folk is what the page of the console's people shows.
type folk struct {
	List     []posthouse.Person
	Next     string
	Added    posthouse.Person // of a form
	Role     posthouse.Role
	Link     *wire.PersonLink // of Added, which is shown this once
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a link that lets in.
func (f folk) Fleeting() bool { return f.Link != nil }

// Grantable are the roles that a form gives.
func (f frame) Grantable() []posthouse.Role { return posthouse.Roles() }

func showPeople(v *visit) error { return folk{Role: posthouse.RoleViewer}.draw(v, http.StatusOK) }

// draw shows everybody.
func (f folk) draw(v *visit, status int) error {
	list, err := v.call().People.List(v.ctx())
	if err != nil {
		return err
	}
	f.List, f.Next = cut(v, list, boardLength)
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
	link, err := v.call().People.Link(v.ctx(), f.Added.Name)
	if err != nil {
		return err
	}
	f.Link = &link
	return f.draw(v, http.StatusOK)
}

// personLife is what the page of a person shows.
type personLife struct {
	posthouse.Person
	Tenants  []string // in which the form gives a role
	Myself   bool     // it is the person who looks
	Link     *wire.PersonLink
	Problems []posthouse.Problem
}

// Fleeting says that nothing keeps a page with a link that lets in.
func (p personLife) Fleeting() bool { return p.Link != nil }

// In is the role in a tenant, empty for none.
func (p personLife) In(tenant string) posthouse.Role { return p.Roles[tenant] }

// Seen tells a person as the page shows it from the person as somebody else has changed it since.
func (p personLife) Seen() string { return seenAs(p.Title, p.Roles, p.Disabled, p.TOTP) }

// seenAs is a mark of values that a page shows: a form that carries it changes nothing else.
func seenAs(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func showPerson(v *visit) error { return drawPerson(v, http.StatusOK, personLife{}) }

// drawPerson fills in the person whom the address names.
func drawPerson(v *visit, status int, p personLife) (err error) {
	if p.Person, err = v.call().People.Get(v.ctx(), v.r.PathValue("name")); err != nil {
		return err
	}
	list, err := v.call().Tenants.List(v.ctx())
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, t := range list[:min(len(list), mostRoles)] {
		named[t.Name] = true
	}
	for name := range p.Roles { // also one that is not there any more
		named[name] = true
	}
	p.Tenants, p.Myself = slices.Sorted(maps.Keys(named)), p.Name == v.person.Name
	return v.draw(status, "person", "people", p)
}

// mostRoles bounds the tenants in which a form gives a role.
const mostRoles = 200

// onPerson does what a form of the page says, where the person is still as the page showed.
func onPerson(act func(ctx context.Context, v *visit, p posthouse.Person) error) func(*visit) error {
	return func(v *visit) error {
		p, err := v.call().People.Get(v.ctx(), v.r.PathValue("name"))
		if err != nil {
			return err
		}
		if v.form("state") != (personLife{Person: p}).Seen() {
			return posthouse.Errorf(posthouse.CodeConflict, "the person was changed meanwhile")
		}
		err = act(withNote(v.ctx(), v.form("note")), v, p)
		if problems := refusalOf(err, "roles"); problems != nil {
			return drawPerson(v, http.StatusUnprocessableEntity, personLife{Problems: problems})
		}
		return err
	}
}

// personActs are the decisions about a person by their names.
func personActs() map[string]func(*visit) error {
	put := func(change func(v *visit, in *wire.PutPerson)) func(*visit) error {
		return onPerson(func(ctx context.Context, v *visit, p posthouse.Person) error {
			in := wire.PutPerson{Title: p.Title, Roles: maps.Clone(p.Roles), Disabled: p.Disabled}
			if change(v, &in); in.Roles == nil {
				in.Roles = map[string]posthouse.Role{}
			}
			if _, err := v.call().People.Put(ctx, p.Name, in); err != nil {
				return err
			}
			return v.goTo(v.at("people", p.Name) + "?said=stored")
		})
	}
	return map[string]func(*visit) error{
		"roles": put(func(v *visit, in *wire.PutPerson) {
			in.Title, in.Roles = v.form("title"), map[string]posthouse.Role{}
			for name := range v.r.PostForm {
				if tenant, ok := strings.CutPrefix(name, "role."); ok && v.form(name) != "" {
					in.Roles[tenant] = posthouse.Role(v.form(name))
				}
			}
		}),
		"disable": put(func(_ *visit, in *wire.PutPerson) { in.Disabled = true }),
		"enable":  put(func(_ *visit, in *wire.PutPerson) { in.Disabled = false }),
		"link":    onPerson(linkPerson),
		"reset-totp": onPerson(func(ctx context.Context, v *visit, p posthouse.Person) error {
			if _, err := v.call().People.ResetTOTP(ctx, p.Name); err != nil {
				return err
			}
			if p.Disabled { // a link lets nobody in who is kept out
				return v.goTo(v.at("people", p.Name) + "?said=stored")
			}
			return linkPerson(ctx, v, p)
		}),
		"sign-out": onPerson(func(ctx context.Context, v *visit, p posthouse.Person) error {
			if _, err := v.call().People.SignOut(ctx, p.Name); err != nil {
				return err
			}
			return v.goTo(v.at("people", p.Name) + "?said=signed_out_said")
		}),
	}
}

// linkPerson makes another link for a person who is there, which is shown this once.
func linkPerson(ctx context.Context, v *visit, p posthouse.Person) error {
	link, err := v.call().People.Link(ctx, p.Name)
	if err != nil {
		return err
	}
	return drawPerson(v, http.StatusOK, personLife{Link: &link})
}
