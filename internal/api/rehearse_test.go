package api_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// What is only looked at is refused as it would be, stands nowhere afterwards, and keeps no Idempotency-Key.
func TestARehearsalStoresNothing(t *testing.T) {
	t.Parallel()
	h := with(t)
	send := keyed("/v1/messages?dry_run=true", "k", hello)
	if got := h.do(send); got.status != 200 || strings.TrimSpace(got.body) != `{"dry_run":true}` {
		t.Errorf("a message that is only looked at: %d %s", got.status, got.body)
	}
	has(t, h.do(request{method: "POST", path: "/v1/messages?dry_run=true", body: `{"channel":"later","to":[],"content":{"text":"x"}}`}), 422, `"path":"to"`)
	has(t, h.do(request{method: "POST", path: "/v1/messages?dry_run=maybe", body: hello}), 422, `"path":"query.dry_run"`)
	if list := read[wire.Page[posthouse.Delivery]](h, h.must(200, "GET", "/v1/deliveries", "")); len(list.Items) != 0 {
		t.Errorf("it has made %d deliveries", len(list.Items))
	}
	if got := h.do(keyed("/v1/messages", "k", hello)); got.status != 202 || got.header.Get("Idempotent-Replay") != "" {
		t.Errorf("the same for good: %d %s", got.status, got.body)
	}

	const at = "/v1/channels/fresh"
	has(t, h.do(request{method: "PUT", path: at + "?dry_run=true", body: `{"driver":"webhook","config":{"url":"https://example.com/in","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}`}), 200, `"secret":"********"`)
	has(t, h.do(request{method: "PUT", path: at + "?dry_run=true", body: `{"driver":"webhook","config":{"url":"ftp://x"},"tries":-1}`}), 422, `"path":"config.url"`, `"path":"tries"`)
	h.must(404, "GET", at, "")
	var changed []wire.AuditEntry
	for _, e := range read[wire.Page[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit", "")).Items {
		if e.Target == "fresh" {
			changed = append(changed, e)
		}
	}
	if len(changed) != 0 {
		t.Errorf("the audit log has %+v", changed)
	}
}
