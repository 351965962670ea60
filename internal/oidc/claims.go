package oidc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
)

// Grant gives people with a value of the role claim a role in a tenant.
type Grant struct {
	Value  string
	Tenant string
	Role   posthouse.Role
}

// ParseGrant reads VALUE=TENANT:ROLE.
func ParseGrant(text string) (g Grant, err error) {
	at := strings.LastIndex(text, "=") // values such as cn=ops,dc=bank have some too
	if at <= 0 {
		return g, fmt.Errorf("%q is no role: want VALUE=TENANT:ROLE, such as ops=default:operator", text)
	}
	tenant, role, _ := strings.Cut(text[at+1:], ":")
	g = Grant{text[:at], tenant, posthouse.Role(role)}
	if tenant == "" || !slices.Contains(posthouse.Roles(), g.Role) {
		return g, fmt.Errorf("%q is no role: want VALUE=TENANT:ROLE with one of %v", text, posthouse.Roles())
	}
	return g, nil
}

// claims are a provider's statements about a person.
type claims map[string]any

// at is a claim, or one within another, such as realm_access.roles; a name with dots of its own comes first.
func (c claims) at(name string) any {
	if v, ok := c[name]; ok {
		return v
	}
	outer, inner, dotted := strings.Cut(name, ".")
	if within, ok := c[outer].(map[string]any); ok && dotted {
		return claims(within).at(inner)
	}
	return nil
}

func (c claims) has(name string) bool { return c.at(name) != nil }

// words are the texts of a claim: of one text, or of a list.
func (c claims) words(name string) []string {
	switch v := c.at(name).(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

func (c claims) word(name string) string {
	text, _ := c.at(name).(string)
	return text
}

// identity makes an identity of a person's claims.
func (p *Provider) identity(subject string, said claims) (people.Identity, error) {
	who := people.Identity{Subject: p.o.Issuer + " " + subject, Name: said.word(p.o.NameClaim), Title: said.word("name"), Roles: map[string]posthouse.Role{}}
	if who.Name == "" {
		p.o.Log.Warn("a sign-in by OpenID Connect lacks the claim that names the person", "oidc_name_claim", p.o.NameClaim, "subject", subject)
		return who, posthouse.Errorf(posthouse.CodeForbidden, "the identity provider does not say how you are called: it has no claim %s", p.o.NameClaim)
	}
	for _, value := range said.words(p.o.RoleClaim) {
		for _, g := range p.o.Roles {
			if g.Value == value && rank(g.Role) > rank(who.Roles[g.Tenant]) {
				who.Roles[g.Tenant] = g.Role
			}
		}
	}
	if len(who.Roles) == 0 {
		return who, posthouse.Errorf(posthouse.CodeForbidden, "the identity provider gives you no role here: ask for one of the groups that oidc_roles names")
	}
	return who, nil
}

// rank orders roles: what is none comes first.
func rank(r posthouse.Role) int { return slices.Index(posthouse.Roles(), r) }
