package oidc

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/secret"
)

// provider is one that nobody has asked yet. A sign-in by a real one is tested in the module e2e.
func provider(t *testing.T, change func(*Options)) *Provider {
	t.Helper()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Issuer: "https://id.example", ClientID: "posthouse", Sealer: ring, Roles: []Grant{
		{"ops", "default", posthouse.RoleOperator}, {"boss", "default", posthouse.RoleAdmin}, {"ops", "branch", posthouse.RoleViewer}, {"cn=a,dc=b", "branch", posthouse.RoleSender},
	}}
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatClaimsAreWorth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said   string
		change func(*Options)
		want   people.Identity
		refuse string
	}{
		"the best role of each tenant": {
			said: `{"preferred_username":"zhang","name":"张三","groups":["ops","boss","tea"]}`,
			want: people.Identity{Name: "zhang", Title: "张三", Roles: map[string]posthouse.Role{"default": posthouse.RoleAdmin, "branch": posthouse.RoleViewer}},
		},
		"one text in place of a list": {
			said: `{"preferred_username":"zhang","groups":"cn=a,dc=b"}`,
			want: people.Identity{Name: "zhang", Roles: map[string]posthouse.Role{"branch": posthouse.RoleSender}},
		},
		"a claim within another": {
			said:   `{"email":"z@b.example","realm_access":{"roles":["ops"]}}`,
			change: func(o *Options) { o.NameClaim, o.RoleClaim = "email", "realm_access.roles" },
			want:   people.Identity{Name: "z@b.example", Roles: map[string]posthouse.Role{"default": posthouse.RoleOperator, "branch": posthouse.RoleViewer}},
		},
		"a claim whose name has dots": {
			said:   `{"preferred_username":"zhang","https://b.example/roles":["boss"]}`,
			change: func(o *Options) { o.RoleClaim = "https://b.example/roles" },
			want:   people.Identity{Name: "zhang", Roles: map[string]posthouse.Role{"default": posthouse.RoleAdmin}},
		},
		"no role":                {said: `{"preferred_username":"zhang","groups":["tea"]}`, refuse: "oidc_roles"},
		"no groups":              {said: `{"preferred_username":"zhang"}`, refuse: "oidc_roles"},
		"groups of another kind": {said: `{"preferred_username":"zhang","groups":{"ops":true}}`, refuse: "oidc_roles"},
		"numbers in a list":      {said: `{"preferred_username":"zhang","groups":[1,null,["boss"]]}`, refuse: "oidc_roles"},
		"no name":                {said: `{"groups":["ops"]}`, refuse: "preferred_username"},
		"a name that is none":    {said: `{"preferred_username":7,"groups":["ops"]}`, refuse: "preferred_username"},
	} {
		var said claims
		if err := json.Unmarshal([]byte(c.said), &said); err != nil {
			t.Fatal(err)
		}
		got, err := provider(t, c.change).identity("sub-1", said)
		if c.refuse != "" {
			if posthouse.CodeOf(err) != posthouse.CodeForbidden || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
			continue
		}
		c.want.Subject = "https://id.example sub-1"
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// What the browser carries counts with the state it was made for, for a while, and only as we made it.
func TestASignInBelongsToItsBrowser(t *testing.T) {
	t.Parallel()
	p := provider(t, nil)
	carry := func(f flow, place string) string {
		t.Helper()
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := p.o.Sealer.Seal(string(text), place)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	live := flow{State: "s1", Nonce: "n", Verifier: "v", Back: "/console/me", Ends: time.Now().Add(time.Hour)}
	over := live
	over.Ends = time.Now().Add(-time.Second)
	if f, err := p.flowOf(carry(live, place()), "s1"); err != nil || f.Back != "/console/me" {
		t.Errorf("the sign-in that was begun is %+v, %v", f, err)
	}
	for name, c := range map[string][2]string{
		"another state":             {carry(live, place()), "s2"},
		"no state":                  {carry(flow{Ends: live.Ends}, place()), ""},
		"one that is over":          {carry(over, place()), "s1"},
		"nothing":                   {"", "s1"},
		"what was not sealed":       {`{"state":"s1"}`, "s1"},
		"what was sealed otherwise": {carry(live, secret.AAD("totp", "admin")), "s1"},
		"what another key sealed":   {mustSeal(t, live), "s1"},
	} {
		if _, _, err := p.End(t.Context(), "https://x.example/cb", c[0], url.Values{"state": {c[1]}, "code": {"c"}}); posthouse.CodeOf(err) != posthouse.CodeUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := p.End(t.Context(), "https://x.example/cb", carry(live, place()), url.Values{"state": {"s1"}, "error": {"access_denied"}})
	if posthouse.CodeOf(err) != posthouse.CodeForbidden || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("a refusal of the provider: %v", err)
	}
}

// mustSeal seals a flow with another keyring.
func mustSeal(t *testing.T, f flow) string {
	t.Helper()
	ring, err := secret.New(secret.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(f)
	sealed, err := ring.Seal(string(text), place())
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	some := []Grant{{"ops", "default", posthouse.RoleViewer}}
	for want, o := range map[string]Options{
		"oidc_issuer is \"http://id.example\"": {Issuer: "http://id.example", ClientID: "c", Roles: some},
		"oidc_issuer is \"id.example\"":        {Issuer: "id.example", ClientID: "c", Roles: some},
		"oidc_client_id is missing":            {Issuer: "https://id.example", Roles: some},
		"oidc_roles is missing":                {Issuer: "https://id.example", ClientID: "c"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, local := range []string{"http://127.0.0.1:5556/dex", "http://localhost:8080", "http://[::1]:1"} {
		if _, err := New(Options{Issuer: local, ClientID: "c", Roles: some}); err != nil {
			t.Errorf("%s: %v", local, err)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	if g, err := ParseGrant("cn=ops,dc=bank=default:operator"); err != nil || g != (Grant{"cn=ops,dc=bank", "default", posthouse.RoleOperator}) {
		t.Errorf("got %+v, %v", g, err)
	}
	for _, text := range []string{"", "ops", "ops=", "ops=default", "ops=:admin", "ops=default:boss", "=default:admin"} {
		if g, err := ParseGrant(text); err == nil {
			t.Errorf("%q is %+v", text, g)
		}
	}
}
