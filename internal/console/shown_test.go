package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A page that answers a form has an address of its own, so that whoever goes back to it sends nothing again; it is there for the session
// that sent the form, and the database does not say what stands on it.
func TestAPageThatAnswersAFormHasAnAddress(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.fleet("https://example.com")
	const at = "/console/t/default/"
	for _, e := range []struct {
		name, here, action string
		form               url.Values
		status             int
		text               string
	}{
		{"a preview", at + "compose?channel=out", at + "compose", url.Values{"channel": {"out"}, "to": {"u1"}, "text": {"the-very-text"}, "step": {"look"}}, http.StatusOK, "curl"},
		{"a refused form", at + "drivers/webhook", at + "drivers/webhook", url.Values{"name": {"hook"}, "config.url": {"ftp://x"}}, http.StatusUnprocessableEntity, `value="ftp://x"`},
		{"a refused button", at + "channels/out", at + "channels/out/pause", url.Values{"for": {"rubbish"}, "reason": {"x"}}, http.StatusUnprocessableEntity, "alert"},
		{"a test", at + "channels/out", at + "channels/out/test", url.Values{"to": {"u1"}, "text": {"x"}}, http.StatusOK, `id="tried"`},
		{"a file", at + "channels/fleet?cursor=", at + "channels/fleet/accounts", url.Values{"csv": {"name\na\n"}}, http.StatusUnprocessableEntity, "fleet"},
	} {
		e.form.Set("here", e.here)
		e.form.Set("click", e.name)
		led := h.ask("admin", e.action, e.form)
		path, _, _ := strings.Cut(e.here, "?")
		if led.status != http.StatusSeeOther || !strings.HasPrefix(led.to(), path+"?") || !strings.Contains(led.to(), "shown=") {
			t.Errorf("%s: %d leads to %q\n%s", e.name, led.status, led.to(), led.body)
			continue
		}
		for range 2 {
			if got := h.ask("admin", led.to(), nil); got.status != e.status || !strings.Contains(got.body, e.text) || got.header.Get("Content-Language") != "en" {
				t.Errorf("%s is shown as %d\n%s", e.name, got.status, got.body)
			}
		}
		if got := h.ask("sender", led.to(), nil); got.status != http.StatusSeeOther && got.status != http.StatusForbidden || strings.Contains(got.to(), "shown") {
			t.Errorf("%s is shown to somebody else: %d to %q", e.name, got.status, got.to())
		}
	}
	if got := h.ask("admin", at+"compose?channel=out&shown=none", nil); got.to() != at+"compose?channel=out" {
		t.Errorf("a page that is there no more leads to %q", got.to())
	}
	for _, away := range []string{"https://example.com/", "/console/t/other/compose", "/v1/channels"} {
		if got := h.ask("admin", at+"compose", url.Values{"channel": {"out"}, "to": {"u1"}, "text": {"x"}, "step": {"look"}, "here": {away}}); got.status != http.StatusOK || got.to() != "" {
			t.Errorf("a form that says it stands at %s: %d to %q", away, got.status, got.to())
		}
	}
}

// What was hidden and is shown for a reason is kept nowhere: it has no address.
func TestWhatIsShownForAReasonHasNoAddress(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"out","sensitive":true,"to":[{"user":"u1"}],"content":{"text":"4711"}}`, nil)
	one := "/console/t/default/deliveries/" + h.deliveries("pending")[0].ID
	got := h.ask("admin", one+"/reveal", url.Values{"reason": {"complaint"}, "here": {one}})
	if got.status != http.StatusOK || !strings.Contains(got.body, "4711") {
		t.Errorf("what is shown for a reason: %d to %q\n%s", got.status, got.to(), got.body)
	}
}
