package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A message is looked at, with the curl and the Go of it, and sent once, however often the button is pressed.
func TestAMessageIsComposedAndSentOnce(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/out", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/out/pause", `{}`, nil)
	at := "/console/t/default/compose"
	page := h.page("sender", at+"?channel=out&to=u1")
	h.shows(page, "<option selected>out</option>", ">u1</textarea>")
	_, rest, _ := strings.Cut(page, `name="once" value="`)
	once, _, _ := strings.Cut(rest, `"`)
	form := url.Values{"channel": {"out"}, "to": {"u1\r\n\r\nu2\r\nu1"}, "by": {"user"}, "title": {"it's"}, "text": {"<b>\nJSON"}, "kind": {"leave"}, "ref": {"7"}, "once": {once}}
	h.shows(h.ask("sender", at, form).body, "<strong>2</strong>", "/v1/messages", `{User: &#34;u2&#34;}`, "\\nJSON", "&lt;b&gt;")
	if list := h.deliveries("pending"); len(list) != 0 {
		t.Errorf("a look has made %d deliveries", len(list))
	}
	form.Set("step", "back")
	h.shows(h.ask("sender", at, form).body, ">u1\r\n\r\nu2\r\nu1</textarea>", "it&#39;s")
	form.Set("step", "send")
	first := h.ask("sender", at, form)
	if again := h.ask("sender", at, form); first.to() == "" || again.to() != first.to() {
		t.Errorf("sent to %q and %q: %d\n%s", first.to(), again.to(), first.status, first.body)
	}
	if list := h.deliveries("pending"); len(list) != 2 {
		t.Errorf("%d deliveries, want 2", len(list))
	}
	h.shows(h.page("viewer", first.to()), "It is handed in.")
	form = url.Values{"channel": {"out"}, "to": {""}, "text": {"x"}, "once": {once + "2"}, "step": {"send"}}
	if got := h.ask("sender", at, form); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="to"`) {
		t.Errorf("to nobody: %d\n%s", got.status, got.body)
	}
	long := url.Values{"channel": {"out"}, "to": {"u1"}, "text": {"x"}, "kind": {strings.Repeat("k", 300)}, "step": {"look"}}
	if got := h.ask("sender", at, long); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `data-problem="kind"`) || strings.Contains(got.body, "Send it") {
		t.Errorf("a preview of what the API refuses: %d\n%s", got.status, got.body)
	}
	got := h.ask("operator", at, form)
	if got.status != http.StatusForbidden || strings.Contains(got.body, "scope") {
		t.Errorf("an operator sends: %d\n%s", got.status, got.body)
	}
	h.shows(got.body, "Takes the role: sender · Your role: operator") // words of people, none of keys
}
