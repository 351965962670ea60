package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// tour are the pages of a tenant, and a text of each while there is nothing.
var tour = map[string]string{
	"": "posthouse channel set console", "search": "curl http", "goto": "Notifications", "goto?q=x": "Search for", "compose": "There is no channel yet", "attention": "Nothing needs attention", "channels": "There is no channel yet", "campaigns": "posthouse campaign",
	"presets": "Feishu robot", "fronts": "posthouse front add", "templates": "There is no template yet", "rosters": "There is no roster yet", "phones": "posthouse agent add", "directory": "The directory is empty", "quiet": "What would start in these hours waits", "tasks": "No task", "reminders": "posthouse remind add", "notifications": "There is no notification", "routes": "There is no route yet", "digests": "There is no digest yet", "suppressions": "No address is suppressed", "suppressions/gone@example.com": "This address is not suppressed", "outbox": "No row of the outbox", "audit": "posthouse audit", "keys": "test", "settings": "does not say its settings", "doctor": "posthouse doctor", "subscriptions": "No address is told", "tenants": "see nothing of each other", "tenants/default": "Mandatory kinds", "new-tenant": "Name of the tenant", "new-template": "Name of the template", "people": "operator", "system": "sqlite",
}

// Each page is there in both languages, empty and full, and says what to do next while it is empty.
func TestEveryPageIsThere(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	chinese := func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }
	for path, text := range tour {
		h.shows(h.page("admin", "/console/t/default/"+path), text, `lang="en"`)
		h.shows(h.page("admin", "/console/t/default/"+path, chinese), `lang="zh-CN"`, "<h1>")
	}
	h.waiting("hello")
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty: ${name}"}`, nil)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","limits":[{"max":7,"per":"1m"}]}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"}}`, nil)
	for path, text := range map[string]string{
		"": "for the test", "?wall=1": "Leave the wall", "goto?q=OUT": `href="/console/t/default/channels/out"`, "goto?q=spr": `href="/console/t/default/campaigns/spring"`, "?span=quarter": "90 days", "search": "u1", "channels": "discard", "channels/later": "for the test", "channels/out": "7 a minute",
		"campaigns": "spring", "campaigns?state=draft": `class="row" href="/console/t/default/campaigns/spring"`, "campaigns?state=running": "Nothing was found", "campaigns/spring": "draft", "templates": "Duty: ${name}", "audit": "channels.pause", "campaigns/spring?address=o1": "Nothing was found",
	} {
		h.shows(h.page("operator", "/console/t/default/"+path), text)
	}
	if got := h.ask("viewer", "/console/t/default/channels/none", nil); got.status != http.StatusNotFound {
		t.Errorf("a channel that is not there: %d", got.status)
	}
	for path, to := range map[string]string{"/console/": "/console/t/default/", "/console/lang/zh?back=/console/me": "/console/me"} {
		if got := h.ask("viewer", path, nil); got.to() != to {
			t.Errorf("%s leads to %q", path, got.to())
		}
	}
	h.shows(h.page("nothing", "/console/"), "You have a role in no tenant")
}

func TestAChannelIsPausedAndResumedWithItsReason(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	at := "/console/t/default/channels/out"
	if got := h.ask("viewer", at+"/pause", url.Values{"reason": {"x"}}); got.status != http.StatusForbidden {
		t.Errorf("a viewer pauses: %d", got.status)
	}
	if got := h.ask("operator", at+"/pause", url.Values{"reason": {"平台维护"}}); got.to() != at+"?said=paused_said" {
		t.Errorf("pausing: %d", got.status)
	}
	h.shows(h.page("viewer", at+"?said=paused_said"), "平台维护", "The channel is paused")
	if got := h.ask("operator", at+"/resume", url.Values{"reason": {"done"}, "pause": {"0001-01-01T00:00:00Z 平台维护"}}); got.to() != at+"?said=resumed_said" {
		t.Errorf("resuming: %d", got.status)
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?target=out&key=person:operator", "", &log)
	if len(log.Items) != 2 || log.Items[1].Note != "平台维护" || log.Items[0].Note != "done" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// A pause has a reason, and ends by itself: after a length, in the morning, or at a moment that is still to come. On the page of the system
// it is no fault.
func TestAPauseHasAReasonAndAnEnd(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	const at = "/console/t/default/channels/out"
	_, rest, _ := strings.Cut(h.page("operator", at), `<option value="20`)
	morning, _, _ := strings.Cut("20"+rest, `"`)
	for _, form := range []url.Values{
		{"reason": {"  "}}, {"reason": {"x"}, "for": {"7s"}}, {"reason": {"x"}, "for": {"2020-01-01T08:00:00Z"}}, {"reason": {"x"}, "until": {"2020-01-01T08:00"}}, {"reason": {"x"}, "until": {"soon"}},
	} {
		if got := h.ask("operator", at+"/pause", form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Nothing was paused") {
			t.Errorf("%v: %d to %q", form, got.status, got.to())
		}
	}
	for _, form := range []url.Values{{"reason": {"x"}, "for": {morning}}, {"reason": {"x"}, "until": {"2099-01-02T03:04"}, "for": {"1h"}}} {
		if got := h.ask("operator", at+"/pause", form); got.to() != at+"?said=paused_said" {
			t.Fatalf("%v: %d\n%s", form, got.status, got.body)
		}
		var ch posthouse.Channel
		if h.api("GET", "/v1/channels/out", "", &ch); ch.StateUntil.Format(time.RFC3339) != morning && ch.StateUntil.UTC().Format(time.RFC3339) != "2099-01-01T19:04:00Z" && ch.StateUntil.UTC().Format(time.RFC3339) != morning {
			t.Errorf("%v: until %s", form, ch.StateUntil)
		}
		h.shows(h.page("viewer", "/console/t/default/system"), `<span class="state paused">paused</span>`)
		h.api("POST", "/v1/channels/out/resume", "", nil)
	}
}

// A page that refreshes a part of itself is loaded anew when its campaign is in another state: its buttons stand outside of the part.
func TestButtonsGoWithTheStateOfACampaign(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"}}`, nil)
	const at = "/console/t/default/campaigns/spring"
	seeing := func(state string) string {
		return h.ask("admin", at, nil, func(r *http.Request) { r.Header.Set("HX-Request", "true"); r.Header.Set("Posthouse-Seen", state) }).header.Get("HX-Refresh")
	}
	if got := seeing("draft"); got != "" {
		t.Errorf("a page that shows what is so is loaded anew: %q", got)
	}
	if got := seeing("running"); got != "true" {
		t.Errorf("a page whose campaign runs no more is not loaded anew: %q", got)
	}
}

// All that a page lists is ticked at once, without JavaScript too.
func TestAllOfAPageAreTicked(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	h.settle("cancelled", "expired")
	const at = "/console/t/default/attention?state=expired"
	page := h.page("operator", at)
	h.shows(page, `data-all="id"`, `href="?picked=1&amp;state=expired"`)
	if n := strings.Count(page, " checked>"); n != 0 {
		t.Errorf("%d are ticked", n)
	}
	if n := strings.Count(h.page("operator", at+"&picked=1"), `checked></td>`); n != 2 {
		t.Errorf("%d of 2 are ticked", n)
	}
	if strings.Contains(h.page("viewer", at), "data-all") {
		t.Error("who decides nothing ticks")
	}
}

// Deliveries that ended badly are chosen, looked at and sent again, once.
func TestManyAreDecidedAfterALook(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	ids := h.settle("cancelled", "expired")
	at := "/console/t/default/attention"
	h.shows(h.page("operator", at+"?state=expired"), ids[0], ids[1], "Preview")
	form := url.Values{"state": {"expired"}, "outcome": {"replay"}, "id": ids, "note": {"n"}}
	h.shows(h.ask("operator", at, form).body, "What it will do", "<strong>2</strong>")
	if list := h.deliveries("pending"); len(list) != 0 {
		t.Errorf("a look has made %d deliveries", len(list))
	}
	if got := h.ask("operator", at, url.Values{"state": {"expired"}, "outcome": {"replay"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("nothing chosen: %d", got.status)
	}
	if got := h.ask("viewer", at, form); got.status != http.StatusForbidden {
		t.Errorf("a viewer decides: %d", got.status)
	}
	form.Set("sure", "1")
	h.shows(h.ask("operator", at, form).body, "Decided: 2")
	h.shows(h.ask("operator", at, form).body, "Decided: 0 · left alone, because they had changed: 2")
	if list := h.deliveries("pending"); len(list) != 2 {
		t.Errorf("%d are sent again, want 2", len(list))
	}
}

// All that a filter selects is decided as it was counted; what came later stops the decision.
func TestAFilterDecidesAboutWhatWasCounted(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	h.settle("cancelled", "expired")
	at := "/console/t/default/attention"
	form := url.Values{"state": {"expired"}, "channel": {"out"}, "outcome": {"replay"}, "all": {"1"}}
	confirm := confirmIn(h.ask("operator", at, form).body)
	form.Set("sure", "1")
	for _, wrong := range []string{confirm + "x", strings.Replace(confirm, "2-", "3-", 1)} {
		form.Set("confirm", wrong)
		if got := h.ask("operator", at, form); got.status/100 != 4 {
			t.Errorf("a count that does not fit, %q: %d", wrong, got.status)
		}
	}
	form.Set("confirm", confirm)
	h.shows(h.decided(h.ask("operator", at, form)), "2 / 2", "Decided: 2", "all at once or one by one")
}

// confirmIn is what confirms the count on a page.
func confirmIn(page string) string {
	_, rest, _ := strings.Cut(page, `name="confirm" value="`)
	confirm, _, _ := strings.Cut(rest, `"`)
	return confirm
}

// decided is the page of a decision about many when it has ended.
func (h *house) decided(led reply) string {
	h.Helper()
	at := led.to()
	_, id, ok := strings.Cut(at, "/decisions/")
	if !ok {
		h.Fatalf("the decision leads to %q: %d\n%s", at, led.status, led.body)
	}
	for d := (wire.Decision{State: wire.DecisionRunning}); d.State == wire.DecisionRunning; {
		h.api("GET", "/v1/decisions/"+id, "", &d)
	}
	return h.page("viewer", at)
}

// What is unknown gets a person's word: one from its page, the rest of the channel by a filter, each once.
func TestAPersonsWordOnWhatIsUnknown(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","on_unknown":"hold"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"},{"user":"u3"}],"content":{"text":"x"}}`, nil)
	h.exec("UPDATE posthouse_queue SET state = 'unknown', reason = 'no_answer', attempts = 1, started_at = 1, due_at = 0, lease_until = 0")
	list := h.deliveries("unknown")
	if len(list) != 3 {
		t.Fatalf("%d are unknown, want 3", len(list))
	}
	at, one := "/console/t/default/attention", "/console/t/default/deliveries/"+list[0].ID
	h.shows(h.page("operator", one), "It arrived", "It did not arrive: send it again")
	h.shows(h.page("operator", at), "out · no_answer</a> × 3")
	form := url.Values{"state": {"unknown"}, "outcome": {"sent"}, "note": {"rang up"}}
	if got := h.ask("operator", one+"/resolve", form); got.to() != one+"?said=resolved" {
		t.Errorf("resolving: %d\n%s", got.status, got.body)
	}
	if got := h.ask("operator", one+"/resolve", form); got.status != http.StatusConflict {
		t.Errorf("a second click: %d", got.status)
	}
	h.shows(h.page("viewer", one), `state sent`, "decided")
	all := url.Values{"state": {"unknown"}, "channel": {"out"}, "outcome": {"not_sent"}, "all": {"1"}}
	look := h.ask("operator", at, all).body
	h.shows(look, "<strong>2</strong>", "Count as failed")
	all.Set("sure", "1")
	all.Set("confirm", confirmIn(look))
	first := h.ask("operator", at, all)
	h.shows(h.decided(first), "2 / 2", "Decided: 2", "reason=operator_not_sent")
	if again := h.ask("operator", at, all); again.to() != first.to() {
		t.Errorf("a second click begins another decision: %d, to %q", again.status, again.to())
	}
	h.shows(h.page("viewer", "/console/t/default/decisions"), "Count as failed", "2 / 2", "operator")
	if n := len(h.deliveries("failed")); n != 2 {
		t.Errorf("%d failed, want 2", n)
	}
}

// settle ends what waits in one state, and says in the database that it was another: nothing of a test runs out of time.
func (h *house) settle(as, state string) []string {
	h.Helper()
	var list []posthouse.Delivery
	for _, d := range h.deliveries("pending") {
		if list == nil {
			h.api("POST", "/v1/messages/"+d.Message+"/cancel", "", nil)
		}
		list = append(list, d)
	}
	h.exec("UPDATE posthouse_settled SET state = '" + state + "' WHERE state = '" + as + "'")
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func (h *house) deliveries(state string) []posthouse.Delivery {
	h.Helper()
	var list struct{ Items []posthouse.Delivery }
	h.api("GET", "/v1/deliveries?state="+state, "", &list)
	return list.Items
}

// What went wrong inside is not shown.
func TestAnErrorShowsNothingOfItsCause(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.exec("ALTER TABLE posthouse_passes RENAME TO gone")
	got := h.ask("viewer", "/console/t/default/search", nil)
	if got.status != http.StatusInternalServerError || strings.Contains(got.body, "posthouse_passes") {
		t.Errorf("got %d\n%s", got.status, got.body)
	}
	h.shows(got.body, "An error that should not be")
}

// What a decision about many let go is taken back from its page, after a look, by who may decide; what cannot be undone offers nothing.
func TestADecisionAboutManyIsTakenBack(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard","on_unknown":"hold"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","to":[{"user":"u1"},{"user":"u2"}],"content":{"text":"x"}}`, nil)
	h.exec("UPDATE posthouse_queue SET state = 'unknown', reason = 'no_answer', attempts = 1, started_at = 1, due_at = 0, lease_until = 0")
	decide := func(outcome string) string {
		t.Helper()
		form := url.Values{"state": {"unknown"}, "channel": {"out"}, "outcome": {outcome}, "all": {"1"}}
		look := h.ask("operator", "/console/t/default/attention", form).body
		form.Set("sure", "1")
		form.Set("confirm", confirmIn(look))
		led := h.ask("operator", "/console/t/default/attention", form)
		h.decided(led)
		return led.to()
	}
	at := decide("retry")
	h.shows(h.page("operator", at), "2 / 2", `action="`+at+`/undo"`, "waits for a person again", "At most: <strong>2</strong>")
	if page := h.page("viewer", at); strings.Contains(page, at+"/undo") {
		t.Error("a viewer is offered to take a decision back")
	}
	if got := h.ask("viewer", at+"/undo", url.Values{"note": {"x"}}); got.status != http.StatusForbidden {
		t.Errorf("a viewer takes a decision back: %d", got.status)
	}
	led := h.ask("operator", at+"/undo", url.Values{"note": {"too early"}})
	h.shows(h.decided(led), "Undo of a decision", "2 / 2", at, "attention?channel=out&amp;state=unknown")
	if n := len(h.deliveries("unknown")); n != 2 {
		t.Errorf("%d are unknown again, want 2", n)
	}
	page := h.page("operator", at)
	h.shows(page, "Undone by", led.to())
	if strings.Contains(page, at+"/undo") {
		t.Error("a decision that was taken back offers it again")
	}
	h.shows(h.page("operator", "/console/t/default/decisions"), "Undo of a decision", "Send again")
	sent := decide("sent")
	if page := h.page("operator", sent); strings.Contains(page, sent+"/undo") || !strings.Contains(page, "cannot be undone") {
		t.Error("what counts as arrived is offered to be taken back")
	}
	if got := h.ask("operator", sent+"/undo", url.Values{}); got.status != http.StatusConflict || !strings.Contains(got.body, "count as arrived") {
		t.Errorf("taking back what arrived: %d", got.status)
	}
}

// A form does not end a pause that was made after its page was opened.
func TestAPauseAfterThePageWasOpenedStays(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{"reason":"first"}`, nil)
	const at = "/console/t/default/channels/out"
	held := regexp.MustCompile(`name="pause" value="([^"]*)"`)
	seen := func(page string) url.Values {
		found := held.FindStringSubmatch(h.page("operator", page))
		if found == nil {
			t.Fatalf("%s has no form that ends the pause", page)
		}
		return url.Values{"pause": {found[1]}}
	}
	old := seen(at)
	h.api("POST", "/v1/channels/out/resume", "", nil)
	h.api("POST", "/v1/channels/out/pause", `{"reason":"do not resume"}`, nil)
	if got := h.ask("operator", at+"/resume", old); got.status != http.StatusConflict || !strings.Contains(got.body, "do not resume") {
		t.Errorf("the old form: %d\n%s", got.status, got.body)
	}
	h.api("POST", "/v1/channels/out/pause", `{}`, nil) // without a reason
	if got := h.ask("operator", at+"/resume", seen("/console/t/default/channels")); got.to() != at+"?said=resumed_said" {
		t.Errorf("the new form: %d, to %q", got.status, got.to())
	}
}
