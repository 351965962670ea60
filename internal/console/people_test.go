package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// status calls the API with a key, and returns the status and the answer.
func (h *house) status(key, method, path, body string) (int, string) {
	h.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	h.serve.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// People are looked after with keys of the tenant default: who could change them in another could become anybody.
func TestPeopleAreTheDefaultTenants(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	var other wire.NewKey
	h.api("PUT", "/v1/tenants/other", `{}`, nil)
	h.api("POST", "/v1/tenants/other/keys", `{"name":"theirs","scope":"admin"}`, &other)
	for _, c := range [][3]string{
		{"GET", "/v1/people", ""}, {"GET", "/v1/people/admin", ""}, {"PUT", "/v1/people/admin", `{"roles":{"default":"viewer"}}`}, {"DELETE", "/v1/people/admin", ""},
		{"POST", "/v1/people/admin/link", ""}, {"POST", "/v1/people/admin/sign-out", ""},
	} {
		want := http.StatusNotFound
		if c[1] == "/v1/people" {
			want = http.StatusForbidden
		}
		if got, body := h.status(other.Secret, c[0], c[1], c[2]); got != want {
			t.Errorf("%s %s by another tenant: %d %s", c[0], c[1], got, body)
		}
	}
	if got := h.ask("other", "/console/t/other/people", nil); got.status != http.StatusForbidden {
		t.Errorf("the page of people in another tenant: %d", got.status)
	}
	for body, want := range map[string]string{
		`{"roles":{"default":"boss"}}`: `"roles.default"`, `{"roles":{"a/b":"viewer"}}`: `"roles.a/b"`, `{"roles":{},"title":"a\nb"}`: `"title"`,
	} {
		if got, answer := h.status(h.key, "PUT", "/v1/people/zhang", body); got/100 != 4 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, got, answer)
		}
	}
	if got, answer := h.status(h.key, "PUT", "/v1/people/"+strings.Repeat("x", 65), `{"roles":{}}`); got/100 != 4 || !strings.Contains(answer, `"name"`) {
		t.Errorf("a long name: %d %s", got, answer)
	}
}

// A link that the API makes signs in, a role that changes counts at the next click, and who is kept out is out at once.
func TestARoleCountsAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/people/zhang", `{"title":"张三","roles":{"default":"viewer"}}`, nil)
	var link wire.PersonLink
	h.api("POST", "/v1/people/zhang/link", "", &link)
	in := h.ask("", "/console/enter", url.Values{"link": {strings.TrimPrefix(link.Path, "/console/enter?link=")}})
	session := sessionOf(t, in)
	page := func() int { return h.ask(session, "/console/t/default/audit", nil).status }
	h.shows(h.page(session, "/console/me"), "张三")
	if got := page(); got != http.StatusForbidden {
		t.Errorf("the audit log for a viewer: %d", got)
	}
	h.api("PUT", "/v1/people/zhang", `{"title":"张三","roles":{"default":"operator"}}`, nil)
	if got := page(); got != http.StatusOK {
		t.Errorf("for an operator: %d", got)
	}
	var ended wire.SignedOut
	h.api("POST", "/v1/people/zhang/sign-out", "", &ended)
	if got := page(); got != http.StatusSeeOther || ended.Ended != 1 {
		t.Errorf("after the sign-out of %d: %d", ended.Ended, got)
	}
	h.api("PUT", "/v1/people/zhang", `{"roles":{"default":"operator"},"disabled":true}`, nil)
	if got, body := h.status(h.key, "POST", "/v1/people/zhang/link", ""); got != http.StatusNotFound {
		t.Errorf("a link for who is kept out: %d %s", got, body)
	}
	var all struct{ Items []posthouse.Person }
	h.api("GET", "/v1/people", "", &all)
	if len(all.Items) != 7 {
		t.Errorf("there are %d people", len(all.Items))
	}
	if got, _ := h.status(h.key, "DELETE", "/v1/people/zhang", ""); got != http.StatusNoContent {
		t.Errorf("deleting: %d", got)
	}
}
