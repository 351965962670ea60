package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// phone registers a phone of the pulled channel "pulled", and returns its key.
func (h *house) phone(id string) string {
	h.Helper()
	h.api("PUT", "/v1/channels/pulled", `{"driver":"discard","pull":true}`, nil)
	var made wire.NewAgent
	h.api("POST", "/v1/agents", fmt.Sprintf(`{"id":%q,"name":"柜台","channels":["pulled"],"capabilities":{"operator":"cmcc"},"limits":[{"max":7,"per":"1m"}]}`, id), &made)
	return made.Secret
}

// as calls with a phone's key.
func (h *house) as(key, path string, body, out any) {
	h.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}
	status, answer := h.status(key, "POST", path, string(text))
	if status/100 != 2 {
		h.Fatalf("%s: %d %s", path, status, answer)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(answer), out); err != nil {
			h.Fatal(err)
		}
	}
}

// A phone is registered by a form, which shows its key once.
func TestAPhoneIsRegisteredByAForm(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/pulled", `{"driver":"pull"}`, nil)
	const at = "/console/t/default/phones"
	bad := h.ask("admin", at, url.Values{"id": {"p"}, "channels": {"pulled"}, "limits": {"soon"}})
	if bad.status != http.StatusUnprocessableEntity {
		t.Errorf("windows that are none: %d", bad.status)
	}
	h.shows(bad.body, `data-problem="limits"`, ">soon</textarea>")
	if got := h.ask("admin", at, url.Values{"id": {"p"}, "channels": {"none"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("of a channel that is not there: %d", got.status)
	}
	form := url.Values{"id": {"p"}, "name": {"柜台"}, "channels": {"pulled\r\n"}, "limits": {"7/1m"}}
	made := h.ask("admin", at, form).body
	h.shows(made, "shown this once", "柜台")
	_, rest, _ := strings.Cut(made, `data-copy="`)
	key, _, _ := strings.Cut(rest, `"`)
	if status, _ := h.status(key, "GET", "/v1/agents/p", ""); status != http.StatusOK {
		t.Errorf("the key of the page is no key: %d", status)
	}
	if page := h.page("admin", at); strings.Contains(page, key) {
		t.Error("the key is shown again")
	} else {
		h.shows(page, "柜台", "7 a minute")
	}
	if got := h.ask("admin", at, form); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a second of its id: %d", got.status)
	}
	h.changesAPhone(at+"/p", key)
}

// changesAPhone gives a phone another name and other limits, over what its page showed, and another key.
func (h *house) changesAPhone(one, key string) {
	h.Helper()
	seen := func() string { return found(h.TB, h.page("admin", one), `name="seen" value="([^"]+)"`) }
	old := seen()
	change := url.Values{"seen": {old}, "name": {"前台"}, "channels": {"pulled"}, "limits": {"soon"}}
	h.shows(h.ask("admin", one, change).body, `data-problem="limits"`, ">soon</textarea>", `value="前台"`)
	change.Set("limits", "9/1m\r\nsoon")
	h.shows(h.ask("admin", one, change, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }).body, `第 2 行：&#34;soon&#34; 不是限流窗口；例如 20/1s`)
	change.Set("limits", "9/1m")
	if got := h.ask("admin", one, change); got.to() != one+"?said=stored" {
		h.Errorf("it is changed: %d %s", got.status, got.body)
	}
	if got := h.ask("admin", one, change); got.status != http.StatusConflict {
		h.Errorf("over another state: %d", got.status)
	}
	h.shows(h.page("viewer", one), "前台", "9 a minute")
	if got := h.ask("admin", one+"/key", url.Values{}); got.status != http.StatusUnprocessableEntity {
		h.Errorf("a key without a word on the old ones: %d", got.status)
	}
	got := h.ask("admin", one+"/key", url.Values{"old": {"revoke"}})
	fresh := found(h.TB, got.body, `data-copy="([^"]+)"`)
	for k, want := range map[string]int{key: http.StatusUnauthorized, fresh: http.StatusOK} {
		if status, body := h.status(k, "GET", "/v1/agents/p", ""); status != want {
			h.Errorf("a key of the phone: %d, want %d: %s", status, want, body)
		}
	}
	if got := h.ask("operator", one+"/key", url.Values{"old": {"keep"}}); got.status != http.StatusForbidden {
		h.Errorf("an operator makes a key: %d", got.status)
	}
}

// A phone's page says whether it is alive, what it holds, and what it reported last.
func TestAPhoneShowsWhatItHoldsAndReported(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	key := h.phone("phone-1")
	h.shows(h.page("viewer", "/console/t/default/phones"), "phone-1", "never seen", "7 a minute", "pulled")
	at := "/console/t/default/phones/phone-1"
	h.shows(h.page("viewer", at), "It holds nothing", "It has reported nothing", "operator: cmcc")
	h.api("POST", "/v1/messages", `{"channel":"pulled","to":[{"user":"u1","address":"13800138000"},{"user":"u2","address":"13800138001"}],"content":{"text":"x"}}`, nil)
	var got wire.Claimed
	h.as(key, "/v1/agents/phone-1/claims", wire.Claim{Max: 2, App: "sms-app/2.1"}, &got)
	if len(got.Handouts) != 2 {
		t.Fatalf("it was handed %+v", got)
	}
	one := got.Handouts[0]
	h.as(key, "/v1/agents/phone-1/start", wire.Holds{Handouts: []wire.Hold{{Delivery: one.Delivery, Token: one.Token}}}, nil)
	h.as(key, "/v1/agents/phone-1/report", posthouse.AgentReport{ReportID: "r-1", Delivery: one.Delivery, Token: one.Token, Outcome: posthouse.OutcomeNotSent, Error: "<no signal>"}, nil)
	h.exec(fmt.Sprintf("UPDATE posthouse_agents SET last_seen_at = %d", time.Now().UnixMicro())) // what a role notes some time later
	h.shows(h.page("viewer", at), "alive", got.Handouts[1].Delivery, "13800138001", "not yet", one.Delivery, "&lt;no signal&gt;", "not_sent")
	h.shows(h.page("viewer", at, chinese), "没有发出</td>", "已采纳</td>")
	h.shows(h.page("viewer", "/console/t/default/deliveries/"+one.Delivery, chinese), "没有发出 已采纳")
	h.shows(h.page("viewer", "/console/t/default/phones", func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "在线", "柜台", `#held">1</a>`)
	for chosen, there := range map[string]bool{"": true, "alive": true, "paused": false} {
		if page := h.page("viewer", "/console/t/default/phones?state="+chosen); strings.Contains(page, `class="row" href="`+at+`"`) != there {
			t.Errorf("narrowed to %q, the phone is listed: %t, want %t", chosen, !there, there)
		}
	}
	if got := h.ask("viewer", "/console/t/default/phones/none", nil); got.status != http.StatusNotFound {
		t.Errorf("a phone that is not there: %d", got.status)
	}
}

// An operator pauses, drains, resumes and empties a phone, once each, with a reason that the audit log has.
func TestAPhoneIsPausedDrainedResumedAndEmptied(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	key := h.phone("phone-1")
	h.api("POST", "/v1/messages", `{"channel":"pulled","to":[{"user":"u1","address":"13800138000"}],"content":{"text":"x"}}`, nil)
	h.as(key, "/v1/agents/phone-1/claims", wire.Claim{Max: 1}, nil)
	at := "/console/t/default/phones/phone-1"
	if page := h.page("viewer", at); strings.Contains(page, "<button>") {
		t.Error("a viewer gets buttons")
	}
	for _, c := range []struct{ action, state, then string }{
		{"pause", "active", "state paused\">paused"}, {"drain", "paused", "draining"}, {"resume", "draining", "state ok\">fetches"}, {"reassign", "active", "It holds nothing"},
	} {
		h.shows(h.page("operator", at), at+"/"+c.action, `name="state" value="`+c.state+`"`)
		form := url.Values{"state": {c.state}, "reason": {"because of " + c.action}}
		if got := h.ask("viewer", at+"/"+c.action, form); got.status != http.StatusForbidden {
			t.Errorf("a viewer does %s: %d", c.action, got.status)
		}
		if got := h.ask("operator", at+"/"+c.action, form); got.to() != at+"?said=changed_said" {
			t.Fatalf("%s: %d\n%s", c.action, got.status, got.body)
		}
		h.shows(h.page("operator", at+"?said=changed_said"), c.then, "It is done.")
		if got := h.ask("operator", at+"/"+c.action, form); c.action != "reassign" && got.status != http.StatusConflict {
			t.Errorf("a second click on %s: %d", c.action, got.status)
		}
	}
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?target=phone-1&key=person:operator", "", &log)
	if len(log.Items) < 4 || !strings.HasPrefix(log.Items[len(log.Items)-1].Note, "because of pause") || log.Items[len(log.Items)-1].Action != "agents.pause" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}
