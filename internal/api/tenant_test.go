package api_test

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// bodies are what routes with a path parameter are called with. A route of a method with a body
// that is missing here fails the test below: give it a line.
var bodies = map[string]string{
	"POST /v1/messages/{id}/cancel":                      "",
	"POST /v1/messages/{id}/recall":                      "",
	"POST /v1/deliveries/{id}/replay":                    `{}`,
	"POST /v1/deliveries/{id}/resolve":                   `{"outcome":"sent"}`,
	"POST /v1/outbox/{id}/retry":                         "",
	"POST /v1/reminders/{id}/end":                        "",
	"POST /v1/reminders/{id}/pause":                      "",
	"POST /v1/reminders/{id}/resume":                     "",
	"DELETE /v1/outbox/{id}":                             "",
	"DELETE /v1/channels/{name}":                         "",
	"POST /v1/channels/{name}/pause":                     `{}`,
	"POST /v1/channels/{name}/resume":                    "",
	"POST /v1/channels/{name}/test":                      `{}`,
	"PUT /v1/channels/{name}/accounts":                   `{"accounts":[{"name":"a"}]}`,
	"PUT /v1/channels/{name}/accounts/{account}":         `{}`,
	"DELETE /v1/channels/{name}/accounts/{account}":      "",
	"POST /v1/channels/{name}/accounts/{account}/pause":  `{}`,
	"POST /v1/channels/{name}/accounts/{account}/resume": "",
	"POST /v1/channels/{name}/accounts/{account}/test":   `{}`,
	"POST /v1/channels/{name}/callbacks":                 `{}`,
	"DELETE /v1/channels/{name}/callbacks/{address}":     "",
	"DELETE /v1/media/{id}":                              "",
	"DELETE /v1/routes/{name}":                           "",
	"DELETE /v1/digests/{name}":                          "",
	"POST /v1/collections/{id}/leave":                    "",
	"POST /v1/routes/{name}/preview":                     `{"to":[{"user":"u1"}],"content":{"text":"x"}}`,
	"POST /v1/notifications/{id}/ack":                    `{}`,
	"POST /v1/notifications/{id}/revoke-links":           "",
	"POST /v1/notifications/{id}/end":                    "",
	"POST /v1/notifications/{id}/resume":                 "",
	"POST /v1/messages/{id}/ack":                         `{}`,
	"DELETE /v1/templates/{name}":                        "",
	"POST /v1/templates/{name}/preview":                  `{}`,
	"POST /v1/templates/{name}/test":                     `{"channel":"out","to":{"user":"u1"}}`,
	"DELETE /v1/rosters/{name}":                          "",
	"POST /v1/messages/{id}/reveal":                      `{"reason":"r"}`,
	"POST /v1/messages/{id}/proof/reveal":                `{"reason":"r"}`,
	"POST /v1/rosters/{name}/override":                   `{"dates":{"2030-10-01":["mine"]}}`,
	"DELETE /v1/users/{id}":                              "",
	"PATCH /v1/users/{id}":                               `{"name":"n"}`,
	"PUT /v1/users/{id}/preferences":                     `{"nothing":true}`,
	"POST /v1/users/{id}/preferences/link":               "",
	"DELETE /v1/users/{id}/preferences/link":             "",
	"PUT /v1/keys/{id}/quota":                            `{"open":1}`,
	"PUT /v1/tenants/{name}":                             `{"note":"mine"}`,
	"DELETE /v1/tenants/{name}":                          "",
	"POST /v1/tenants/{name}/keys":                       `{"name":"x","scope":"admin"}`,
	"PUT /v1/people/{name}":                              `{"roles":{"default":"admin"}}`,
	"DELETE /v1/people/{name}":                           "",
	"POST /v1/people/{name}/link":                        "",
	"POST /v1/people/{name}/reset-totp":                  "",
	"POST /v1/people/{name}/sign-out":                    "",
	"DELETE /v1/keys/{id}":                               "",
	"POST /v1/keys/{id}/rotate":                          "",
	"PUT /v1/agents/{id}":                                `{"channels":["phones"]}`,
	"DELETE /v1/agents/{id}":                             "",
	"POST /v1/agents/{id}/pause":                         "",
	"POST /v1/agents/{id}/drain":                         `{"reason":"x"}`,
	"POST /v1/agents/{id}/resume":                        "",
	"POST /v1/agents/{id}/reassign":                      "",
	"POST /v1/agents/{id}/key":                           "",
	"DELETE /v1/subscriptions/{id}":                      "",
	"POST /v1/subscriptions/{id}/rotate":                 `{}`,
	"POST /v1/subscriptions/{id}/pause":                  "",
	"POST /v1/subscriptions/{id}/resume":                 "",
	"POST /v1/subscriptions/{id}/test":                   "",
	"POST /v1/subscriptions/{id}/replay":                 `{"since":"2026-01-01T00:00:00Z"}`,
	"POST /v1/campaigns/{name}/members":                  "openid\no1\n",
	"POST /v1/campaigns/{name}/preview":                  "openid\no1\n",
	"POST /v1/campaigns/{name}/samples":                  `{"own_text":{"text":"x"}}`,
	"POST /v1/campaigns/{name}/start":                    "{}",
	"POST /v1/campaigns/{name}/test":                     `{"to":["o1"]}`,
	"POST /v1/campaigns/{name}/pause":                    "",
	"POST /v1/campaigns/{name}/resume":                   "",
	"POST /v1/campaigns/{name}/repair":                   "",
	"POST /v1/campaigns/{name}/again":                    `{"outcomes":["failed"]}`,
	"POST /v1/campaigns/{name}/clone":                    "{}",
	"PATCH /v1/campaigns/{name}":                         `{"priority":"low"}`,
	"POST /v1/campaigns/{name}/unschedule":               "",
	"DELETE /v1/presets/{name}":                          "",
	"POST /v1/fronts/{name}/token":                       "",
	"POST /v1/fronts/{name}/calls/{id}/reveal":           `{"reason":"r"}`,
	"DELETE /v1/fronts/{name}":                           "",
	"POST /v1/campaigns/{name}/cancel":                   "",
	"DELETE /v1/campaigns/{name}":                        "",
	"DELETE /v1/audiences/{name}":                        "",
	"POST /v1/decisions/{id}/stop":                       "",
	"POST /v1/decisions/{id}/undo":                       "",
	"POST /v1/campaigns/{name}/resolve":                  `{"outcome":"sent"}`,
	"POST /v1/audiences/{name}/members":                  "openid\no1\n",
	"POST /v1/campaigns/{name}/query":                    `{"database":"crm","query":"SELECT 1 AS openid"}`,
	"POST /v1/campaigns/{name}/followers":                `{}`,
	"POST /v1/audiences/{name}/query":                    `{"database":"crm","query":"SELECT 1 AS openid"}`,
	"POST /v1/audiences/{name}/followers":                `{}`,
}

// creates are the routes that make a thing of one's own where another tenant has one of that name.
var creates = map[string]string{
	"PUT /v1/channels/{name}":  `{"driver":"discard"}`,
	"PUT /v1/templates/{name}": `{"text":"mine"}`,
	"PUT /v1/digests/{name}":   `{"window":"1h"}`,
	"PUT /v1/routes/{name}":    `{"steps":[{"channels":["later"]}]}`,
	"PUT /v1/rosters/{name}":   `{"days":{"1":["mine"]}}`,
	"PUT /v1/presets/{name}":   gatewayFile("1", "content"),
	"PUT /v1/reminders/{id}":   `{"draft":{"channel":"later","to":[{"user":"mine"}],"content":{"text":"x"}},"repeat":{"cron":"0 9 * * *"}}`,
	"PUT /v1/fronts/{name}":    `{"kind":"alertmanager","channel":"out","to":[{"user":"mine"}]}`,
}

// furnished is a house whose tenant default has one of everything, and the ids by the folder of
// the address.
func furnished(t *testing.T) (*house, map[string][]string) {
	h := with(t)
	h.must(201, "PUT", "/v1/channels/tianyuan", `{"driver":"discard"}`)
	h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["u1"]}}`)
	h.must(201, "PUT", "/v1/people/zhang", `{"roles":{"default":"viewer"}}`)
	h.must(200, "PUT", "/v1/routes/night", `{"steps":[{"channels":["later"]}]}`)
	routed := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", `{"route":"night","to":[{"user":"u1"}],"content":{"text":"x"}}`))
	h.must(200, "PUT", "/v1/digests/evening", `{"window":"1h"}`)
	gathered := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", `{"channel":"later","digest":"evening","to":[{"user":"u1"}],"content":{"text":"x"}}`))
	collection := read[posthouse.Delivery](t, h.must(200, "GET", "/v1/deliveries/"+gathered.Deliveries[0].ID, "")).Collection
	h.must(200, "PUT", "/v1/templates/hello", `{"text":"hello ${name}"}`)
	h.must(200, "PUT", "/v1/users", `{"users":[{"id":"u1","addresses":{"out":"a1"}}]}`)
	key := read[posthouse.Key](t, h.must(201, "POST", "/v1/keys", `{"name":"k","scope":"read"}`))
	h.must(201, "PUT", "/v1/channels/phones", `{"driver":"test","pull":true}`)
	h.must(201, "POST", "/v1/agents", `{"id":"phone","channels":["phones"]}`)
	failed := h.send("out", "refused")[0]
	lost := h.send("out", "lost")[0]
	waiting := h.send("later", "u1")[0]
	h.until(failed, posthouse.Failed)
	h.until(lost, posthouse.Unknown)
	h.write(`INSERT INTO posthouse_outbox (id, draft, error, failures, failed_at, due_at) VALUES ('held', '{}', 'the draft is empty', 1, 1, 9000000000000000000)`)
	notice := read[struct{ ID string }](t, h.must(202, "POST", "/v1/notices", `{"userId":"u","userType":"分行","platform":"天元","messageContent":"x"}`))
	h.must(201, "PUT", "/v1/channels/oa", `{"driver":"discard"}`)
	h.must(200, "POST", "/v1/workflow/templates/defaults", "")
	reminder := read[posthouse.Reminder](t, h.must(202, "POST", "/v1/reminders", countdown("")))
	job := read[struct{ JobID string }](t, h.must(202, "POST", "/v1/notify/jobs", `{"bizType":3,"bizId":1,"channel":0,"payload":{"taskName":"x"},"userIds":["u1"]}`))
	h.must(202, "POST", "/v1/workflow/events", `{"event":"task.created","task_id":"task-1","task":{"name":"n","create_by":"u1","nodes":[{"id":"n1","name":"n"}]}}`)
	h.must(200, "POST", "/v1/campaigns", `{"name":"spring","channel":"out","content":{"text":"x"}}`)
	h.must(200, "POST", "/v1/audiences", `{"name":"vip"}`)
	h.must(200, "PUT", "/v1/presets/gateway", gatewayFile("1", "recipient"))
	h.must(201, "PUT", "/v1/fronts/ops", `{"kind":"alertmanager","channel":"out","to":[{"user":"u1"}]}`)
	count := read[wire.Decision](t, h.must(200, "POST", "/v1/decisions", `{"outcome":"replay","channel":"out","dry_run":true}`))
	decision := read[wire.Decision](t, h.must(202, "POST", "/v1/decisions", `{"outcome":"replay","channel":"out","confirm":"`+count.Confirm+`"}`))
	file := read[wire.StoredMedia](t, h.must(201, "POST", "/v1/media?name=a.txt", "hello"))
	follows := read[wire.Subscription](t, h.must(201, "POST", "/v1/subscriptions", `{"url":"https://9.9.9.9/hook","channels":["nobody"]}`))
	return h, map[string][]string{
		"campaigns":     {"spring"},
		"people":        {"zhang"},
		"presets":       {"gateway"},
		"fronts":        {"ops"},
		"audiences":     {"vip"},
		"media":         {file.ID},
		"subscriptions": {follows.ID},
		"workflow":      {"task-1"},
		"notify":        {job.JobID},
		"messages":      {posthouse.MessageID(failed), posthouse.MessageID(waiting), routed.ID},
		"routes":        {"night"},
		"digests":       {"evening"},
		"collections":   {collection},
		"notifications": {posthouse.DeliveryID(routed.ID, 1)},
		"deliveries":    {failed, lost, waiting},
		"outbox":        {"held"},
		"reminders":     {reminder.ID},
		"decisions":     {decision.ID},
		"agents":        {"phone"},
		"channels":      {"out", "later"}, "templates": {"hello"}, "rosters": {"duty", "duty.csv", "duty.ics"}, "users": {"u1"}, "keys": {key.ID}, "tenants": {"default"}, "notices": {notice.ID},
	}
}

// TestATenantSeesNothingOfAnother walks over each route with a parameter, with each id of
// another tenant (FLEET-13).
func TestATenantSeesNothingOfAnother(t *testing.T) {
	t.Parallel()
	h, things := furnished(t)
	var own []request
	for _, r := range routes() {
		from := strings.IndexByte(r.Path, '{')
		if from < 0 || r.Scope == "" || r.Scope == posthouse.ScopeAgent { // an agent's key is its own: see agents_test.go
			continue
		}
		line := r.Method + " " + r.Path
		body, known := bodies[line]
		if _, makes := creates[line]; !known && !makes && r.Method != http.MethodGet {
			t.Errorf("%s has no case: give it a line in bodies or creates", line)
			continue
		}
		folder := strings.Split(r.Path, "/")[2]
		if len(things[folder]) == 0 {
			t.Errorf("%s: furnished makes no %s", line, folder)
		}
		for _, id := range things[folder] {
			path := r.Path[:from] + id + r.Path[strings.IndexByte(r.Path, '}')+1:]
			if creates[line] != "" {
				own = append(own, request{method: r.Method, path: strings.TrimSuffix(strings.TrimSuffix(path, ".csv"), ".ics"), body: creates[line], key: "other"})
				continue
			}
			got := h.do(request{method: r.Method, path: path, body: body, key: "other"})
			if got.status != 404 || read[fault](t, got).Code != posthouse.CodeNotFound {
				t.Errorf("%s %s: got %d %s, want 404", r.Method, path, got.status, got.body)
			}
		}
	}
	slices.SortStableFunc(own, func(a, b request) int { // the others send on channels
		return cmp.Compare(strings.Count(b.path, "/v1/channels/"), strings.Count(a.path, "/v1/channels/"))
	})
	before := h.everything()
	for _, r := range own {
		if got := h.do(r); got.status/100 != 2 {
			t.Errorf("%s %s: got %d %s, want one of its own", r.method, r.path, got.status, got.body)
		}
	}
	if after := h.everything(); after != before {
		t.Errorf("another tenant changed things of the first:\nbefore %s\nafter %s", before, after)
	}
}

// everything is what the tenant default has that does not change by itself.
func (h *house) everything() string {
	h.Helper()
	var b strings.Builder
	for _, path := range []string{"channels", "templates", "rosters", "users", "keys", "reminders", "agents", "campaigns", "campaigns/spring", "audiences", "presets/gateway", "fronts"} {
		b.WriteString(h.must(200, "GET", "/v1/"+path, "").body)
	}
	return b.String()
}

func TestListsAndKeysOfATenantAreItsOwn(t *testing.T) {
	t.Parallel()
	h, things := furnished(t)
	for _, r := range routes() {
		if r.Method != http.MethodGet || r.Scope == "" || strings.Contains(r.Path, "{") || r.Path == "/v1/drivers" || r.Path == "/v1/front-kinds" {
			continue
		}
		path := r.Path
		if path == "/v1/notify/jobs" {
			path += "?bizType=3&bizId=1"
		}
		if r.Path == "/v1/tenants" || r.Path == "/v1/people" || r.Path == "/v1/processes" || r.Path == "/v1/settings" || r.Path == "/v1/doctor" || r.Path == "/v1/doctor/run" || r.Path == "/v1/overview" || r.Path == "/v1/deliveries/stopped" {
			continue // see TestTenantsAreChangedByTheDefaultOneOnly, TestPeopleAreTheDefaultTenants, TestProcessesAreShownToTheDefaultTenant, TestAnOverviewIsMadeOfWhatIsCounted and TestADecisionAboutManyGoesOnByItself
		}
		if r.Path == "/v1/presets" { // all have those that come with the program
			if got := h.do(request{method: "GET", path: path, key: "other"}); got.status != 200 || strings.Contains(got.body, `"gateway"`) {
				t.Errorf("%s shows another tenant %d %.200s", r.Path, got.status, got.body)
			}
			continue
		}
		if got := h.do(request{method: "GET", path: path, key: "other"}); r.Path != "/v1/keys" && got.body != "{\"items\":[]}\n" && (got.status != 200 || got.body != "") {
			t.Errorf("%s shows another tenant %s", r.Path, got.body)
		} else if strings.Contains(got.body, things["keys"][0]) {
			t.Errorf("%s shows the key of another tenant: %s", r.Path, got.body)
		}
	}
	if got := h.do(request{method: "POST", path: "/v1/deliveries/replay", body: `{"channel":"out"}`, key: "other"}); !strings.Contains(got.body, `"matched":0`) {
		t.Errorf("a replay by filter found deliveries of another tenant: %s", got.body)
	}
	h.do(request{method: "PUT", path: "/v1/channels/out", body: `{"driver":"discard"}`, key: "other"})
	draft := `{"channel":"out","to":[{"user":"u"}],"content":{"text":"x"},"dedup_key":"d"}`
	first := h.do(request{method: "POST", path: "/v1/messages", body: draft, header: http.Header{"Idempotency-Key": {"k"}}})
	second := h.do(request{method: "POST", path: "/v1/messages", body: draft, key: "other", header: http.Header{"Idempotency-Key": {"k"}}})
	if first.status != 202 || second.status != 202 || second.header.Get("Idempotent-Replay") != "" || strings.Contains(second.body, "duplicate_of") {
		t.Errorf("keys of one tenant hold for another: %d %s, then %d %s", first.status, first.body, second.status, second.body)
	}
}
