package console_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Somebody asks for a user, sees why the delivery waits, and cancels it; a second click does nothing.
func TestFromTheSearchToADecision(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("PUT", "/v1/users", `{"users":[{"id":"u1","name":"张三","addresses":{"later":"13800000000"}}]}`, nil)
	for _, asked := range []string{"u1", "张三", "13800000000", "leave/4711"} {
		h.shows(h.page("viewer", "/console/t/default/search?q="+url.QueryEscape(asked)), id)
	}
	for _, asked := range []string{id, posthouse.MessageID(id)} {
		if got := h.ask("viewer", "/console/t/default/search?q="+asked, nil); got.status != http.StatusSeeOther {
			t.Errorf("the id %s is answered with %d", asked, got.status)
		}
	}
	h.shows(h.page("viewer", "/console/t/default/search?q=nobody"), "Nothing was found")
	at := "/console/t/default/deliveries/" + id
	seen := h.page("viewer", at)
	h.shows(seen, "for the test", "accepted", "hello")
	if strings.Contains(seen, "Cancel the message") {
		t.Error("a viewer is offered what a viewer may not do")
	}
	h.shows(h.page("viewer", at, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN,en;q=0.5") }), "正在等待：渠道已暂停：for the test。", "在等什么：渠道已暂停：for the test (paused)", "受理")
	h.shows(h.page("operator", at), "Cancel the message", "Not sent yet, of all its recipients: <strong>1 / 1</strong> · later")
	form := url.Values{"state": {"pending"}, "note": {"工单 4711"}}
	if got := h.ask("operator", at+"/cancel", form); got.to() != at+"?said=cancelled_said" {
		t.Errorf("the cancel: %d, to %q\n%s", got.status, got.to(), got.body)
	}
	if got := h.ask("operator", at+"/cancel", form); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	h.shows(h.page("viewer", at), "cancelled")
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?action=messages.cancel", "", &log)
	if len(log.Items) != 1 || log.Items[0].Key != "person:operator" || log.Items[0].Note != "工单 4711" || log.Items[0].Source != "192.0.2.1" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// All that a search finds is saved as a file: each delivery once, no cell a formula, and nothing of another tenant.
func TestASearchIsSavedAsAFile(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	for range 2 {
		h.waiting("hello")
		h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"=1+1"}],"content":{"text":"x"},"kind":"leave","ref":"9"}`, nil)
	}
	saved := func(role, at string) [][]string {
		got := h.ask(role, at, nil)
		text, marked := strings.CutPrefix(got.body, "\ufeff")
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if got.status != http.StatusOK || !marked || err != nil {
			t.Fatalf("%s is answered with %d, %v:\n%s", at, got.status, err, got.body)
		}
		return rows
	}
	const at = "/console/t/default/search"
	h.shows(h.page("viewer", at+"?q=u1"), `href="`+at+`.csv?q=u1"`)
	for query, want := range map[string]int{"": 4, "q=u1": 2, "q=leave/9": 2, "q==1%2B1&kind=leave": 2, "q=nobody": 0, "state=failed": 0, "channel=later": 4} {
		if got := saved("viewer", at+".csv?"+query); len(got) != want+1 {
			t.Errorf("%q finds %d: %q", query, len(got)-1, got)
		}
	}
	if got := saved("viewer", at+".csv?q=leave/9"); got[1][3] != "'=1+1" {
		t.Errorf("the user is written as %q", got[1][3])
	}
	if got := saved("other", "/console/t/other/search.csv"); len(got) != 1 {
		t.Errorf("another tenant saves %q", got)
	}
}

// What others wrote is shown as text.
func TestHostileTextsAreText(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	hostile := "<script>alert(1)</script>\u202egnp.exe'\"><img src=x onerror=alert(1)>😀"
	id := h.waiting(hostile)
	page := h.page("viewer", "/console/t/default/deliveries/"+id) + h.page("viewer", "/console/t/default/search?q="+url.QueryEscape(hostile))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
		t.Error("a text became a part of the page")
	}
	h.shows(page, "&lt;script&gt;alert(1)", "😀")
}

// What is another tenant's is answered as what is not there, to the letter.
func TestAnotherTenantsThingsAreNotThere(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	none := "0" + id[1:]
	for _, c := range [][2]string{
		{"/console/t/default/search", "/console/t/nowhere/search"},
		{"/console/t/default/deliveries/" + id, "/console/t/nowhere/deliveries/" + id},
		{"/console/t/other/deliveries/" + id, "/console/t/other/deliveries/" + none},
		{"/console/t/other/messages/" + posthouse.MessageID(id), "/console/t/other/messages/" + posthouse.MessageID(none)},
		{"/console/t/other/search?q=" + id, "/console/t/other/search?q=" + none},
	} {
		theirs, none := h.ask("other", c[0], nil), h.ask("other", c[1], nil)
		if theirs.status != none.status || without(theirs.body, c[0]) != without(none.body, c[1]) {
			t.Errorf("%s is answered with %d and %s with %d", c[0], theirs.status, c[1], none.status)
		}
		if theirs.status != http.StatusNotFound && !strings.Contains(theirs.body, "Nothing was found") {
			t.Errorf("%s is answered with %d", c[0], theirs.status)
		}
	}
	if got := h.ask("other", "/console/t/default/deliveries/"+id+"/cancel", url.Values{"state": {"pending"}}); got.status != http.StatusNotFound {
		t.Errorf("its cancel is answered with %d", got.status)
	}
}

// without is a page without the address and the words that were asked for.
func without(page, path string) string {
	page = regexp.MustCompile(`name="click" value="\w+"`).ReplaceAllString(page, "") // each drawing has its own
	_, asked, _ := strings.Cut(path, "?q=")
	for _, form := range []string{path, strings.NewReplacer("%2F", "%2f", "%3F", "%3f", "%3D", "%3d").Replace(url.QueryEscape(path)), strings.ReplaceAll(path, "=", "&#61;"), asked} {
		if form != "" {
			page = strings.ReplaceAll(page, form, "")
		}
	}
	return page
}
