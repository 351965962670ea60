package console_test

import (
	"fmt"
	"net/http"
	"net/url"
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
