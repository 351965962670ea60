package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/wire"
)

// Every route × every role × the own tenant, another one, and nobody: by real requests.
func TestWhoReachesWhat(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	id := h.waiting("hello")
	h.api("POST", "/v1/campaigns", `{"name":"spring","channel":"later","content":{"text":"x"}}`, nil)
	h.api("PUT", "/v1/users", `{"users":[{"id":"u1"}]}`, nil)
	h.api("PUT", "/v1/rosters/night", `{"days":{"1":["u1"]}}`, nil)
	h.api("PUT", "/v1/fronts/alerts", `{"kind":"alertmanager","channel":"later","to":[{"user":"u1"}]}`, nil)
	h.api("PUT", "/v1/templates/duty", `{"text":"Duty: ${name}"}`, nil)
	h.phone("phone-1")
	h.api("PUT", "/v1/channels/fleet", `{"driver":"discard","accounts":true}`, nil)
	h.api("PUT", "/v1/channels/fleet/accounts/a", `{}`, nil)
	h.api("POST", "/v1/workflow/events", `{"event":"task.created","task_id":"1001","task":{"name":"过境","create_by":"u1","nodes":[{"id":"n1","name":"n"}]}}`, nil)
	var reminder posthouse.Reminder
	h.api("POST", "/v1/reminders", `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}},"repeat":{"every":"1h","from":"2036-10-01T08:30:00Z"}}`, &reminder)
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"u9"}],"content":{"text":"x"}}`, nil)
	h.settle("cancelled", "expired")
	h.api("PUT", "/v1/routes/way", `{"steps":[{"channels":["later"]}]}`, nil)
	var routed posthouse.Accepted
	h.api("POST", "/v1/messages", `{"route":"way","to":[{"user":"u8"}],"content":{"text":"x"}}`, &routed)
	h.api("PUT", "/v1/digests/evening", `{"window":"1h"}`, nil)
	var gathered posthouse.Accepted
	var member posthouse.Delivery
	h.api("POST", "/v1/messages", `{"channel":"later","digest":"evening","to":[{"user":"u7"}],"content":{"text":"x"}}`, &gathered)
	h.api("GET", "/v1/deliveries/"+gathered.Deliveries[0].ID, "", &member)
	var told wire.Subscription
	h.api("POST", "/v1/subscriptions", `{"url":"http://127.0.0.1:1/x"}`, &told)
	h.api("POST", "/v1/subscriptions/"+told.ID+"/pause", "", nil)
	var count, decision wire.Decision
	h.api("POST", "/v1/decisions", `{"outcome":"replay","channel":"later","dry_run":true}`, &count)
	h.api("POST", "/v1/decisions", `{"outcome":"replay","channel":"later","confirm":"`+count.Confirm+`"}`, &decision)
	var key wire.NewKey
	h.api("POST", "/v1/keys", `{"name":"crm","scope":"send"}`, &key)
	fill := func(path string) string {
		thing := map[string]string{"deliveries": id, "messages": posthouse.MessageID(id), "channels": "later", "people": "viewer", "keys": key.ID, "tenants": "default", "subscriptions": told.ID, "campaigns": "spring", "drivers": "discard", "presets": "telegram", "rosters": "night", "directory": "u1", "fronts": "alerts", "templates": "duty", "phones": "phone-1", "tasks": "1001", "reminders": reminder.ID, "routes": "way", "digests": "evening", "suppressions": "gone@example.com", "collections": member.Collection, "notifications": posthouse.DeliveryID(routed.ID, 1), "decisions": decision.ID}[strings.Split(path, "/")[0]]
		if strings.Contains(path, "account") {
			thing = "fleet"
		}
		return "/console/t/default/" + strings.NewReplacer("{$}", "", "{id}", thing, "{name}", thing, "{driver}", thing, "{account}", "a").Replace(path)
	}
	roles := posthouse.Roles()
	for _, a := range console.Addresses() {
		var form url.Values
		if a[0] == http.MethodPost {
			form = url.Values{"state": {"of another time"}} // so that nothing is decided
		}
		path, least := fill(a[1]), slices.Index(roles, posthouse.Role(a[2]))
		for i, role := range roles {
			got := h.ask(string(role), path, form)
			if refused := got.status == http.StatusForbidden; refused != (i < least) || got.status == http.StatusNotFound || got.status >= http.StatusInternalServerError {
				t.Errorf("%s %s as %s: %d, want it from %s on", a[0], path, role, got.status, a[2])
			}
		}
		for _, stranger := range []string{"other", "nothing"} {
			if got := h.ask(stranger, path, form); got.status != http.StatusNotFound || strings.Contains(got.body, id) && !strings.Contains(path, id) {
				t.Errorf("%s %s as %s: %d, want 404", a[0], path, stranger, got.status)
			}
		}
		got := h.ask("", path, form)
		kept := a[0] == http.MethodPost && got.status == http.StatusUnauthorized && strings.Contains(got.body, `name="kept"`) // the form goes through the sign-in
		if leads := got.status == http.StatusSeeOther && strings.HasPrefix(got.to(), "/console/sign-in"); !kept && !leads {
			t.Errorf("%s %s as nobody: %d, to %q", a[0], path, got.status, got.to())
		}
	}
}

// What every answer carries, whatever it is.
func TestEveryAnswerIsFenced(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	for _, path := range []string{"/console/", "/console/sign-in", "/console/t/default/", "/console/assets/console.css", "/console/nothing", "/console/t/other/"} {
		got := h.ask("viewer", path, nil)
		for name, want := range map[string]string{"Content-Security-Policy": "script-src 'self';", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"} {
			if !strings.Contains(got.header.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
		if policy := got.header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
	}
	if got := h.ask("", "/", nil, func(r *http.Request) { r.Header.Set("Accept", "text/html,*/*") }); got.to() != "/console/" {
		t.Errorf("a browser at / is led to %q", got.to())
	}
	if got := h.ask("", "/", nil); !strings.Contains(got.body, "/openapi.json") {
		t.Errorf("a program at / is told %q", got.body)
	}
}

// What stands outside of tenants: without a session each door but those of the sign-in leads there, and changes nothing.
func TestWhoReachesWhatIsOutsideOfTenants(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	outside := map[string]bool{
		"GET sign-in": true, "POST sign-in": true, "POST sign-in/code": true, "POST sign-in/kept": true, "GET enter": true, "POST enter": true, "GET lang/{lang}": true, "GET density/{density}": true, "GET menu/{menu}": true, "GET zone": true, "POST zone": true,
		"GET oidc": true, "GET oidc/callback": true, // not there: no provider is set
	}
	for _, d := range console.Doors() {
		name := d.Method + " " + d.Path
		if outside[name] == d.In {
			t.Errorf("%s wants a session: %v; decide who may come here, and say so in the table", name, d.In)
		}
		var form url.Values
		if d.Method == http.MethodPost {
			form = url.Values{}
		}
		path := "/console/" + strings.NewReplacer("{$}", "", "{lang}", "zh", "{density}", "dense", "{menu}", "folded").Replace(d.Path)
		got := h.ask("", path, form)
		if led := got.status == http.StatusSeeOther && strings.HasPrefix(got.to(), "/console/sign-in?"); led != d.In || sessionOf(t, got) != "" {
			t.Errorf("%s as nobody: %d, to %q", name, got.status, got.to())
		}
	}
}
