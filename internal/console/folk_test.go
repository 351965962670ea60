package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
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
	if got := h.ask("admin", at+"people/zhao.min/link", url.Values{}); got.status != http.StatusOK || !strings.Contains(got.body, "/console/enter?link=") {
		t.Errorf("another link: %d", got.status)
	}
	key := h.ask("admin", at+"keys", url.Values{"name": {"crm"}, "scope": {"send"}})
	_, secret, _ := strings.Cut(key.body, `data-copy="`)
	secret, _, _ = strings.Cut(secret, `"`)
	if key.status != http.StatusOK || len(secret) < 20 || strings.Contains(h.page("admin", at+"keys"), secret) {
		t.Errorf("a key: %d %q", key.status, secret)
	}
	for path, form := range map[string]url.Values{"people": form, "keys": {"name": {"x"}, "scope": {"admin"}}, "people/zhao.min/link": {}} {
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
	which := h.upload("sender", at+"/preview", "people.csv", "a,b\nx,y\n")
	h.shows(which.body, "Which column has the address?")
	if got := h.upload("sender", at+"/preview", "people.xls", "\xd0\xcf\x11\xe0...."); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a workbook of old Excel: %d", got.status)
	}
	var c struct{ People posthouse.Audience }
	if h.api("GET", "/v1/campaigns/spring", "", &c); c.People.Members != 0 || c.People.Offset != 0 {
		t.Errorf("a look has imported %+v", c.People)
	}
}
