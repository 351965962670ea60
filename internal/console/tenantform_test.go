package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

var versionIn = regexp.MustCompile(`name="version" value="([^"]*)"`)

// A tenant is made and changed by a form, over what the form showed alone; what stands on another page stays.
func TestATenantIsMadeAndChangedByAForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	const list, one = "/console/t/default/tenants", "/console/t/default/tenants/branch"
	made := url.Values{"name": {"branch"}, "for": {"the branch"}, "language": {"zh"}, "quota.requests": {"20/1s\r\n600/1m"}, "quota.open": {"500"}, "mandatory_kinds": {"alarm\r\n"}, "optional_kinds": {"news"}}
	bad := url.Values{"name": {"branch"}, "quota.requests": {"soon"}, "quota.open": {"many"}}
	got := h.ask("admin", "/console/t/default/new-tenant", bad)
	h.shows(got.body, "is not a limit such as 20/1s", "want a whole number", ">soon</textarea>")
	if got.status != http.StatusUnprocessableEntity {
		t.Errorf("what cannot be read: %d", got.status)
	}
	if got := h.ask("admin", "/console/t/default/new-tenant", made); got.to() != one+"?said=stored" {
		t.Fatalf("it is made: %d %s", got.status, got.body)
	}
	if got := h.ask("admin", "/console/t/default/new-tenant", made); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a second of its name: %d", got.status)
	}
	h.shows(h.page("admin", list), `href="`+one+`"`, "the branch", "600 a minute")
	h.api("PUT", "/v1/tenants/branch", `{"note":"the branch","quota":{"open":500},"mandatory_kinds":["alarm"],"caps":[{"max":3,"per":"24h"}]}`, nil)
	old := versionIn.FindStringSubmatch(h.page("admin", one))[1]
	change := url.Values{"version": {old}, "for": {"ours"}, "quota.mention_all": {"2"}, "mandatory_kinds": {"alarm"}}
	if got := h.ask("admin", one, change); got.to() != one+"?said=stored" {
		t.Fatalf("it is changed: %d %s", got.status, got.body)
	}
	var stored wire.Tenant
	h.api("GET", "/v1/tenants/branch", "", &stored)
	want := wire.PutTenant{Note: "ours", Quota: posthouse.Quota{MentionAll: 2}, MandatoryKinds: []string{"alarm"}, Caps: stored.Caps}
	if diff := cmp.Diff(want, wire.PutTenantOf(stored.Tenant)); diff != "" || len(stored.Caps) != 1 {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	change.Set("for", "theirs")
	late := h.ask("admin", one, change, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
	if late.status != http.StatusConflict {
		t.Errorf("over another state: %d", late.status)
	}
	h.shows(late.body, "在此期间有人修改", "<code>ours</code>", `value="theirs"`)
	h.keysAndDeletes(list)
}

// keysAndDeletes makes a tenant with its first key, gives it another, and deletes it once its name is typed and nothing is in the way.
func (h *house) keysAndDeletes(list string) {
	h.Helper()
	made := h.ask("admin", "/console/t/default/new-tenant", url.Values{"name": {"shop"}, "key": {"1"}, "key.name": {"first"}})
	first := found(h.TB, made.body, `data-copy="([^"]+)"`)
	if status, body := h.status(first, "PUT", "/v1/channels/theirs", `{"driver":"discard"}`); status/100 != 2 {
		h.Errorf("the first key: %d %s", status, body)
	}
	one := list + "/shop"
	if page := h.page("admin", one); strings.Contains(page, first) {
		h.Error("the key is shown again")
	}
	if got := h.ask("admin", one+"/keys", url.Values{"key.name": {"second"}, "scope": {"boss"}}); got.status != http.StatusUnprocessableEntity {
		h.Errorf("a scope that there is not: %d", got.status)
	}
	h.shows(h.ask("admin", one+"/keys", url.Values{"key.name": {"second"}, "scope": {"send"}}).body, "second", "shown this once")
	zh := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	h.shows(h.ask("admin", one+"/delete", url.Values{"typed": {"shops"}}, zh).body, "与名称不符", `value="shops"`)
	refused := h.ask("admin", one+"/delete", url.Values{"typed": {"shop"}}, zh)
	h.shows(refused.body, "请先删除，或勾选一并删除", "密钥: <strong>2</strong>", "渠道: <strong>1</strong>")
	if got := h.ask("admin", one+"/delete", url.Values{"typed": {"shop"}, "force": {"1"}}); got.to() != list+"?said=changed_said" {
		h.Errorf("it is deleted: %d %s", got.status, got.body)
	}
	if got := h.ask("admin", one, nil); got.status != http.StatusNotFound {
		h.Errorf("what was deleted is there: %d", got.status)
	}
	if got := h.ask("other", "/console/t/other/tenants/other/delete", url.Values{"typed": {"other"}}); got.status/100 != 4 {
		h.Errorf("an administrator of another tenant deletes it: %d", got.status)
	}
	if page := h.page("admin", list+"/default"); strings.Contains(page, "default/delete") {
		h.Error("the tenant default can be deleted")
	}
}
