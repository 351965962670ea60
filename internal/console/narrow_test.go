package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A search offers what its newest rows have, with counts; what narrows it stands as chips that take it away again; and it is saved in the
// browser under a name.
func TestASearchOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"u2"},{"user":"u3"}],"content":{"text":"x"},"kind":"shift","ref":"1"}`, nil)
	const at = "/console/t/default/search"
	h.shows(h.page("viewer", at), `href="?state=pending">waits <span>3</span>`, `href="?channel=later">later <span>3</span>`, `href="?kind=leave">leave <span>1</span>`, `href="?kind=shift">shift <span>1</span>`, `href="?since=168h"`)
	page := h.page("viewer", at+"?state=pending&kind=shift")
	h.shows(page, `href="?kind=shift" aria-label="Take away State waits"`, `href="?state=pending" aria-label="Take away Kind shift"`, "Clear all")
	if strings.Contains(page, `<dt>State</dt>`) || strings.Contains(page, `<dt>Kind</dt>`) || rowsOf(page) != 2 {
		t.Errorf("what is chosen is offered again, or %d rows are found", rowsOf(page))
	}
	form := url.Values{"name": {"夜里等待的"}, "query": {"state=pending&kind=shift"}, "here": {at}}
	got := h.ask("viewer", at, form)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.to() != at+"?kind=shift&state=pending" || !strings.HasPrefix(cookie, "posthouse-views=") {
		t.Fatalf("saved: %d, to %q, with %q", got.status, got.to(), cookie)
	}
	with := func(r *http.Request) { r.Header.Add("Cookie", cookie) }
	h.shows(h.page("viewer", at, with), `<a href="?kind=shift&amp;state=pending">★ 夜里等待的</a>`)
	if got := h.ask("viewer", at, url.Values{"drop": {"0"}}, with); !strings.Contains(got.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("dropped: %q", got.header.Get("Set-Cookie"))
	}
	if got := h.ask("viewer", at, url.Values{"query": {"state=pending"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("without a name: %d", got.status)
	}
}

// A number is found in each form that people write it in, wide digits and spaces too.
func TestANumberIsFoundInItsOtherForms(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello")
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"address":"+8613800138002"},{"address":"13900139003"}],"content":{"text":"x"}}`, nil)
	for _, words := range []string{"13800138002", "+8613800138002", "138 0013 8002", "１３８００１３８００２", "+8613900139003", "13900139003"} {
		if page := h.page("viewer", "/console/t/default/search?q="+url.QueryEscape(words)); rowsOf(page) != 1 {
			t.Errorf("%s finds %d", words, rowsOf(page))
		}
	}
}
