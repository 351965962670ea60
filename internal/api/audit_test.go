package api_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// unaudited are the addresses that are no GET and are not audited, with the reason.
var unaudited = map[string]string{
	"POST /v1/messages":                 "what is handed in is kept as messages, with their callers' journals",
	"POST /v1/reminders":                "as messages",
	"POST /v1/notices":                  "as messages",
	"POST /v1/notify/jobs":              "as messages",
	"POST /v1/workflow/events":          "what happened is kept as the task",
	"POST /v1/templates/{name}/preview": "it changes nothing",
	"POST /v1/routes/{name}/preview":    "it changes nothing",
	"POST /v1/campaigns/{name}/preview": "it changes nothing",
	"POST /v1/campaigns/{name}/samples": "it changes nothing",
	"POST /v1/agents/{id}/claims":       "the log of hand-outs has it",
	"POST /v1/agents/{id}/start":        "the event log has it",
	"POST /v1/agents/{id}/renew":        "the lease has it",
	"POST /v1/agents/{id}/give-back":    "the event log has it",
	"POST /v1/agents/{id}/received":     "the acknowledgement has it",
	"POST /v1/agents/{id}/report":       "the log of reports has it",
	"POST /v1/callbacks/{address}":      "the event log has what follows from it",
}

// Every change of configuration, keys or people, and every decision about deliveries, is audited; a route that is not has a
// reason.
func TestEveryAddressThatChangesSomethingIsAudited(t *testing.T) {
	t.Parallel()
	for _, r := range routes() {
		at := r.Method + " " + r.Path
		if reason := unaudited[at]; r.Method != http.MethodGet && r.Audits() == (reason != "") {
			t.Errorf("%s is audited: %t; the reason not to is %q", at, r.Audits(), reason)
		}
		if r.Method == http.MethodGet && r.Audits() && at != "GET /v1/messages/{id}/proof" { // what is signed is handed on
			t.Errorf("%s is audited", at)
		}
	}
}

func TestTheAuditLogIsExported(t *testing.T) {
	t.Parallel()
	h := with(t)
	for range 5 {
		h.do(request{method: "POST", path: "/v1/channels/out/pause", body: `{"reason":"=cmd|' /C calc'!A0"}`, header: http.Header{web.NoteHeader: {"=1+1"}}})
		h.must(200, "POST", "/v1/channels/out/resume", "")
	}
	all := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=1000", ""))
	lines := strings.Split(strings.TrimSpace(h.must(200, "GET", "/v1/audit/export", "").body), "\n")
	if len(lines) != len(all.Items) || len(lines) < 13 || !strings.HasPrefix(lines[0], `{"id":"`+all.Items[0].ID) {
		t.Errorf("%d lines were exported of %d, the first is %s", len(lines), len(all.Items), lines[0])
	}
	paused := h.must(200, "GET", "/v1/audit/export?format=csv&action=channels.pause", "")
	rows, err := csv.NewReader(strings.NewReader(paused.body)).ReadAll()
	if err != nil || len(rows) != 7 || rows[1][6] != "channels.pause" || rows[1][8] != "'=1+1" || !strings.HasPrefix(rows[1][10], "{") {
		t.Errorf("got %v, %v", rows, err)
	}
	if got := h.must(422, "GET", "/v1/audit/export?format=xls", ""); !strings.Contains(got.body, "query.format") {
		t.Errorf("got %s", got.body)
	}
	if got := h.do(request{method: "GET", path: "/v1/audit/export", key: "other"}); got.status != 200 || got.body != "" {
		t.Errorf("another tenant exports %q", got.body)
	}
}

func TestWhatAStartChangesIsAudited(t *testing.T) {
	t.Parallel()
	id, text := secret.NewKey()
	h := open(t, func(o *server.Options) {
		o.AdminKey = secret.FormatKey(id, text)
		o.SMS = server.SMS{Username: "u", Password: "pa55 phrase"}
	})
	var got []string
	for _, e := range read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit", "")).Items {
		got = append(got, e.Source+" "+e.Action+" "+e.Target)
		if strings.Contains(string(e.Detail), text) {
			t.Errorf("the log tells the secret: %s", e.Detail)
		}
	}
	if want := []string{"start channels.put sms", "start keys.create " + id}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A line shows the thing as it was stored, with its version, and what was deleted as it was.
func TestTheAuditLogShowsThingsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(201, "PUT", "/v1/channels/phones", `{"driver":"test","pull":true}`)
	h.must(201, "POST", "/v1/agents", `{"id":"p1","channels":["phones"]}`)
	subscription := read[wire.SubscriptionWithSecret](h, h.must(201, "POST", "/v1/subscriptions", `{"url":"https://example.com/told"}`)).ID
	key := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"send"}`)).ID
	for _, change := range []struct {
		method, path, body string
		before, after      string
	}{
		{"PUT", "/v1/templates/t", `{"text":"one"}`, "", `"text":"one"`},
		{"PUT", "/v1/templates/t", `{"text":"two"}`, `"text":"one"`, `"version":2`},
		{"PUT", "/v1/rosters/r", `{"days":{"1":["li.na"]}}`, "", `"li.na"`},
		{"PUT", "/v1/users", `{"users":[{"id":"li.na","name":"Li"}]}`, "", `"name":"Li"`},
		{"PUT", "/v1/users", `{"users":[{"id":"li.na","name":"Li Na"}]}`, `"name":"Li"`, `"name":"Li Na"`},
		{"DELETE", "/v1/templates/t", "", `"text":"two"`, ""},
		{"DELETE", "/v1/rosters/r", "", `"li.na"`, ""},
		{"DELETE", "/v1/users/li.na", "", `"name":"Li Na"`, ""},
		{"DELETE", "/v1/agents/p1", "", `"phones"`, ""},
		{"DELETE", "/v1/subscriptions/" + subscription, "", `/told`, ""},
		{"DELETE", "/v1/keys/" + key, "", `"crm"`, ""},
	} {
		at := change.method + " " + change.path + " " + change.body
		if got := h.do(request{method: change.method, path: change.path, body: change.body}); got.status > 299 {
			t.Fatalf("%s: %v", at, got)
		}
		line := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=1", "")).Items[0]
		var is struct{ Before, After json.RawMessage }
		if err := json.Unmarshal(line.Detail, &is); err != nil {
			t.Errorf("%s: %s, %v", at, line.Detail, err)
		}
		for _, side := range []struct{ name, got, want string }{{"before", string(is.Before), change.before}, {"after", string(is.After), change.after}} {
			if !strings.Contains(side.got, side.want) || (side.got == "") != (side.want == "") || strings.Contains(side.got, "0001-01-01") {
				t.Errorf("%s: %s is %s, want %s", at, side.name, side.got, side.want)
			}
		}
	}
	h.must(200, "PUT", "/v1/users", `{"users":[{"id":"a"},{"id":"b"}]}`)
	if line := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=1", "")).Items[0]; line.Affected != 2 || !strings.Contains(string(line.Detail), `"users":["a","b"]`) {
		t.Errorf("of many users: %d, %s", line.Affected, line.Detail)
	}
	h.must(200, "PUT", "/v1/templates/long", `{"text":"`+strings.Repeat("a", 40<<10)+`"}`)
	h.must(200, "PUT", "/v1/templates/long", `{"text":"`+strings.Repeat("b", 40<<10)+`"}`)
	if line := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=1", "")).Items[0]; !strings.HasPrefix(string(line.Detail), `{"left_out":"8`) {
		t.Errorf("too much for a line: %.100s", line.Detail)
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
