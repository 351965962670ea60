package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A person is added and a key made by forms of administrators alone; link and secret are shown once, and kept by no page.
func TestPeopleAndKeysByForms(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const at = "/console/t/default/"
	form := url.Values{"name": {"zhao.min"}, "title": {"赵敏"}, "role": {"viewer"}}
	made := h.ask("admin", at+"people", form)
	if made.status != http.StatusOK || !strings.Contains(made.body, "/console/enter?link=") {
		t.Fatalf("adding a person: %d\n%s", made.status, made.body)
	}
	var p posthouse.Person
	if h.api("GET", "/v1/people/zhao.min", "", &p); p.Title != "赵敏" || p.Roles["default"] != posthouse.RoleViewer {
		t.Errorf("the person is %+v", p)
	}
	if page := h.page("admin", at+"people"); strings.Contains(page, "enter?link=") || !strings.Contains(page, "zhao.min") {
		t.Errorf("the page afterwards:\n%s", page)
	}
	seen := func() string { return found(t, h.page("admin", at+"people/zhao.min"), `name="state" value="([^"]+)"`) }
	if got := h.ask("admin", at+"people/zhao.min/link", url.Values{"state": {seen()}}); got.status != http.StatusOK || !strings.Contains(got.body, "/console/enter?link=") {
		t.Errorf("another link: %d", got.status)
	}
	key := h.ask("admin", at+"keys", url.Values{"name": {"crm"}, "scope": {"send"}})
	_, secret, _ := strings.Cut(key.body, `data-copy="`)
	secret, _, _ = strings.Cut(secret, `"`)
	if key.status != http.StatusOK || len(secret) < 20 || strings.Contains(h.page("admin", at+"keys"), secret) {
		t.Errorf("a key: %d %q", key.status, secret)
	}
	h.changesAPerson(at, seen)
	for path, form := range map[string]url.Values{"people": form, "people/zhao.min/roles": {}, "people/zhao.min/disable": {}, "people/zhao.min/reset-totp": {}, "keys": {"name": {"x"}, "scope": {"admin"}}, "people/zhao.min/link": {}} {
		if got := h.ask("sender", at+path, form); got.status != http.StatusForbidden {
			t.Errorf("%s as a sender: %d", path, got.status)
		}
	}
	if got := h.ask("admin", at+"people", form); got.status < 400 {
		t.Errorf("a name that is taken: %d", got.status)
	}
	if got := h.ask("admin", at+"people", url.Values{"name": {"a/b"}, "role": {"viewer"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a name that is none: %d", got.status)
	}
}

// changesAPerson gives another role, keeps the person out and lets the person in again, each over what the page showed.
func (h *house) changesAPerson(at string, seen func() string) {
	h.Helper()
	one := at + "people/zhao.min"
	old := seen()
	for _, c := range []struct {
		action string
		form   url.Values
		want   posthouse.Person
	}{
		{"roles", url.Values{"title": {"赵敏"}, "role.default": {"operator"}}, posthouse.Person{Title: "赵敏", Roles: map[string]posthouse.Role{"default": posthouse.RoleOperator}}},
		{"disable", url.Values{}, posthouse.Person{Title: "赵敏", Roles: map[string]posthouse.Role{"default": posthouse.RoleOperator}, Disabled: true}},
		{"enable", url.Values{}, posthouse.Person{Title: "赵敏", Roles: map[string]posthouse.Role{"default": posthouse.RoleOperator}}},
	} {
		c.form.Set("state", seen())
		if got := h.ask("admin", one+"/"+c.action, c.form); got.to() != one+"?said=stored" {
			h.Errorf("%s: %d\n%s", c.action, got.status, got.body)
		}
		var p posthouse.Person
		h.api("GET", "/v1/people/zhao.min", "", &p)
		if p.Title != c.want.Title || p.Disabled != c.want.Disabled || p.Roles["default"] != c.want.Roles["default"] {
			h.Errorf("after %s the person is %+v", c.action, p)
		}
	}
	if got := h.ask("admin", one+"/roles", url.Values{"state": {old}}); got.status != http.StatusConflict {
		h.Errorf("over another state: %d", got.status)
	}
	if got := h.ask("admin", one+"/roles", url.Values{"state": {seen()}, "role.default": {"boss"}}); got.status != http.StatusUnprocessableEntity {
		h.Errorf("a role that there is not: %d", got.status)
	}
	if got := h.ask("admin", one+"/reset-totp", url.Values{"state": {seen()}}); got.status != http.StatusOK || !strings.Contains(got.body, "/console/enter?link=") {
		h.Errorf("one-time codes turned off: %d", got.status)
	}
	me := at + "people/admin"
	if got := h.ask("admin", me+"/roles", url.Values{"state": {found(h.TB, h.page("admin", me), `name="state" value="([^"]+)"`)}}); got.status != http.StatusUnprocessableEntity {
		h.Errorf("an administrator takes the own role: %d", got.status)
	}
}

// A key is rotated and revoked by form: the new one is shown once, the old one stays valid as long as the form says.
func TestAKeyIsRotatedAndRevoked(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	var old, made wire.NewKey
	h.api("POST", "/v1/keys", `{"name":"crm","scope":"send","channels":["desk"]}`, &old)
	const list = "/console/t/default/keys"
	one := list + "/" + old.ID
	h.shows(h.page("admin", list), `class="row" href="`+one+`"`, "narrowed")
	h.shows(h.page("admin", one), "sends messages", "desk", `action="`+one+`/rotate"`)
	if got := h.ask("admin", one+"/rotate", url.Values{"overlap": {"1y"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a length that is not offered: %d", got.status)
	}
	got := h.ask("admin", one+"/rotate", url.Values{"overlap": {"1h"}, "note": {"yearly"}})
	made.Secret = found(t, got.body, `data-copy="([^"]+)"`)
	h.shows(got.body, "stays valid until")
	for _, key := range []string{old.Secret, made.Secret} {
		if status, body := h.status(key, "GET", "/v1/channels/none", ""); status == http.StatusUnauthorized {
			t.Errorf("within the overlap a key is refused: %s", body)
		}
	}
	if strings.Contains(h.page("admin", one), made.Secret) {
		t.Error("the secret is shown twice")
	}
	if got := h.ask("admin", one+"/revoke", url.Values{}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("revoked without a tick: %d", got.status)
	}
	if got := h.ask("admin", one+"/revoke", url.Values{"sure": {"1"}}); got.to() != list+"?said=key_revoked_said" {
		t.Errorf("revoked: %d\n%s", got.status, got.body)
	}
	if status, _ := h.status(old.Secret, "GET", "/v1/channels/none", ""); status != http.StatusUnauthorized {
		t.Errorf("a revoked key: %d", status)
	}
	h.shows(h.page("admin", one, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "已吊销")
}

// A look at a file shows how it would be read, and imports nobody.
func TestAFileIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // makes the channel
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	const at = "/console/t/default/campaigns/spring"
	got := h.upload("sender", at+"/preview", "people.csv", "\xd0\xd5\xc3\xfb;\xca\xd6\xbb\xfa\xba\xc5\n\xd5\xc5\xc8\xfd;13800138000\n") // GBK
	if got.status != http.StatusOK {
		t.Fatalf("the look: %d\n%s", got.status, got.body)
	}
	h.shows(got.body, "gbk (as found)", `<option value="手机号" selected>`, "<td>13800138000</td>")
	wide := h.upload("sender", at+"/preview", "people.csv", "\xfe\xff\x00t\x00e\x00l\x00\n\x001\x003\x008\x000\x000\x001\x003\x008\x000\x000\x000\x00\n")
	h.shows(wide.body, "utf-16be (as found)", "<td>13800138000</td>")
	which := h.upload("sender", at+"/preview", "people.csv", "a,b\nx,y\n")
	h.shows(which.body, "Which column has the address?")
	if got := h.upload("sender", at+"/preview", "people.xls", "\xd0\xcf\x11\xe0...."); got.status != http.StatusOK || !strings.Contains(got.body, "workbook of old Excel") { // a browser calls an error in its console what a look finds
		t.Errorf("a workbook of old Excel: %d", got.status)
	}
	h.shows(h.upload("sender", at+"/preview", "people.csv", "phone,n\n13800138000,#N/A\n").body, "which count as empty: 1</p>", "<td></td>")
	var c struct{ People posthouse.Audience }
	if h.api("GET", "/v1/campaigns/spring", "", &c); c.People.Members != 0 || c.People.Offset != 0 {
		t.Errorf("a look has imported %+v", c.People)
	}
}
