package fronts_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/consoletest"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

const at = "/console/t/default/fronts"

// A front is made by the form, shown with what to paste this once, changed, given another token and deleted, each with its role and in the
// audit log.
func TestAFrontIsMadeAndChanged(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.Shows(h.Page("viewer", at), "There is no front yet", "posthouse front add alertmanager")
	if strings.Contains(h.Page("viewer", at), "New front") {
		t.Error("a viewer is offered a form")
	}
	form := url.Values{"kind": {"alertmanager"}, "channel": {"out"}, "recipients": {"li.na\nrole:dba"}, "each": {"alert"}, "match": {"team=db recipients=wang"}, "priorities": {"warning=high"}, "dedup_window": {"10m"}}
	if got := h.Ask("operator", at, form); got.Status != http.StatusForbidden {
		t.Errorf("an operator makes a front: %d", got.Status)
	}
	for field, bad := range map[string]string{"channel": "none", "match": "team", "priorities": "warning=loud", "dedup_window": "soon", "kind": "fax"} {
		wrong := url.Values{}
		for name, v := range form {
			wrong[name] = v
		}
		wrong.Set(field, bad)
		if got := h.Ask("admin", at, wrong); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, `data-problem="`+field) {
			t.Errorf("%s=%s: %d", field, bad, got.Status)
		}
	}
	made := h.Ask("admin", at, form)
	h.Shows(made.Body, "webhook_configs", "The token in it is shown this once", "Nothing came yet", "role:dba", "team=db recipients=wang", "warning=high", "10m")
	token := regexp.MustCompile("[0-9a-f]{64}").FindString(made.Body)
	if token == "" || strings.Contains(h.Page("admin", at+"/alertmanager"), token) {
		t.Fatalf("the token is %q, and stays on the page", token)
	}
	if got := h.Ask("admin", at, form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "There is a front of this name already") {
		t.Errorf("a second of the name: %d", got.Status)
	}
	form.Set("recipients", "roster:sre")
	form.Set("each", "")
	h.Shows(h.Ask("admin", at+"/alertmanager", form).Body, "It is stored.", "there is no roster", "roster:sre") // which is a warning
	h.API("PUT", "/v1/rosters/sre", `{"days":{"1":["li.na"],"2":["li.na"],"3":["li.na"],"4":["li.na"],"5":["li.na"],"6":["li.na"],"7":["li.na"]}}`, nil)
	if got := h.Ask("admin", at+"/alertmanager", form); got.To() != at+"/alertmanager?said=stored" {
		t.Errorf("a change: %d %s", got.Status, got.Body)
	}
	var f posthouse.Front
	h.API("GET", "/v1/fronts/alertmanager", "", &f)
	if len(f.To) != 1 || f.To[0].Roster != "sre" || f.Each != "" || len(f.Match) != 1 || f.DedupWindow.Std() != 10*time.Minute {
		t.Errorf("the front is %+v", f)
	}
	before := regexp.MustCompile(`name="state" value="([^"]*)"`).FindStringSubmatch(h.Page("admin", at+"/alertmanager"))[1]
	again := h.Ask("admin", at+"/alertmanager/token", url.Values{"note": {"it leaked"}, "state": {before}})
	if other := regexp.MustCompile("[0-9a-f]{64}").FindString(again.Body); other == "" || other == token {
		t.Errorf("another token: %d, %q", again.Status, other)
	}
	h.Shows(h.Page("viewer", at, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") }), "alertmanager", "从未", "接收人")
	for _, role := range []string{"viewer", "operator", "sender"} {
		for _, do := range []string{"", "/token", "/delete"} {
			if got := h.Ask(role, at+"/alertmanager"+do, form); got.Status != http.StatusForbidden {
				t.Errorf("a %s does %q: %d", role, do, got.Status)
			}
		}
	}
	if got := h.Ask("admin", at+"/alertmanager/delete", url.Values{"typed": {"alertmanager"}}); got.To() != at+"?said=removed_said" {
		t.Errorf("deleting: %d", got.Status)
	}
	var log struct{ Items []wire.AuditEntry }
	h.API("GET", "/v1/audit?key=person:admin", "", &log)
	if len(log.Items) != 5 || log.Items[1].Note != "it leaked" {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// The page of a front has what came last, masked, and what it became; an administrator sees it whole for a reason.
func TestThePageOfAFrontHasWhatCame(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	var made wire.NewFront
	h.API("PUT", "/v1/fronts/builds", `{"kind":"json","channel":"out","to":[{"user":"u1"}]}`, &made)
	for _, body := range []string{`{"title":"Shop build","message":"it was <b>broken</b> by somebody"}`, `{"number":1}`} {
		w := httptest.NewRecorder()
		h.Serve.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/in/json/"+made.Token, strings.NewReader(body)))
	}
	page := ""
	for deadline := time.Now().Add(time.Minute); !strings.Contains(page, "<td>refused</td>"); {
		if page = h.Page("viewer", at+"/builds"); time.Now().After(deadline) {
			t.Fatalf("what came is not on the page: %s", page)
		}
	}
	h.Shows(page, "<td>accepted</td>", "/console/t/default/messages/0", "it***", "the expressions make neither a title")
	if strings.Contains(page, "somebody") || strings.Contains(page, "/reveal") {
		t.Error("a viewer sees a text whole, or is offered it")
	}
	h.Shows(h.Page("viewer", at), ">builds</a>", `<span class="state">refused</span>`, `class="number warn"`)
	var calls wire.Page[posthouse.FrontCall]
	h.API("GET", "/v1/fronts/builds/calls", "", &calls)
	one := at + "/builds/calls/" + calls.Items[1].ID + "/reveal"
	if got := h.Ask("operator", one, url.Values{"reason": {"x"}}); got.Status != http.StatusForbidden {
		t.Errorf("an operator sees it: %d", got.Status)
	}
	if got := h.Ask("admin", one, url.Values{}); strings.Contains(got.Body, "somebody") {
		t.Errorf("it is shown without a reason: %d", got.Status)
	}
	h.Shows(h.Ask("admin", one, url.Values{"reason": {"a complaint"}}).Body, "it was &lt;b&gt;broken&lt;/b&gt; by somebody")
	var log struct{ Items []wire.AuditEntry }
	h.API("GET", "/v1/audit?action=fronts.reveal", "", &log)
	if len(log.Items) != 1 || log.Items[0].Key != "person:admin" || !strings.Contains(string(log.Items[0].Detail), "a complaint") {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// A front leads to a route by the form, and the pages say so.
func TestAFrontLeadsToARoute(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.API("PUT", "/v1/routes/night", `{"steps":[{"channels":["out"],"to":[{"user":"li"}]}]}`, nil)
	routed := url.Values{"kind": {"grafana"}, "route": {"night"}, "match": {"team=db to-route=night recipients=wang"}}
	h.Shows(h.Ask("admin", at, routed).Body, "/routes/night", "whom the route names", "team=db to-route=night recipients=wang", `name="route" maxlength="63" value="night"`)
	h.Shows(h.Page("viewer", at), "Route night", "whom the route names")
	routed.Set("channel", "out")
	if got := h.Ask("admin", at+"/grafana", routed); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, `data-problem="route"`) {
		t.Errorf("a channel beside a route: %d", got.Status)
	}
}

// What to paste at a sender has the address by which the browser came to the console, or by which the API was asked, and the server's own
// where it was told one. Its headings are in the person's language.
func TestWhatIsPastedNamesTheServer(t *testing.T) {
	t.Parallel()
	kinds := []string{"alertmanager", "grafana", "bark", "gotify", "mail", "json", "wecom", "ntfy", "smsgate"}
	for public, want := range map[string]string{"": "https://push.example.net:8443", "https://post.example.com/": "https://post.example.com"} {
		h := consoletest.Open(t, false, func(o *server.Options) { o.PublicURL = public })
		h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
		byProxy := func(r *http.Request) {
			r.Host = "push.example.net:8443"
			r.Header.Set("X-Forwarded-Proto", "https")
			r.Header.Set("Accept-Language", "zh-CN")
			r.AddCookie(&http.Cookie{Name: "__Host-posthouse", Value: "admin"})
		}
		for _, kind := range kinds {
			made := h.Ask("", at, url.Values{"kind": {kind}, "name": {kind}, "channel": {"out"}, "recipients": {"li.na"}}, byProxy)
			_, setup, _ := strings.Cut(made.Body, `<article id="setup">`)
			setup, _, _ = strings.Cut(setup, "</article>")
			if !strings.Contains(setup, want+"/in/"+kind) || strings.Contains(setup, "http://posthouse") {
				t.Errorf("public_url %q: %s is to call\n%s", public, kind, setup)
			}
			if english := regexp.MustCompile(`<p>(?:a|the|this) [^<]*</p>`).FindAllString(setup, -1); len(english) > 0 || !strings.Contains(setup, "<p>手工试发</p>") && kind != "mail" {
				t.Errorf("the headings of %s are in English: %v\n%s", kind, english, setup)
			}
		}
		r := httptest.NewRequest(http.MethodPut, "/v1/fronts/hook", strings.NewReader(`{"kind":"json","channel":"out","to":[{"user":"u1"}]}`))
		r.Header.Set("Authorization", "Bearer "+h.Key)
		byProxy(r)
		w := httptest.NewRecorder()
		if h.Serve.ServeHTTP(w, r); !strings.Contains(w.Body.String(), want+"/in/json/") {
			t.Errorf("public_url %q: the API answers %d %s", public, w.Code, w.Body)
		}
	}
}

// What somebody types wrongly is told in one sentence with an example, in the person's language.
func TestWhatIsTypedOfAFrontIsToldWithAnExample(t *testing.T) {
	t.Parallel()
	h := consoletest.Open(t, false)
	h.API("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	for _, c := range []struct{ field, bad, en, zh string }{
		{"dedup_window", "-5x", "&#34;-5x&#34; is not a duration such as 500ms, 90s, 5m, 1h30m or 7d", "不是时长，例如 500ms、90s、5m、1h30m、7d"},
		{"priorities", "warning", "want NAME=VALUE, such as warning=high", "&#34;warning&#34; 不是“名称=值”的写法，例如 warning=high"},
		{"expressions", "title", "want NAME=VALUE, such as title=build.name", "&#34;title&#34; 不是“名称=值”的写法，例如 title=build.name"},
		{"match", "team", "want NAME=VALUE, to-channel=CHANNEL", "&#34;team&#34; 不是“名称=值”的写法：应为 标签=值、to-channel=渠道"},
	} {
		for lang, want := range map[string]string{"en": c.en, "zh-CN": c.zh} {
			form := url.Values{"kind": {"json"}, "channel": {"out"}, "recipients": {"u1"}, c.field: {c.bad}}
			got := h.Ask("admin", at, form, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
			if !strings.Contains(got.Body, want) || strings.Contains(got.Body, "time: ") {
				t.Errorf("%s=%s in %s: want %q\n%s", c.field, c.bad, lang, want, got.Body)
			}
		}
	}
}
