package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

const atBook = "/console/t/default/directory"

// The directory shows where each person is reached, and finds who is not.
func TestTheDirectoryFindsWhoHasNoAddress(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/sms", `{"driver":"discard"}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜","type":"branch","roles":["planner","it"],"addresses":{"sms":"13800138000"}},{"id":"wang.fang","name":"<b>","addresses":{"mail":"w@example.com"}},{"id":"sun.li","roles":["it"]}]}`, nil)
	h.shows(h.page("viewer", atBook), "sms: 13800138000", "&lt;b&gt;", "mail: w@example.com", "no address", "<option>sms</option>", "?role=planner")
	for query, want := range map[string][3]bool{ // li.na, wang.fang, sun.li
		"q=LI": {true, false, true}, "q=13800138000": {true, false, false}, "q=李": {true, false, false}, "role=it": {true, false, true}, "role=it&lacks=sms": {false, false, true},
		"lacks=sms": {false, true, true}, "lacks=*": {false, false, true}, "lacks=other&q=wang": {false, true, false}, "q=%3Cb": {false, true, false},
	} {
		page := h.page("viewer", atBook+"?"+query)
		for i, id := range []string{"li.na", "wang.fang", "sun.li"} {
			if got := strings.Contains(page, "<code>"+id+"</code>"); got != want[i] {
				t.Errorf("%s shows %s: %v", query, id, got)
			}
		}
	}
	h.shows(h.page("viewer", atBook+"?role=none"), "Nobody was found")
	if page := h.page("operator", atBook); strings.Contains(page, "Preview") {
		t.Error("an operator gets the form")
	}
}

// A CSV shows what it would change, and is stored once, with those who are not in it or without.
func TestTheDirectoryIsImportedAfterALook(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"},{"id":"wang.fang"},{"id":"sun.li"}]}`, nil)
	users := func() map[string]posthouse.User {
		t.Helper()
		var page wire.Page[posthouse.User]
		h.api("GET", "/v1/users", "", &page)
		out := map[string]posthouse.User{}
		for _, u := range page.Items {
			out[u.ID] = u
		}
		return out
	}
	store := func(form url.Values, seen ...string) {
		t.Helper()
		before := len(users())
		look := h.ask("admin", atBook, form)
		h.shows(look.body, append(seen, "What it will change")...)
		if len(users()) != before {
			t.Fatal("a look has stored it")
		}
		_, rest, _ := strings.Cut(look.body, `name="confirm" value="`)
		confirm, _, _ := strings.Cut(rest, `"`)
		form.Set("sure", "1")
		if got := h.ask("admin", atBook, form); got.status != http.StatusConflict {
			t.Errorf("without what was seen: %d", got.status)
		}
		form.Set("confirm", confirm)
		form.Set("note", "from the bank")
		if got := h.ask("admin", atBook, form); got.to() != atBook+"?said=stored" {
			t.Fatalf("storing: %d\n%s", got.status, got.body)
		}
		if got := h.ask("admin", atBook, form); got.status != http.StatusConflict {
			t.Errorf("a second click: %d", got.status)
		}
	}
	csv := "id,name,roles,sms\nli.na,李娜,it,13800138000\nzhao.min,赵敏,,\nwang.fang,,,\n"
	store(url.Values{"csv": {csv}}, "New: <strong>1</strong> <small>zhao.min", "Changed: <strong>1</strong> <small>li.na", "Stay as they are: 1")
	if got := users(); len(got) != 4 || got["li.na"].Addresses["sms"] != "13800138000" {
		t.Errorf("stored: %+v", got)
	}
	other := "id,name,roles,badcol\nli.na,李娜,it,x\n"
	h.shows(h.ask("admin", atBook, url.Values{"csv": {other}}).body, "Users who get an address on <strong>badcol</strong>: 1", "Users who lose their address on <strong>sms</strong>: 1", "there is no channel")
	store(url.Values{"csv": {csv}, "prune": {"1"}}, "Deleted: <strong>1</strong> <small>sun.li")
	if got := users(); len(got) != 3 {
		t.Errorf("replaced: %+v", got)
	}
	h.shows(h.ask("admin", atBook, url.Values{"csv": {csv}}).body, "Nothing would change")
	for want, text := range map[string]string{`class="bad wrong">choose a file`: "", "line 2": "id,roles\n,it\n", "<code>": "id\xff\nx"} {
		got := h.ask("admin", atBook, url.Values{"csv": {text}})
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, want) {
			t.Errorf("%q: %d, want %q\n%s", text, got.status, want, got.body)
		}
	}
	if got := h.ask("operator", atBook, url.Values{"csv": {csv}}); got.status != http.StatusForbidden {
		t.Errorf("an operator imports: %d", got.status)
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?key=person:admin&action=users.put", "", &log)
	if len(log.Items) != 2 || log.Items[0].Note != "from the bank" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}
