package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The field at the top leads to pages in either language, and to things by a part of their name; who may not see a page is not led to it.
func TestTheFieldAtTheTopLeadsToPagesAndThings(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("PUT", "/v1/channels/night-alerts", `{"driver":"discard","title":"夜间告警"}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"li.na","name":"李娜"}]}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"night-shift","channel":"later","content":{"text":"x"}}`, nil)
	for i := range 60 { // beyond the newest, whose names are looked through
		h.api("POST", "/v1/campaigns", fmt.Sprintf(`{"name":"c%d","channel":"later","content":{"text":"x"}}`, (i+40)%60), nil)
	}
	chinese := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	const at = `href="/console/t/default/`
	for _, e := range []struct{ who, words, link string }{
		{"viewer", "", at + "channels"}, {"viewer", "群发", at + "campaigns"}, {"viewer", "CAMPAIGN", at + "campaigns"}, {"admin", "审计", at + "audit"},
		{"viewer", "Night", at + "channels/night-alerts"}, {"viewer", "夜间", at + "channels/night-alerts"}, {"viewer", "night-shift", at + "campaigns/night-shift"},
		{"viewer", "李", at + "directory/li.na"}, {"viewer", "li.n", at + "directory/li.na"}, {"viewer", id, at + "deliveries/" + id},
		{"viewer", "<b>", at + "search?q=%3Cb%3E"}, {"viewer", "　c59 ", at + "campaigns/c59"}, {"viewer", "c1", at + "campaigns/c1"}, // behind the five newest with that in their names
	} {
		for _, got := range []string{h.page(e.who, "/console/t/default/goto?q="+url.QueryEscape(e.words)), h.page(e.who, "/console/t/default/goto?q="+url.QueryEscape(e.words), chinese)} {
			if main := got[strings.Index(got, `<ul class="goals">`):]; !strings.Contains(main, e.link+`"`) || strings.Contains(main, "<b>") {
				t.Errorf("%q leads a %s to %s, want %s", e.words, e.who, main, e.link)
			}
		}
	}
	if got := h.page("viewer", "/console/t/default/goto?q=audit"); strings.Contains(got, at+"audit") {
		t.Error("a viewer is led to the audit log")
	}
}

// What is called as one types comes first, and the search last. The end of an id, as lists show it, leads nowhere, and both say so.
func TestTheFieldAtTheTopPutsTheSearchLast(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("PUT", "/v1/channels/channel", `{"driver":"discard"}`, nil) // the page of channels has that in its name too
	links := func(words string) (list []string) {
		_, rest, _ := strings.Cut(h.page("admin", "/console/t/default/goto?q="+url.QueryEscape(words)), `<ul class="goals">`)
		rest, _, _ = strings.Cut(rest, "</ul>")
		for _, part := range strings.Split(rest, `href="/console/t/default/`)[1:] {
			link, _, _ := strings.Cut(part, `"`)
			list = append(list, link)
		}
		return list
	}
	if got := links("channel"); len(got) < 3 || got[0] != "channels/channel" || !slices.Contains(got, "channels") || got[len(got)-1] != "search?q=channel" {
		t.Errorf("a name leads to %q", got)
	}
	const says = "Lists show the end of an id"
	tail := id[len(id)-8:]
	if !strings.ContainsAny(tail, "0123456789") {
		tail = "QFAW0001"
	}
	for _, page := range []string{"goto?q=" + tail, "search?q=" + strings.ToLower(tail)} {
		h.shows(h.page("admin", "/console/t/default/"+page), says)
	}
	for _, page := range []string{"goto?q=channel", "search?q=whatever", "search?q=12345", "search?q=" + id} {
		if got := h.ask("admin", "/console/t/default/"+page, nil); strings.Contains(got.body, says) {
			t.Errorf("%s is called the end of an id", page)
		}
	}
}

// On the wall there is what needs somebody and no menu; its title and that of the overview say how much it is.
func TestTheWallSaysWhatNeedsSomebody(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.waiting("hello") // by a channel that is paused
	for _, path := range []string{"", "?wall=1"} {
		got := h.page("viewer", "/console/t/default/"+path)
		h.shows(got, "<title>(1) ", `data-needs="1"`)
		if on := path != ""; strings.Contains(got, `data-theme="dark"`) != on || strings.Contains(got, `id="menu"`) == on || strings.Contains(got, `id="sound"`) != on {
			t.Errorf("%q is on the wall: want %t\n%s", path, on, got)
		}
	}
	if got := h.page("viewer", "/console/t/default/search?wall=1"); strings.Contains(got, `data-theme="dark"`) || strings.Contains(got, "<title>(") {
		t.Error("another page is on the wall")
	}
}
