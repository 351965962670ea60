package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// awaits waits until something is so.
func (h *house) awaits(so func() bool) {
	h.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-h.Context().Done():
			h.Fatal("it does not come")
		}
	}
}

func TestATenantIsMadeShownAndDeleted(t *testing.T) {
	t.Parallel()
	h := with(t)
	made := read[posthouse.Tenant](t, h.must(201, "PUT", "/v1/tenants/branch-7", `{"note":"Pudong","quota":{"requests":[{"max":20,"per":"1s"}],"open":9}}`))
	if made.Name != "branch-7" || made.Note != "Pudong" || made.Quota.Open != 9 || made.CreatedAt.IsZero() {
		t.Errorf("got %+v", made)
	}
	h.must(200, "PUT", "/v1/tenants/branch-7", `{"note":"Pudong"}`)
	key := read[wire.NewKey](t, h.must(201, "POST", "/v1/tenants/branch-7/keys", `{"name":"first","scope":"admin"}`))
	if key.Tenant != "branch-7" {
		t.Errorf("the key is %+v", key)
	}
	as := func(method, path, body string) reply {
		return h.do(request{method: method, path: path, body: body, key: key.Secret})
	}
	as("PUT", "/v1/channels/sms", `{"driver":"test"}`)
	as("POST", "/v1/channels/sms/pause", `{"reason":"x"}`)
	sent := read[posthouse.Accepted](t, as("POST", "/v1/messages", `{"channel":"sms","to":[{"user":"u"}],"content":{"text":"x"}}`))
	held := read[wire.Tenant](t, h.must(200, "GET", "/v1/tenants/branch-7", ""))
	if want := (wire.TenantHolds{Open: 1, Keys: 1, Channels: 1}); held.Holds != want || held.Quota.Any() {
		t.Errorf("it has %+v and %+v, want %+v and no quota", held.Holds, held.Quota, want)
	}
	for _, path := range []string{"/v1/tenants/branch-7", "/v1/tenants/branch-7?force=true"} {
		if got := h.must(409, "DELETE", path, ""); !strings.Contains(got.body, "1 open deliveries, 1 keys, 1 channels: cancel what is open") {
			t.Errorf("DELETE %s: %s", path, got.body)
		}
	}
	as("POST", "/v1/messages/"+sent.ID+"/cancel", "")
	if got := h.must(409, "DELETE", "/v1/tenants/branch-7", ""); !strings.Contains(got.body, "1 keys, 1 channels: delete them first, or force it") {
		t.Errorf("got %s", got.body)
	}
	h.must(204, "DELETE", "/v1/tenants/branch-7?force=true", "")
	if got := as("GET", "/v1/channels", ""); got.status != 401 {
		t.Errorf("its key still works: %d %s", got.status, got.body)
	}
	h.must(404, "GET", "/v1/tenants/branch-7", "")
	h.must(404, "DELETE", "/v1/tenants/branch-7", "")
	audit := h.must(200, "GET", "/v1/audit?target=branch-7", "").body
	for _, want := range []string{`"tenants.put"`, `"tenants.delete"`, `"force":true`} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit log has no %s: %s", want, audit)
		}
	}
}

// Quiet hours and caps that make no sense are refused with field and example, and nothing is changed; who sends what they do not hold needs the
// grant for it.
func TestQuietHoursOfATenantAreChecked(t *testing.T) {
	t.Parallel()
	h := with(t)
	h.must(201, "PUT", "/v1/tenants/branch-8", `{"quiet_hours":[{"from":"22:00","to":"08:00","spread":"30m"}],"caps":[{"max":3,"per":"24h"}]}`)
	for body, wants := range map[string][]string{
		`{"quiet_hours":[{"from":"22:00","to":"22:00"}]}`:                                              {`"quiet_hours[0].to"`, "08:00"},
		`{"quiet_hours":[{"from":"22:00","to":"08:00","time_zone":"Mars"}]}`:                           {`"quiet_hours[0].time_zone"`, "Asia/Shanghai"},
		`{"quiet_hours":[{"from":"22:00","to":"08:00"},{"from":"07:00","to":"09:00"}]}`:                {`"quiet_hours[1].from"`, "overlaps quiet_hours[0]"},
		`{"caps":[{"max":0,"per":"1ms","then":"drop"}]}`:                                               {`"caps[0].max"`, `"caps[0].per"`, `"caps[0].then"`},
		`{"quiet_hours":[{"from":"25:00","to":"8","days":"never","spread":"99h"}],"caps":[{"max":1}]}`: {`"quiet_hours[0].from"`, `"quiet_hours[0].to"`, `"quiet_hours[0].days"`, `"quiet_hours[0].spread"`, `"caps[0].per"`},
	} {
		got := h.must(422, "PUT", "/v1/tenants/branch-8", body)
		for _, want := range wants {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s: got %s, want %s in it", body, got.body, want)
			}
		}
	}
	if kept := read[posthouse.Tenant](t, h.must(200, "GET", "/v1/tenants/branch-8", "")); len(kept.QuietHours) != 1 || kept.QuietHours[0].To != "08:00" || len(kept.Caps) != 1 {
		t.Errorf("it has %+v", kept)
	}
	h.must(201, "PUT", "/v1/channels/late", `{"driver":"discard","quiet_hours":[{"from":"20:00","to":"08:00"}]}`)
	h.must(201, "PUT", "/v1/tenants/default", `{"quiet_hours":[{"from":"09:00","to":"20:00"}]}`)
	for path, want := range map[string]string{
		"/v1/tenants/default": "leave no time beside those of the channel late",
		"/v1/channels/day":    "leave no time beside those of the tenant default",
	} {
		body := `{"driver":"discard","quiet_hours":[{"from":"20:00","to":"09:00"}]}`
		if strings.Contains(path, "tenants") {
			body = `{"quiet_hours":[{"from":"08:00","to":"20:00"}]}`
		}
		if got := h.must(422, "PUT", path, body); !strings.Contains(got.body, `"quiet_hours"`) || !strings.Contains(got.body, want) {
			t.Errorf("PUT %s: got %s, want %s in it", path, got.body, want)
		}
	}
	for path, want := range map[string]string{"/v1/tenants/default": `leave no time to \"ann\" beside those of the channel late`, "/v1/channels/day": `leave no time to \"ann\" beside those of the tenant default`} {
		body := `{"driver":"discard","quiet_hours":[{"from":"20:00","to":"09:00","users":["ann"]}]}`
		if strings.Contains(path, "tenants") {
			body = `{"quiet_hours":[{"from":"08:00","to":"20:00","users":["ann"]}]}`
		}
		if got := h.must(422, "PUT", path, body); !strings.Contains(got.body, want) {
			t.Errorf("PUT %s: got %s, want %s in it", path, got.body, want)
		}
	}
	h.must(200, "PUT", "/v1/tenants/default", `{}`)
	loud := `{"channel":"out","to":[{"user":"ann"}],"content":{"text":"x"},"critical":true}`
	if got := h.do(request{method: "POST", path: "/v1/messages", key: "send", body: loud}); got.status != 403 || !strings.Contains(got.body, "grant critical") {
		t.Errorf("without the grant: %d %s", got.status, got.body)
	}
}

func TestTenantsAreChangedByTheDefaultOneOnly(t *testing.T) {
	t.Parallel()
	h := with(t)
	for _, r := range []request{
		{method: "PUT", path: "/v1/tenants/other", body: `{"quota":{}}`},
		{method: "DELETE", path: "/v1/tenants/other?force=true"},
		{method: "POST", path: "/v1/tenants/other/keys", body: `{"name":"x","scope":"admin"}`},
	} {
		for key, want := range map[string]int{"other": 403, "send": 403, "read": 403} {
			r.key = key
			if got := h.do(r); got.status != want {
				t.Errorf("%s %s as %s: got %d %s, want %d", r.method, r.path, key, got.status, got.body, want)
			}
		}
	}
	if got := h.do(request{method: "GET", path: "/v1/tenants/other", key: "other"}); got.status != 200 || !strings.Contains(got.body, `"keys":1`) {
		t.Errorf("its own: got %d %s", got.status, got.body)
	}
	if own := h.do(request{method: "GET", path: "/v1/tenants", key: "other"}); own.body != "{\"items\":[{\"name\":\"other\"}]}\n" {
		t.Errorf("another tenant lists %s", own.body)
	}
	all := read[list[posthouse.Tenant]](t, h.must(200, "GET", "/v1/tenants", ""))
	if len(all.Items) != 2 || all.Items[0].Name != "default" || all.Items[1].Name != "other" {
		t.Errorf("all are %+v", all.Items)
	}
	if got := h.must(409, "DELETE", "/v1/tenants/default?force=true", ""); !strings.Contains(got.body, "it stays") {
		t.Errorf("got %s", got.body)
	}
	h.must(422, "PUT", "/v1/tenants/%20x", `{}`)
}
