package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// Whatever an admin's key changes, and every decision about what was handed in, is audited.
func TestEveryAddressThatChangesSomethingIsAudited(t *testing.T) {
	t.Parallel()
	intake := map[string]bool{"POST /v1/messages": true, "POST /v1/reminders": true, "POST /v1/workflow/events": true, "POST /v1/notices": true, "POST /v1/notify/jobs": true}
	for _, r := range routes() {
		hands := r.Method == http.MethodGet || r.Scope == posthouse.ScopeRead || r.Scope == posthouse.ScopeAgent || intake[r.Method+" "+r.Path]
		if r.Audits() == hands {
			t.Errorf("%s %s is audited: %t", r.Method, r.Path, r.Audits())
		}
	}
}

func TestTheAuditLogSaysWhoChangedWhat(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.send("later", "u1", "u2")
	put := h.do(request{method: "PUT", path: "/v1/channels/out", body: `{"driver":"test","tries":3,"config":{"token":"n3w s3cret"}}`, header: http.Header{web.NoteHeader: {"工单 4711"}}})
	if put.status != 200 {
		t.Fatal(put)
	}
	made := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"send"}`))
	h.must(200, "POST", "/v1/deliveries/replay", `{"channel":"out","dry_run":true}`)
	h.must(200, "POST", "/v1/deliveries/replay", `{"channel":"out"}`)
	h.must(422, "PUT", "/v1/channels/out", `{"driver":"none"}`)
	h.must(204, "DELETE", "/v1/keys/"+made.ID, "")
	got := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=5", ""))
	var actions []string
	for _, e := range got.Items {
		actions = append(actions, e.Action)
		if e.KeyName != "admin" || e.Source != "127.0.0.1" || e.At.IsZero() || e.Tenant != "default" {
			t.Errorf("got %+v", e)
		}
		if text := string(e.Detail); strings.Contains(text, "s3cret") || strings.Contains(text, made.Secret) {
			t.Errorf("the log tells a secret: %s", text)
		}
	}
	if want := "keys.delete deliveries.replay keys.create channels.put channels.pause"; strings.Join(actions, " ") != want {
		t.Errorf("got %v, want %s", actions, want)
	}
	change := got.Items[3]
	if change.Target != "out" || change.Note != "工单 4711" || !strings.Contains(string(change.Detail), `"before":{`) || !strings.Contains(string(change.Detail), `"tries":3`) {
		t.Errorf("got %+v with %s", change, change.Detail)
	}
	if only := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?action=keys.create&target="+made.ID, "")); len(only.Items) != 1 {
		t.Errorf("narrowed down: got %+v", only)
	}
	if other := h.do(request{method: "GET", path: "/v1/audit", key: "other"}); strings.Contains(other.body, "channels.put") {
		t.Errorf("another tenant reads %s", other.body)
	}
	if got := h.do(request{method: "GET", path: "/v1/audit", key: "read"}); got.status != 403 {
		t.Errorf("a key of scope read: got %d", got.status)
	}
}
