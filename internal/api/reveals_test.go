package api_test

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Hidden contents are shown for a reason, which the audit log has, to those who may, and to nobody where it cannot be written.
func TestHiddenContentsAreRevealedForAReason(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(201, "PUT", "/v1/channels/later", `{"driver":"discard"}`)
	h.must(200, "POST", "/v1/channels/later/pause", `{}`)
	send := func(body string) string {
		t.Helper()
		return read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", `{"channel":"later","to":[{"user":"u1"}],`+body+`}`)).ID
	}
	hidden, open := send(`"content":{"text":"code 428193"},"sensitive":true`), send(`"content":{"text":"hello"}`)
	reveal := func(id, body, key string) reply {
		t.Helper()
		return h.do(request{method: "POST", path: "/v1/messages/" + id + "/reveal", body: body, key: key})
	}
	const why = `{"reason":"the customer asks"}`
	messages := h.narrowed(posthouse.ScopeAdmin, posthouse.KeyLimits{Actions: []string{"messages.*", "deliveries.*"}})
	for name, got := range map[string]struct {
		reply
		want int
	}{
		"without a reason":              {reveal(hidden, `{"reason":" "}`, "admin"), 422},
		"of a scope that sends":         {reveal(hidden, why, "send"), 403},
		"with a key for messages alone": {reveal(hidden, why, messages), 403},
		"of another tenant":             {reveal(hidden, why, "other"), 404},
		"of what is not sensitive":      {reveal(open, why, "admin"), 409},
		"of what never was":             {reveal(posthouse.NewID(), why, "admin"), 404},
	} {
		if got.status != got.want || strings.Contains(got.body, "428193") {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, got.want)
		}
	}
	if got := read[wire.Revealed](t, reveal(hidden, why, "admin")); got.Content.Text != "code 428193" || got.ID != hidden {
		t.Errorf("revealed: %+v", got)
	}
	log := read[wire.Page[wire.AuditEntry]](t, h.must(200, "GET", "/v1/audit?action=contents.reveal", "")).Items
	if len(log) != 1 || log[0].Target != hidden || !strings.Contains(string(log[0].Detail), "the customer asks") || strings.Contains(string(log[0].Detail), "428193") {
		t.Errorf("the audit log has %+v", log)
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(h.dsn, "sqlite:")+"?_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TRIGGER full BEFORE INSERT ON posthouse_audit BEGIN SELECT RAISE(ABORT, 'no room'); END"); err != nil {
		t.Fatal(err)
	}
	if got := reveal(hidden, why, "admin"); got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "428193") {
		t.Errorf("without a line in the audit log: %d %s", got.status, got.body)
	}
}
