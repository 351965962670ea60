package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// refusal is an answer to what a quota has no room for.
func refusal(t *testing.T, got reply) wire.Problem {
	t.Helper()
	p := read[wire.Problem](t, got)
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.status != http.StatusTooManyRequests || p.Code != posthouse.CodeQuota || p.Bound == nil || err != nil || seconds < 1 {
		t.Fatalf("got %d %s, Retry-After %q, want a quota that is used up", got.status, got.body, got.header.Get("Retry-After"))
	}
	return p
}

func TestRequestsBeyondAQuotaAreAnswered429(t *testing.T) {
	t.Parallel()
	h := with(t)
	key := read[wire.NewKey](t, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"admin","quota":{"requests":[{"max":2,"per":"1h"}]}}`))
	ask := func() reply { return h.do(request{method: "GET", path: "/v1/users", key: key.Secret}) }
	for range 2 {
		if got := ask(); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	p := refusal(t, ask())
	if *p.Bound != (posthouse.Bound{Of: "key", Name: key.ID, What: "requests", Max: 2, Per: posthouse.Duration(3600e9)}) || !strings.Contains(p.Detail, "2 requests in 1h") {
		t.Errorf("got %+v, %s", p.Bound, p.Detail)
	}
	if k := keyOf(h, key.ID); len(k.Quota.Requests) != 1 || k.Quota.Requests[0].Max != 2 {
		t.Errorf("the list of keys shows %+v", k.Quota)
	}
	h.must(200, "PUT", "/v1/keys/"+key.ID+"/quota", `{}`)
	if got := ask(); got.status != 200 {
		t.Errorf("after the quota was taken away: %d %s", got.status, got.body)
	}
	h.must(200, "PUT", "/v1/keys/"+key.ID+"/quota", `{"open":5}`)
	if got := h.do(request{method: "POST", path: "/v1/keys", body: `{"name":"free","scope":"admin"}`, key: key.Secret}); got.status != 403 {
		t.Errorf("a key with a quota makes one without: %d %s", got.status, got.body)
	}
	if rotated := read[wire.NewKey](t, h.must(201, "POST", "/v1/keys/"+key.ID+"/rotate", "")); rotated.Quota.Open != 5 {
		t.Errorf("the key that takes its place has %+v", rotated.Quota)
	}
	if got := h.must(422, "PUT", "/v1/keys/"+key.ID+"/quota", `{"requests":[{"max":0,"per":"1s"}],"open":-1}`); !strings.Contains(got.body, `"requests[0].max"`) || !strings.Contains(got.body, `"open"`) {
		t.Errorf("got %s", got.body)
	}
}

// batch are messages to so many users each.
func batch(t *testing.T, users ...int) string {
	t.Helper()
	var list []posthouse.Draft
	for i, n := range users {
		d := posthouse.Draft{Channel: "later", Content: &posthouse.Content{Text: "x"}}
		for j := range n {
			d.To = append(d.To, posthouse.Recipient{User: fmt.Sprintf("u%d-%d", i, j)})
		}
		list = append(list, d)
	}
	text, err := json.Marshal(map[string]any{"messages": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestABatchCountsAgainstTheQuotaBeforeAnythingIsStored(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(201, "PUT", "/v1/channels/tianyuan", `{"driver":"discard"}`)
	h.must(201, "PUT", "/v1/tenants/default", `{"quota":{"open":5}}`)
	h.must(202, "POST", "/v1/messages", batch(t, 1, 2))
	p := refusal(t, h.do(request{method: "POST", path: "/v1/messages", body: batch(t, 1, 1, 1)}))
	if *p.Bound != (posthouse.Bound{Of: "tenant", Name: "default", What: "open", Max: 5, Open: 3}) {
		t.Errorf("got %+v", p.Bound)
	}
	held := read[wire.Tenant](t, h.must(200, "GET", "/v1/tenants/default", ""))
	if held.Holds.Open != 3 || held.Quota.Open != 5 {
		t.Errorf("the tenant has %+v", held)
	}
	last := request{method: "POST", path: "/v1/messages", body: batch(t, 2), header: http.Header{"Idempotency-Key": {"the last"}}}
	first := h.do(last)
	if again := h.do(last); first.status != 202 || again.status != 202 || again.body != first.body {
		t.Errorf("the first answer was %d, the second to the same key, without room, %d %s", first.status, again.status, again.body)
	}
	refusal(t, h.do(request{method: "POST", path: "/v1/notices", body: `{"userId":"u","userType":"分行","platform":"tianyuan","messageContent":"x"}`}))
	if got := h.must(413, "POST", "/v1/messages", batch(t, 6)); strings.Contains(got.header.Get("Retry-After"), "1") {
		t.Errorf("what never fits is asked to come again: %s", got.body)
	}
	if got := h.must(200, "GET", "/metrics", ""); !strings.Contains(got.body, `posthouse_quota_refusals_total{of="tenant",tenant="default",what="open"} 3`) || !strings.Contains(got.body, `posthouse_quota_open_max{tenant="default"} 5`) {
		t.Error("the metrics do not show the quota")
	}
}

func TestAKeysQuotaIsItsOwn(t *testing.T) {
	t.Parallel()
	h := with(t)
	key := read[wire.NewKey](t, h.must(201, "POST", "/v1/keys", `{"name":"crm","scope":"send","quota":{"open":2}}`))
	send := func(n int) reply {
		return h.do(request{method: "POST", path: "/v1/messages", body: batch(t, n), key: key.Secret})
	}
	if got := send(2); got.status != 202 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if p := refusal(t, send(1)); p.Bound.Of != "key" || p.Bound.Name != key.ID || p.Bound.Open != 2 {
		t.Errorf("got %+v", p.Bound)
	}
	h.must(202, "POST", "/v1/messages", batch(t, 3))
	h.must(200, "POST", "/v1/channels/later/resume", "")
	h.awaits(func() bool { return send(2).status == 202 }) // they were sent
}

func TestAnOutboxRowWaitsForRoom(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(201, "PUT", "/v1/tenants/default", `{"quota":{"open":2}}`)
	h.must(202, "POST", "/v1/messages", batch(t, 2))
	h.write(`INSERT INTO posthouse_outbox (id, draft) VALUES ('waits', '{"channel": "later", "to": [{"user": "zoe"}], "content": {"text": "x"}}')`)
	box := h.outbox(1)
	if row := box.Items[0]; !strings.Contains(row.Problem, "has 2 open deliveries and may have 2") || row.NextTryAt.Sub(row.FailedAt).Seconds() != 10 {
		t.Errorf("the row says %q and is tried again after %s", row.Problem, row.NextTryAt.Sub(row.FailedAt))
	}
	h.must(200, "PUT", "/v1/tenants/default", `{}`)
	h.must(204, "POST", "/v1/outbox/waits/retry", "")
	h.outbox(0)
	if held := read[wire.Tenant](t, h.must(200, "GET", "/v1/tenants/default", "")); held.Holds.Open != 3 || held.Holds.Outbox != 0 {
		t.Errorf("the tenant has %+v", held.Holds)
	}
}

func TestTheSMSFrontDoorCountsToo(t *testing.T) {
	t.Parallel()
	h := with(t, func(o *server.Options) { o.SMS = server.SMS{Username: "u", Password: "pa55 phrase"} })
	h.must(201, "PUT", "/v1/tenants/default", `{"quota":{"open":1}}`)
	door := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("u:pa55 phrase"))}}
	text := func(number string) reply {
		return h.do(request{method: "POST", path: "/api/v1/sms/send", body: `{"phone_number":"` + number + `","content":"x"}`, key: "none", header: door})
	}
	if got := text("13800138000"); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got := text("13800138001"); got.status != 429 || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "may have 1") {
		t.Errorf("an open delivery too many: got %d %s", got.status, got.body)
	}
	h.must(200, "PUT", "/v1/tenants/default", `{"quota":{"requests":[{"max":1,"per":"1h"}]}}`)
	text("13800138002")
	if got := text("13800138003"); got.status != 429 || !strings.Contains(got.body, "1 requests in 1h") {
		t.Errorf("a request too many: got %d %s", got.status, got.body)
	}
}
