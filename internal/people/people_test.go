package people

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// quick is a hasher that costs next to nothing.
func quick() *hasher {
	h := &hasher{cost: cost{memory: 8, passes: 1, lanes: 1}, slots: make(chan struct{}, 1)}
	h.empty = format(h.cost, make([]byte, saltBytes), make([]byte, sumBytes))
	return h
}

func TestAPasswordFitsItsOwnHashAlone(t *testing.T) {
	t.Parallel()
	h := quick()
	hash, err := h.hash(t.Context(), "correct horse 电池")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatalf("got %q, %v", hash, err)
	}
	again, _ := h.hash(t.Context(), "correct horse 电池")
	if again == hash {
		t.Error("two hashes of a password are the same")
	}
	for name, c := range map[string]struct {
		hash, password string
		want           bool
	}{
		"the password":             {hash, "correct horse 电池", true},
		"another":                  {hash, "correct horse", false},
		"none":                     {hash, "", false},
		"nobody's":                 {"", "correct horse 电池", false},
		"one that is far too long": {hash, strings.Repeat("x", maxPassword+1), false},
	} {
		if fits, err := h.fits(t.Context(), c.hash, c.password); fits != c.want || err != nil {
			t.Errorf("%s: got %v, %v", name, fits, err)
		}
	}
}

func TestAHashThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"x", "$argon2i$v=19$m=8,t=1,p=1$AA$AA", "$argon2id$v=19$m=99999999,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=8,t=0,p=1$AAAA$AAAA"} {
		if fits, err := quick().fits(t.Context(), hash, "p"); fits || err == nil {
			t.Errorf("%q: got %v, %v", hash, fits, err)
		}
	}
}

// The usual cost is what the documentation says.
func TestTheUsualCost(t *testing.T) {
	t.Parallel()
	if got := usualCost(); got != (cost{memory: 19456, passes: 2, lanes: 1}) {
		t.Errorf("got %+v", got)
	}
}

// Each role reaches what the ones before it reach, and in its own tenants only.
func TestWhatRolesReach(t *testing.T) {
	t.Parallel()
	uses := map[string]struct {
		use   web.Use
		least posthouse.Role
	}{
		"look at deliveries":  {web.Use{Scope: posthouse.ScopeRead, Action: "deliveries.read"}, posthouse.RoleViewer},
		"read the audit log":  {web.Use{Scope: posthouse.ScopeAdmin, Action: "audit.read"}, posthouse.RoleOperator},
		"resolve":             {web.Use{Scope: posthouse.ScopeAdmin, Action: "deliveries.resolve"}, posthouse.RoleOperator},
		"cancel a message":    {web.Use{Scope: posthouse.ScopeSend, Action: "messages.cancel"}, posthouse.RoleOperator},
		"swap a duty":         {web.Use{Scope: posthouse.ScopeAdmin, Action: "rosters.override"}, posthouse.RoleOperator},
		"change a roster":     {web.Use{Scope: posthouse.ScopeAdmin, Action: "rosters.put"}, posthouse.RoleAdmin},
		"pause a channel":     {web.Use{Scope: posthouse.ScopeAdmin, Action: "channels.pause"}, posthouse.RoleOperator},
		"send":                {web.Use{Scope: posthouse.ScopeSend, Action: "messages.create"}, posthouse.RoleSender},
		"start a campaign":    {web.Use{Scope: posthouse.ScopeSend, Action: "campaigns.start"}, posthouse.RoleSender},
		"query a database":    {web.Use{Scope: posthouse.ScopeAdmin, Action: "campaigns.query"}, posthouse.RoleAdmin},
		"import followers":    {web.Use{Scope: posthouse.ScopeSend, Action: "audiences.followers"}, posthouse.RoleSender},
		"set up a channel":    {web.Use{Scope: posthouse.ScopeAdmin, Action: "channels.put"}, posthouse.RoleAdmin},
		"look at keys":        {web.Use{Scope: posthouse.ScopeAdmin, Action: "keys.read", Whole: true}, posthouse.RoleAdmin},
		"make keys":           {web.Use{Scope: posthouse.ScopeAdmin, Action: "keys.create", Whole: true}, posthouse.RoleAdmin},
		"change who comes in": {web.Use{Scope: posthouse.ScopeAdmin, Action: "people.put", Whole: true}, posthouse.RoleAdmin},
	}
	for name, c := range uses {
		reached := false
		for _, role := range posthouse.Roles() {
			reached = reached || role == c.least
			p := posthouse.Person{Name: "p", Roles: map[string]posthouse.Role{"t1": role}}
			key, ok := KeyOf(p, "t1")
			if got := ok && web.Permit(key, c.use) == nil; got != reached {
				t.Errorf("%s as %s: got %v, want %v", name, role, got, reached)
			}
			if key.Tenant != "t1" || key.ID != "person:p" {
				t.Errorf("the key is %+v", key)
			}
			if key, ok := KeyOf(p, "t2"); ok {
				t.Errorf("in another tenant the role is %+v", key)
			}
		}
	}
	for _, role := range posthouse.Roles() {
		key, _ := KeyOf(posthouse.Person{Name: "p", Roles: map[string]posthouse.Role{"t1": role}}, "t1")
		if got := key.May(posthouse.GrantMentionAll); got != (role == posthouse.RoleAdmin) {
			t.Errorf("whether %s may call everybody: %v", role, got)
		}
	}
	if key, ok := KeyOf(posthouse.Person{Name: "p", Roles: map[string]posthouse.Role{"t1": "boss"}}, "t1"); ok {
		t.Errorf("a role that is not known reaches %+v", key)
	}
}

// A password is judged by how soon it is guessed, not by its length alone.
func TestWhatIsEasyToGuessIsNoPassword(t *testing.T) {
	t.Parallel()
	for password, good := range map[string]bool{
		"1234567890": false, "password123": false, "qwertyuiop": false, "zhangsan1990": false, "Posthouse1": false, "aaaaaaaaaaaaaaaa": false, "2026-11-26": false,
		"short": false, "九个汉字不够长的吧": false, strings.Repeat("x7", 600): false, "zhang.san.admin": false, "ZHANG.SAN.ADMIN": false,
		"correct horse battery": true, "wK8#rT2!vQ": true, "驿站里有三匹白马": false, "驿站里有三匹白马和一头驴": true, strings.Repeat("pelican ladder ", 20): true,
	} {
		if why := weak(password, "zhang.san.admin", "张三"); (why == "") != good {
			t.Errorf("%.40q: got %q, want it taken: %v", password, why, good)
		}
	}
}

// A name that an identity provider or an administrator gives is no step of a path, no key's name, and reads as it is.
func TestWhatCannotBeAName(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"zhang.san": true, "张三": true, "z@b.example": true, "...": true, "personal": true,
		"": false, ".": false, "..": false, "person:admin": false, "a/b": false, " a": false, "a\n": false, "a\u202enimda": false, "a\u200bdmin": false, "\u2066a\u2069": false,
		"\xff": false, strings.Repeat("x", 65): false,
	} {
		if why := BadName(name); (why == "") != good {
			t.Errorf("%q: got %q", name, why)
		}
	}
	if got := titleOf("Zhang\u202e San\u2028"); got != "Zhang San" {
		t.Errorf("the title is %q", got)
	}
}
