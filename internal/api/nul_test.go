package api_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/server"
)

// onPostgres is a house on a PostgreSQL, which does not even compare a text that holds U+0000 or is no UTF-8.
func onPostgres(t *testing.T) *house {
	t.Helper()
	return open(t, func(o *server.Options) { o.DSN = sqltest.Ready.Postgres(t) })
}

func TestWhatNoDatabaseLooksUpIsAskedOfNone(t *testing.T) {
	t.Parallel()
	h := onPostgres(t)
	wildcard := regexp.MustCompile(`\{[a-z]+\}`)
	for _, r := range routes() {
		for odd, why := range map[string]string{"%00": "U+0000", "a%00b": "U+0000", "%ff": "UTF-8"} {
			if path := wildcard.ReplaceAllString(r.Path, odd); path != r.Path && r.Scope != "agent" && !called[r.Path] {
				if got := h.do(request{method: r.Method, path: path}); got.status != 404 || !strings.Contains(got.body, why) {
					t.Errorf("%s %s: got %d %s, want 404 and %s", r.Method, path, got.status, got.body, why)
				}
			}
			for _, name := range r.Params {
				path := wildcard.ReplaceAllString(r.Path, "x") + "?" + name + "=" + odd
				got := h.do(request{method: r.Method, path: path})
				if got.status != 422 || !strings.Contains(got.body, `"query.`+name) || !strings.Contains(got.body, why) {
					t.Errorf("%s %s: got %d %s, want 422 and %s", r.Method, path, got.status, got.body, why)
				}
			}
		}
	}
}

// PostgreSQL's views read contents, payloads and settings as JSON. A name or text in one that it cannot make a text of
// would keep everybody from reading any row.
func TestWhatNoDatabaseKeepsIsRefusedInABody(t *testing.T) {
	t.Parallel()
	h := onPostgres(t)
	message := func(payload string) string {
		return `{"channel":"oa","kind":"task_created","ref":"1","to":[{"user":"u"}],"content":{"text":"x"},"payload":` + payload + `}`
	}
	reminder := func(payload string) string {
		return `{"draft":` + message(payload) + `,"repeat":{"every":"1h","max":3}}`
	}
	if got := h.do(request{method: "PUT", path: "/v1/channels/oa", body: `{"driver":"test"}`}); got.status != 201 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, b := range []struct{ method, path, body, problem string }{
		{"POST", "/v1/messages/cancel", `{"kind":"\u0000","ref":"x"}`, `"kind"`},
		{"POST", "/v1/reminders/end", `{"kind":"k","ref":"a\u0000"}`, `"ref"`},
		{"POST", "/v1/deliveries/replay", `{"user":"a\u0000"}`, `"user"`},
		{"POST", "/v1/keys", `{"name":"x","scope":"agent","agent":"a\u0000"}`, `"agent"`},
		{"POST", "/v1/templates/t/preview", `{"text":"x","channel":"a\u0000"}`, `"channel"`},
		{"POST", "/v1/notify/jobs/delete", `{"bizType":0,"bizIds":["a\u0000"]}`, `"bizIds[0]"`},
		{"PUT", "/v1/users", `{"users":[{"id":"u","addresses":{"a\u0000":"x"}}]}`, `addresses[\"a\\x00\"]`},
		{"PUT", "/v1/channels/oa", `{"driver":"test","codes":{"a\u0000":"ok"}}`, `codes[\"a\\x00\"]`},
		{"POST", "/v1/messages", message(`{"a":[{"\u0000":1}]}`), `payload.a[0][\"\\x00\"]`},
		{"POST", "/v1/reminders", reminder(`{"a":"\u0000"}`), `"draft.payload.a"`},
		{"POST", "/v1/reminders", reminder(`{"\u0000":1}`), `draft.payload[\"\\x00\"]`},
		{"POST", "/v1/reminders", reminder(`{"\ud800":1}`), `has a name that holds half of a surrogate pair`},
	} {
		got := h.do(request{method: b.method, path: b.path, body: b.body})
		if got.status != 422 || !strings.Contains(got.body, b.problem) || !strings.Contains(got.body, "U+0000") && !strings.Contains(got.body, "surrogate") {
			t.Errorf("%s %s %s: got %d %s, want 422 with %s", b.method, b.path, b.body, got.status, got.body, b.problem)
		}
	}
	fine := reminder(`{"a\\u0000":"\\ud800 \ud83d\ude00"}`)
	if got := h.do(request{method: "POST", path: "/v1/reminders", body: fine}); got.status != 202 {
		t.Errorf("got %d %s, want 202", got.status, got.body)
	}
	var payload string
	if err := dbtest.SQL(t, h.dsn).QueryRowContext(t.Context(), "SELECT payload FROM tc_notify_job").Scan(&payload); err != nil || !strings.Contains(payload, `a\\u0000`) {
		t.Errorf("the view has %s, %v", payload, err)
	}
}
