package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// clone copies the first row of a table that a condition finds, often, with some columns changed: k.n counts the copies. The
// server is not asked: what it would not take all at once may stand there all the same.
func (h *house) clone(table, where string, copies int, changed map[string]string) {
	h.Helper()
	db := dbtest.SQL(h, h.dsn)
	var list string
	if err := db.QueryRowContext(h.Context(), "SELECT group_concat(name, ' ') FROM pragma_table_info(?)", table).Scan(&list); err != nil {
		h.Fatal(err)
	}
	columns := strings.Fields(list)
	values := slices.Clone(columns)
	for i, column := range columns {
		if v, ok := changed[column]; ok {
			values[i] = v
		}
	}
	done, err := db.ExecContext(h.Context(), fmt.Sprintf(`WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM k WHERE n < %d)
		INSERT INTO %s (%s) SELECT %s FROM (SELECT * FROM %s WHERE %s LIMIT 1) t, k`, copies, table, strings.Join(columns, ", "), strings.Join(values, ", "), table, where))
	if err != nil {
		h.Fatalf("clone %s: %v", table, err)
	}
	if n, _ := done.RowsAffected(); int(n) != copies {
		h.Fatalf("%d rows of %s were made, want %d", n, table, copies)
	}
}

// long is a text of about as many bytes, as SQL.
func long(bytes int) string { return fmt.Sprintf("hex(zeroblob(%d))", bytes/2) }

// many fills lists with more than one answer may hold. Each makes 120 entries or more of 50 kB or so.
var many = map[string]func(h *house, id string){
	"/v1/fronts": func(h *house, _ string) {
		h.must(201, "PUT", "/v1/fronts/ops", `{"kind":"alertmanager","channel":"out","to":[{"user":"u1"}]}`)
		h.clone("posthouse_fronts", "1", 120, map[string]string{"name": "'f' || k.n", "token": "'t' || k.n", "settings": `'{"channel":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/agents": func(h *house, _ string) {
		h.clone("posthouse_agents", "id = 'phone'", 120, map[string]string{"id": "'p' || k.n", "capabilities": `'{"x":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/agents/{id}/handouts": func(h *house, _ string) {
		h.clone("posthouse_queue", "1", 120, map[string]string{
			"id": "substr(id, 1, 20) || printf('%06d', k.n)", "state": "'sending'", "lease_until": "4102444800000000", "lease_owner": "'agent/phone'", "last_error": long(50_000),
		})
	},
	"/v1/audiences": func(h *house, _ string) {
		h.must(200, "POST", "/v1/audiences", `{"name":"list","channel":"out"}`)
		h.clone("posthouse_audiences", "name = 'list'", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%06d', k.n)", "name": "'a' || k.n", "header": `'["' || ` + long(50_000) + ` || '"]'`})
	},
	"/v1/audit": func(h *house, _ string) {
		h.clone("posthouse_audit", "1", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%06d', k.n)", "detail": `'{"x":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/campaigns": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/templates/coupon", `{"text":"${name}"}`)
		h.must(200, "POST", "/v1/campaigns", `{"name":"coupon","channel":"out","template":"coupon","payload":{"a":1},"deadline":"2040-01-01T00:00:00Z"}`)
		h.clone("posthouse_campaigns", "1", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%06d', k.n)", "name": "'c' || k.n", "payload": `'{"x":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/channels": func(h *house, _ string) {
		h.clone("posthouse_channels", "name = 'later'", 120, map[string]string{"name": "'c' || k.n", "settings": `'{"codes":{"' || ` + long(50_000) + ` || '":"rate"}}'`})
	},
	"/v1/channels/{name}/accounts": func(h *house, _ string) {
		h.must(201, "PUT", "/v1/channels/fleet", `{"driver":"test","accounts":true}`)
		h.must(201, "PUT", "/v1/channels/fleet/accounts/a", `{}`)
		h.clone("posthouse_accounts", "1", 120, map[string]string{"name": "'a' || k.n", "pause_reason": long(50_000)})
	},
	"/v1/deliveries": func(h *house, _ string) {
		h.clone("posthouse_queue", "1", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%06d', 500000 + k.n)", "last_error": long(50_000)})
	},
	"/v1/deliveries/{id}/attempts": tries,
	"/v1/deliveries/{id}/events":   func(*house, string) {}, // those of the attempts
	"/v1/keys": func(h *house, _ string) {
		h.clone("posthouse_api_keys", "name = 'read'", 120, map[string]string{"id": "'k' || k.n", "limits": `'{"kinds":["' || ` + long(50_000) + ` || '"]}'`})
	},
	"/v1/logs": func(h *house, id string) {
		if _, err := dbtest.SQL(h, h.dsn).ExecContext(h.Context(), "INSERT INTO posthouse_receive_log (id, tenant, at, delivery) VALUES (?, 'default', 1, ?)", id, id); err != nil {
			h.Fatal(err)
		}
		h.clone("posthouse_receive_log", "1", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%06d', k.n)", "content": long(50_000)})
	},
	"/v1/messages": func(h *house, _ string) {
		h.clone("posthouse_messages", "1", 120, map[string]string{"id": "substr(id, 1, 20) || printf('%05d', k.n) || '0'", "payload": `'{"x":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/notices": func(h *house, _ string) {
		h.must(201, "PUT", "/v1/channels/zhaohu", `{"driver":"test"}`)
		h.must(200, "POST", "/v1/channels/zhaohu/pause", "")
		for range 120 {
			h.must(202, "POST", "/v1/notices", `{"userId":"u","userType":"branch","platform":"zhaohu","messageContent":"`+strings.Repeat("x", 50_000)+`"}`)
		}
	},
	"/v1/notify/jobs": func(h *house, _ string) {
		h.must(201, "PUT", "/v1/channels/oa", `{"driver":"test"}`)
		h.must(200, "POST", "/v1/channels/oa/pause", "")
		h.must(200, "PUT", "/v1/templates/task_created", `{"text":"a task","lenient":true}`)
		for i := range 120 {
			h.must(202, "POST", "/v1/notify/jobs", fmt.Sprintf(`{"bizType":0,"bizId":"t%d","channel":0,"userIds":["u"],"payload":{"text":"%s"}}`, i, strings.Repeat("x", 50_000)))
		}
	},
	"/v1/outbox": func(h *house, _ string) {
		if _, err := dbtest.SQL(h, h.dsn).ExecContext(h.Context(), `INSERT INTO posthouse_outbox (draft) VALUES ('{')`); err != nil {
			h.Fatal(err)
		}
		h.clone("posthouse_outbox", "1", 120, map[string]string{"id": "k.n + 1000", "seq": "k.n + 1000", "failed_at": "1", "due_at": "9000000000000000", "error": long(50_000)})
	},
	"/v1/reminders": func(h *house, _ string) {
		for i := range 120 {
			h.must(202, "POST", "/v1/reminders", fmt.Sprintf(`{"draft":{"channel":"later","dedup_key":"r%d","to":[{"user":"u"}],"content":{"text":"%s"}},"repeat":{"every":"24h","from":"2030-01-01T00:00:00Z"}}`, i, strings.Repeat("x", 50_000)))
		}
	},
	"/v1/rosters": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/rosters/duty", `{"days":{"1":["li.na"]}}`)
		h.clone("posthouse_rosters", "1", 120, map[string]string{"name": "'r' || k.n"})
		h.clone("posthouse_roster_days", "1", 120, map[string]string{"roster": "'r' || k.n"})
		h.clone("posthouse_roster_entries", "1", 120, map[string]string{"roster": "'r' || k.n", "user_id": long(50_000)})
	},
	"/v1/routes": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/routes/w", `{"steps":[{"channels":["out"]}]}`)
		h.clone("posthouse_routes", "1", 120, map[string]string{"name": "'w' || k.n", "doc": `'{"note":"' || ` + long(50_000) + ` || '","steps":[]}'`})
	},
	"/v1/digests": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/digests/w", `{"window":"1h"}`)
		h.clone("posthouse_digests", "1", 120, map[string]string{"name": "'w' || k.n", "doc": `'{"note":"' || ` + long(50_000) + ` || '"}'`})
	},
	"/v1/collections": func(h *house, id string) {
		h.must(200, "PUT", "/v1/digests/w", `{"window":"1h"}`)
		h.must(202, "POST", "/v1/messages", `{"channel":"later","digest":"w","to":[{"user":"a"}],"content":{"text":"x"}}`)
		h.clone("posthouse_plans", "type = 'collection'", 120, map[string]string{
			"id": "'" + posthouse.MessageID(id) + "' || printf('%04d', 1000 + k.n)", "next_at": "0", "doc": `'{"state":"settled","channel":"later","by":"' || ` + long(50_000) + ` || '"}'`,
		})
	},
	"/v1/messages/{id}/notifications": func(h *house, id string) {
		h.must(200, "PUT", "/v1/routes/w", `{"steps":[{"channels":["later"]}]}`)
		h.must(202, "POST", "/v1/messages", `{"route":"w","to":[{"user":"a"}],"content":{"text":"x"}}`)
		h.clone("posthouse_plans", "type = 'notification'", 120, map[string]string{
			"id": "substr('" + id + "', 1, 22) || printf('%04d', 1000 + k.n)", "next_at": "0", "doc": `'{"state":"told","reason":"' || ` + long(50_000) + ` || '"}'`,
		})
	},
	"/v1/notifications": func(*house, string) {}, // those of the message
	"/v1/templates": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/templates/coupon", `{"text":"${name}"}`)
		h.clone("posthouse_templates", "1", 120, map[string]string{"name": "'t' || k.n", "body": long(50_000)})
	},
	"/v1/tenants": func(h *house, _ string) {
		h.must(201, "PUT", "/v1/tenants/bank", `{}`)
		h.clone("posthouse_tenants", "1", 120, map[string]string{"name": "'t' || k.n", "note": long(50_000)})
	},
	"/v1/users": func(h *house, _ string) {
		h.must(200, "PUT", "/v1/users", `{"users":[{"id":"u"}]}`)
		h.clone("posthouse_users", "1", 120, map[string]string{"id": "'u' || k.n", "addresses": `'{"out":"' || ` + long(50_000) + ` || '"}'`})
	},
}

// tries gives a delivery 1,500 attempts with what was asked and answered.
func tries(h *house, id string) {
	for n, e := range map[string]map[string]string{
		"0": {"type": "'start'", "from_state": "'pending'", "to_state": "'sending'"},
		"1": {"type": "'retry'", "from_state": "'sending'", "to_state": "'pending'", "request": long(2000), "response": long(2000)},
	} {
		e["version"], e["attempt"] = "2 * k.n + "+n, "k.n"
		h.clone("posthouse_transitions", "delivery = '"+id+"'", 1500, e)
	}
}

// also is what a list has to be asked besides.
var also = map[string]string{"/v1/logs": "&log=receive"}

// few are lists that one answer always has room for, with the reason.
var few = map[string]string{
	"/v1/drivers":                         "they are made with the program",
	"/v1/duty-schedule":                   "it is one roster, which came in one request",
	"/v1/channels/{name}/callbacks":       "two for each account, which are an address",
	"/v1/channels/{name}/windows":         "an entry has a name and four numbers, and a page 1,000 of them",
	"/v1/channels/{name}/rates":           "an entry has a name and ten numbers, and a page 1,000 of them",
	"/v1/front-kinds":                     "they are made with the program",
	"/v1/fronts/{name}/calls":             "ten, each of some kilobytes",
	"/v1/presets":                         "those that ship and at most 200 of a tenant, each without its files",
	"/v1/decisions":                       "the newest 200, each of a filter and some numbers",
	"/v1/media":                           "an entry has names and numbers, and a page 1,000 of them",
	"/v1/suppressions":                    "an entry has an address and a line, and a page 1,000 of them",
	"/v1/subscriptions":                   "a tenant has at most 100, each of at most 150 names of 255 bytes",
	"/v1/subscriptions/{id}/dead-letters": "the newest 1,000, each of an id and one line",
	"/v1/proof/keys":                      "one for each key that the keyring ever had",
	"/v1/settings":                        "the settings of the program",
	"/v1/processes":                       "those of a day, each of names and numbers",
	"/v1/people":                          "an entry has names and numbers, and roles that count in the page's bound",
	"/v1/workflow/tasks":                  "an entry has a task's id, its state and one line, and a page 1,000 of them",
}

// lists are the operations of the OpenAPI document that answer a list, and whether it has pages.
func lists(h *house) map[string]bool {
	h.Helper()
	type schema struct {
		Properties map[string]any `json:"properties"`
	}
	document := read[struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name string }
			Responses  map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct{ Schemas map[string]schema }
	}](h, h.must(200, "GET", "/openapi.json", ""))
	out := map[string]bool{}
	for path, methods := range document.Paths {
		get := methods["get"]
		ref := get.Responses["200"].Content["application/json"].Schema.Ref
		if _, list := document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")].Properties["items"]; list {
			var names []string
			for _, p := range get.Parameters {
				names = append(names, p.Name)
			}
			out[path] = slices.Contains(names, "cursor") && slices.Contains(names, "limit")
		}
	}
	return out
}

// Each list of the API has a bound: it is filled here beyond what one answer may hold, or there is a reason that it cannot be.
// A new list has to be put in one of the tables.
func TestEveryListIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	h := with(t)
	all := lists(h)
	if len(all) < 25 {
		t.Fatalf("the document has %d lists: %v", len(all), slices.Sorted(maps.Keys(all)))
	}
	h.must(201, "PUT", "/v1/channels/sms", `{"driver":"pull","config":{"content":"any"}}`)
	h.must(201, "POST", "/v1/agents", `{"id":"phone","channels":["sms"]}`)
	id := read[struct{ Deliveries []struct{ ID string } }](h, h.must(202, "POST", "/v1/messages", `{"channel":"later","to":[{"user":"a"},{"user":"b"}],"content":{"text":"x"}}`)).Deliveries[0].ID
	names := strings.NewReplacer("{id}/handouts", "phone/handouts", "{id}/notifications", posthouse.MessageID(id)+"/notifications", "{id}", id, "{name}", "fleet")
	for _, path := range slices.Sorted(maps.Keys(all)) {
		fill, reason := many[path], few[path]
		if (fill == nil) == (reason == "") {
			t.Errorf("GET %s answers a list: it stands in neither of the tables many and few, or in both", path)
		}
		if fill == nil {
			continue
		}
		if !all[path] {
			t.Errorf("GET %s has no pages", path)
			continue
		}
		fill(h, id)
		if got, longest := pages(h, names.Replace(path)+"?limit=1000"+also[path]); got < 120 || longest > 5<<20 {
			t.Errorf("GET %s: %d entries, the longest page of %d bytes; want 120 or more, none above 5 MiB", path, got, longest)
		}
	}
	for path := range many {
		if _, there := all[path]; !there {
			t.Errorf("there is no list at %s", path)
		}
	}
	story := h.must(200, "GET", "/v1/deliveries/"+id+"/story", "")
	var told struct{ More bool }
	if err := json.Unmarshal([]byte(story.body), &told); err != nil || !told.More || len(story.body) > 20<<20 {
		t.Errorf("the story has %d bytes, more %t (%v)", len(story.body), told.More, err)
	}
	if got := h.do(request{method: http.MethodGet, path: "/v1/deliveries/" + id + "/attempts?cursor=x"}); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest {
		t.Errorf("a cursor of nobody's gives %d", got.status)
	}
}
