package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A hidden content is shown to an administrator who says why, on the page that answers, and to nobody else.
func TestAHiddenContentIsShownForAReason(t *testing.T) {
	t.Parallel()
	h := open(t, false)
	h.api("PUT", "/v1/channels/later", `{"driver":"discard"}`, nil)
	h.api("POST", "/v1/channels/later/pause", `{}`, nil)
	h.api("POST", "/v1/messages", `{"channel":"later","to":[{"user":"u1"}],"content":{"text":"<i>code 428193"},"sensitive":true}`, nil)
	var list struct{ Items []posthouse.Delivery }
	h.api("GET", "/v1/deliveries?user=u1", "", &list)
	at := "/console/t/default/deliveries/" + list.Items[0].ID
	page := h.page("admin", at)
	h.shows(page, "Show the content", `action="`+at+`/reveal"`, `aria-label="Copy the text for support"`)
	for _, role := range []string{"viewer", "operator", "sender"} {
		if strings.Contains(h.page(role, at), "/reveal") {
			t.Errorf("a %s is offered the content", role)
		}
	}
	form := url.Values{"reason": {"the customer asks"}, "click": {clickIn(page, at+"/reveal")}}
	if got := h.ask("sender", at+"/reveal", form); got.status != http.StatusForbidden || strings.Contains(got.body, "428193") {
		t.Errorf("a sender gets %d", got.status)
	}
	if got := h.ask("admin", at+"/reveal", url.Values{}); got.status != http.StatusUnprocessableEntity || strings.Contains(got.body, "428193") {
		t.Errorf("without a reason: %d", got.status)
	}
	shown := h.ask("admin", at+"/reveal", form)
	if h.shows(shown.body, "&lt;i&gt;code 428193"); shown.status != http.StatusOK || shown.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, %v", shown.status, shown.header)
	}
	if strings.Contains(h.page("admin", at), "428193") {
		t.Error("the content stays on the page")
	}
	h.provesIt(list.Items[0].Message)
	var log struct{ Items []wire.AuditEntry }
	h.api("GET", "/v1/audit?action=contents.reveal", "", &log)
	if len(log.Items) != 1 || log.Items[0].Key != "person:admin" || !strings.Contains(string(log.Items[0].Detail), "the customer asks") {
		t.Errorf("the audit log has %+v", log.Items)
	}
}

// provesIt wants the page of a proof in both languages, under a policy of its own, without what is hidden.
func (h *house) provesIt(message string) {
	h.Helper()
	at := "/console/t/default/messages/" + message
	h.shows(h.page("viewer", at), `href="`+at+`/proof"`)
	for lang, title := range map[string]string{"en": "Proof of a message", "zh-CN": "消息送达证明"} {
		got := h.ask("viewer", at+"/proof?person=u1", nil, func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
		if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "style-src 'sha256-") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			h.Errorf("the policy is %q", policy)
		}
		if h.shows(got.body, title, `lang="`+lang+`"`, message); got.status != http.StatusOK || strings.Contains(got.body, "428193") {
			h.Errorf("%s: status %d", lang, got.status)
		}
	}
	if got := h.ask("viewer", at+"/proof?person=u9", nil); got.status != http.StatusNotFound {
		h.Errorf("a proof for a stranger: %d", got.status)
	}
}
