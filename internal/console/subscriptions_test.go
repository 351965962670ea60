package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// An address is told by a form, which shows its secret once; its page tests, pauses, resumes and deletes it.
func TestAnAddressIsToldAndTestedByItsPages(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-signature") == "" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(hook.Close)
	h := open(t, false, func(o *server.Options) { o.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	const at = "/console/t/default/subscriptions"
	bad := h.ask("admin", at, url.Values{"url": {"ftp://x"}, "batch": {"2"}, "types": {"notification.not_told"}, "callbacks": {"callback.x"}})
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("an address that is none: %d", bad.status)
	}
	h.shows(bad.body, `data-problem="url"`, `value="ftp://x"`, `value="notification.not_told" checked`, `value="delivery.sent"/>`, ">callback.x\n")
	h.shows(h.ask("admin", at, url.Values{"url": {hook.URL}, "batch": {"many"}}).body, `data-problem="batch"`, "want a whole number")
	made := h.ask("admin", at, url.Values{"url": {hook.URL}, "description": {"the shop"}, "channels": {"out\r\n"}, "types": {"delivery.failed", "notification"}, "callbacks": {"callback.template_card_event\r\n"}})
	h.shows(made.body, "whsec_", "shown this once")
	if strings.Contains(h.page("admin", at), "whsec_") {
		t.Error("the secret is shown again")
	}
	var list struct{ Items []wire.Subscription }
	h.api("GET", "/v1/subscriptions", "", &list)
	if len(list.Items) != 1 || strings.Join(list.Items[0].Types, " ") != "delivery.failed notification callback.template_card_event" || list.Items[0].Description != "the shop" || list.Items[0].Channels[0] != "out" {
		t.Fatalf("there is %+v", list.Items)
	}
	one := at + "/" + list.Items[0].ID
	h.shows(h.page("viewer", at), "the shop", `href="`+one+`"`)
	if page := h.page("viewer", one); strings.Contains(page, one+"/test") || strings.Contains(page, one+"/pause") {
		t.Error("a viewer is offered what a role does not reach")
	}
	h.shows(h.ask("admin", one+"/test", url.Values{}).body, ">taken<")
	act := func(role, verb, state string) reply { return h.ask(role, one+"/"+verb, url.Values{"state": {state}}) }
	if got := act("operator", "pause", "active"); got.to() != one+"?said=changed_said" {
		t.Errorf("it is paused: %d %s", got.status, got.body)
	}
	if got := act("operator", "pause", "active"); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	if got := act("operator", "resume", "paused"); got.to() != one+"?said=changed_said" {
		t.Errorf("it goes on: %d", got.status)
	}
	turned := h.ask("admin", one+"/rotate", url.Values{"state": {"active"}, "overlap": {"1h"}})
	h.shows(turned.body, "whsec_", "shown this once", "1h")
	if turned.body == made.body || strings.Contains(h.page("admin", one), "whsec_") {
		t.Error("the new secret is the old one, or is shown again")
	}
	h.shows(h.ask("admin", one+"/test", url.Values{}).body, ">taken<")
	for form, want := range map[string]string{"soon": "want a day and a time", "": "want a day and a time", "2099-01-01T00:00": "want a time that has passed"} {
		h.shows(h.ask("admin", one+"/replay", url.Values{"state": {"active"}, "since": {form}}).body, `data-problem="since"`, want)
	}
	past := time.Now().Add(-time.Minute).Format("2006-01-02T15:04")
	if got := h.ask("admin", one+"/replay", url.Values{"state": {"active"}, "since": {past}}); got.to() != one+"?said=sub_replayed_said" {
		t.Errorf("it is told again: %d %s", got.status, got.body)
	}
	if got := act("operator", "rotate", "active"); got.status != http.StatusForbidden {
		t.Errorf("an operator rotates: %d", got.status)
	}
	if got := h.ask("admin", one+"/delete", url.Values{"sure": {"1"}}); got.to() != at+"?said=removed_said" {
		t.Errorf("it is deleted: %d", got.status)
	}
}
