package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const robots = "/v1/channels/robots/accounts"

// fleet is a house with a channel that has accounts, and none yet.
func fleet(t *testing.T) *house {
	t.Helper()
	h := open(t)
	h.must(201, "PUT", "/v1/channels/robots", `{"driver":"wecom_robot","accounts":true,"config":{"url":"http://127.0.0.1:1/send"}}`)
	return h
}

func (h *house) accounts(kind, query, body string) reply {
	h.Helper()
	return h.do(request{method: "PUT", path: robots + query, body: body, header: http.Header{"Content-Type": {kind}}})
}

func has(t *testing.T, got reply, status int, parts ...string) {
	t.Helper()
	if got.status != status {
		t.Errorf("got %d, want %d: %s", got.status, status, got.body)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			t.Errorf("want %s in %s", part, got.body)
		}
	}
}

// FLEET-5: an account is set up, paused until a time and resumed; its secret is never shown.
func TestAnAccountIsSetUpAndPaused(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	has(t, h.do(request{method: "PUT", path: robots + "/a", body: `{"config":{"key":"s3cret-of-a"},"weight":3,"limits":[{"max":20,"per":"1m"}]}`}), 201, `"key":"********"`, `"state":"open"`, `"weight":3`)
	has(t, h.do(request{method: "PUT", path: robots + "/a", body: `{"config":{"key":"********"},"pools":["vip"]}`}), 200, `"key":"********"`, `"version":2`)
	has(t, h.do(request{method: "GET", path: robots + "/a", key: "read"}), 200, `"pools":["vip"]`)
	has(t, h.do(request{method: "GET", path: robots + "/a", key: "other"}), 404)
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	has(t, h.do(request{method: "POST", path: robots + "/a/pause", body: `{"reason":"limit of the day","until":"` + until + `"}`}), 200, `"state":"paused"`, `"state_until":"`+until)
	has(t, h.do(request{method: "POST", path: robots + "/a/pause", body: `{"until":"2020-01-01T00:00:00Z"}`}), 422, `"path":"until"`)
	has(t, h.do(request{method: "POST", path: robots + "/a/resume"}), 200, `"state":"open"`)
	has(t, h.do(request{method: "POST", path: robots + "/b/resume"}), 404, `has no account`)
	has(t, h.do(request{method: "POST", path: "/v1/channels/robots/test"}), 409, `test one of them`)
	has(t, h.do(request{method: "POST", path: robots + "/a/test", body: `{"to":{"address":"x"}}`}), 200, `"ok":false`)
	if got := h.must(200, "GET", "/v1/audit?action=accounts.put", ""); strings.Contains(got.body, "s3cret") {
		t.Error("the audit log holds the secret")
	}
	if got := h.do(request{method: "DELETE", path: robots + "/a"}); got.status != 204 {
		t.Errorf("deleted: %d %s", got.status, got.body)
	}
	has(t, h.do(request{method: "GET", path: robots}), 200, `"items":[]`)
}

func TestWhatIsWrongWithAnAccountIsNamed(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	h.must(201, "PUT", "/v1/channels/one", `{"driver":"wecom_robot","config":{"key":"k"}}`)
	has(t, h.do(request{method: "PUT", path: "/v1/channels/one/accounts/a", body: `{}`}), 409, `set accounts: true`)
	has(t, h.do(request{method: "PUT", path: "/v1/channels/none/accounts/a", body: `{}`}), 404)
	for body, want := range map[string]string{
		`{}`: `"path":"config.key"`,
		`{"config":{"key":"k","url":"http://evil.example"}}`:     `"path":"config.url"`,
		`{"config":{"key":"********"}}`:                          `"path":"config.key"`,
		`{"config":{"key":"k"},"weight":1001}`:                   `"path":"weight"`,
		`{"config":{"key":"k"},"base_rate":-1}`:                  `"path":"base_rate"`,
		`{"config":{"key":"k"},"pools":["a b"]}`:                 `"path":"pools[0]"`,
		`{"config":{"key":"k"},"limits":[{"max":0,"per":"1s"}]}`: `"path":"limits[0].max"`,
		`{"config":{"key":"k"},"color":"red"}`:                   `"path":"color"`,
	} {
		has(t, h.do(request{method: "PUT", path: robots + "/a", body: body}), 422, want)
	}
	for body, want := range map[string]string{
		`{"driver":"pull","accounts":true}`:                    `"path":"accounts"`,
		`{"driver":"discard","accounts":true,"every":"1m"}`:    `"path":"every"`,
		`{"driver":"discard","sticky":"conversation"}`:         `"path":"sticky"`,
		`{"driver":"discard","failover":true}`:                 `"path":"failover"`,
		`{"driver":"discard","accounts":true,"sticky":"glue"}`: `"path":"sticky"`,
	} {
		has(t, h.do(request{method: "PUT", path: "/v1/channels/x", body: body}), 422, want)
	}
}

// A channel that goes elsewhere must not take the secrets of its accounts along.
func TestAnAccountsSecretIsBoundToItsDestination(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	has(t, h.do(request{method: "PUT", path: robots + "/a", body: `{"config":{"key":"s3cret-of-a"}}`}), 201)
	h.must(200, "PUT", "/v1/channels/robots", `{"driver":"wecom_robot","accounts":true,"config":{"url":"http://127.0.0.2:1/send"}}`)
	has(t, h.do(request{method: "GET", path: robots + "/a"}), 200, `"state":"broken"`, `put the account anew`)
	has(t, h.do(request{method: "PUT", path: robots + "/a", body: `{"config":{"key":"********"}}`}), 422, `"path":"config.key"`)
	has(t, h.do(request{method: "PUT", path: robots + "/a", body: `{"config":{"key":"another"}}`}), 200, `"state":"open"`)
}

func TestAccountsAreImportedAllOrNone(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	const csv, lines = "text/csv", "application/x-ndjson"
	table := "name,pools,weight,limits,config.key\na,vip;night,3,20/1s;1000/1m,key-a\n\"'-b\",,,,key-b\n"
	has(t, h.accounts(csv, "", table), 422, `"path":"line 3.name"`)
	table = strings.Replace(table, `"'-b"`, "b", 1)
	has(t, h.accounts(csv, "?dry_run=true", table), 200, `"stored":2`, `"created":2`, `"dry_run":true`)
	has(t, h.do(request{method: "GET", path: robots}), 200, `"items":[]`)
	has(t, h.accounts(csv, "", table), 200, `"stored":2`, `"created":2`)
	has(t, h.accounts(csv, "", "name,weight\nc,heavy\n"), 422, `"path":"line 2.weight"`)
	has(t, h.accounts(csv, "", "name,weight,limits,config.key\nc,,twenty,k\nd,,20/1s;x,k\ne,2000,,k\nf,,,\n"), 422,
		`"path":"line 2.limits"`, `"path":"line 3.limits"`, `"path":"line 4.weight"`, `"path":"line 5.config.key"`)
	has(t, h.accounts(csv, "", "name,colour\nc,red\n"), 422, `"path":"line 1"`, "colour")
	has(t, h.accounts(csv, "", "name,config.key\nc,k\nc,k\n"), 422, `"path":"line 3.name"`, "as at line 2")
	has(t, h.accounts(lines, "", `{"name":"d","config":{"key":"k"}}`+"\n\n"+`{"name":"e","config":{}}`+"\nno\n"), 422, `"path":"line 4"`)
	has(t, h.accounts(lines, "", `{"name":"d","config":{"key":"k"}}`+"\n\n"+`{"name":"e","config":{}}`+"\n"), 422, `"path":"line 3.config.key"`, `of the account \"e\" is missing`)
	has(t, h.accounts("application/json", "", `{"accounts":[{"name":"d","config":{"key":"k"}},{"name":"e","config":{"key":"k"},"weight":1001}]}`), 422, `"path":"accounts[1].weight"`, `of the account \"e\" is`)
	has(t, h.accounts("application/json", "", `{"accounts":[]}`), 422, `"path":"accounts"`)
	has(t, h.accounts("application/json", "?dry_run=perhaps", `{"accounts":[{"name":"x","config":{"key":"k"}}]}`), 422, `"path":"query.dry_run"`)
	if got := h.do(request{method: "GET", path: robots}); strings.Count(got.body, `"name":`) != 2 {
		t.Errorf("a bad import stored something: %s", got.body)
	}
	out := h.do(request{method: "GET", path: robots + "-export?format=csv"})
	has(t, out, 200, "name,pools,weight,base_rate,limits,budget,config.key\na,vip;night,3,,20/1s;1000/1m,,********\nb,,,,,,********\n")
	has(t, h.accounts(csv, "", out.body), 200, `"stored":2`, `"created":0`)
	all := h.do(request{method: "GET", path: robots + "-export"})
	has(t, all, 200, `"key":"********"`)
	has(t, h.accounts(lines, "", all.body), 200, `"stored":2`, `"created":0`)
	has(t, h.do(request{method: "GET", path: robots + "-export?format=xml"}), 422, `"path":"query.format"`)
}

// FLEET-5: what a message asks for is found out when it is accepted.
func TestAMessageNamesItsAccountOrItsPool(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	h.must(200, "POST", "/v1/channels/robots/pause", "")
	h.must(201, "PUT", robots+"/a", `{"config":{"key":"k"},"pools":["vip"]}`)
	h.must(201, "PUT", "/v1/channels/one", `{"driver":"discard"}`)
	send := func(channel, more string) reply {
		return h.do(request{method: "POST", path: "/v1/messages", body: `{"channel":"` + channel + `","to":[{"address":"x"}],"content":{"text":"t"}` + more + `}`})
	}
	has(t, send("robots", `,"account":"b"`), 422, `"path":"account"`, `which the channel`)
	has(t, send("robots", `,"pool":"night"`), 422, `"path":"pool"`, "vip")
	has(t, send("robots", `,"account":"a","pool":"vip"`), 422, `"path":"pool"`)
	has(t, send("one", `,"account":"a"`), 422, `"path":"account"`, "leave it out")
	has(t, send("robots", `,"pool":"vip"`), 202)
	has(t, send("robots", `,"account":"a"`), 202)
	has(t, h.do(request{method: "GET", path: "/v1/messages?channel=robots"}), 200, `"account":"a"`, `"pool":"vip"`)
	has(t, h.do(request{method: "GET", path: "/v1/deliveries?channel=robots"}), 200, `"pinned":true`, `"pool":"vip"`)
}

// FLEET-11: how full the windows of a channel and of its accounts are, and how fast an account could go.
func TestWindowsAndRatesOfAccounts(t *testing.T) {
	t.Parallel()
	h := fleet(t)
	h.must(200, "PUT", "/v1/channels/robots", `{"driver":"wecom_robot","accounts":true,"limits":[{"max":9,"per":"1m"}],"config":{"url":"http://127.0.0.1:1/send"}}`)
	h.must(200, "POST", "/v1/channels/robots/pause", "") // a claim holds permits until it has found nothing
	h.must(201, "PUT", robots+"/a", `{"config":{"key":"k"},"limits":[{"max":3,"per":"1h"}],"base_rate":0.5}`)
	h.must(201, "PUT", robots+"/b", `{"config":{"key":"k"},"limits":[{"max":4,"per":"1h"}]}`)
	windows := func(query string) reply {
		return h.do(request{method: "GET", path: "/v1/channels/robots/windows" + query, key: "read"})
	}
	const whole, own = `{"of":"channel","max":9,"per":"1m","used":0,"left":9}`, `{"of":"account","account":"a","max":3,"per":"1h","used":0,"left":3}`
	has(t, windows(""), 200, whole, own, `{"of":"rate","account":"a","max":1,"per":"2s","used":0,"left":1}`, `"account":"b","max":4`)
	if got := windows("?account=a,none"); strings.Contains(got.body, `"b"`) {
		t.Errorf("of one account there are %s", got.body)
	}
	first := windows("?limit=1")
	has(t, first, 200, whole, `"next":"`)
	if strings.Contains(first.body, own) {
		t.Errorf("a page of one has %s", first.body)
	}
	has(t, h.do(request{method: "GET", path: "/v1/channels/robots/windows", key: "other"}), 404)
	has(t, windows("?account="+strings.Repeat("a,", 200)+"a"), 422, `"path":"query.account"`)
	h.must(201, "PUT", "/v1/channels/phones", `{"driver":"pull"}`)
	has(t, h.do(request{method: "GET", path: "/v1/channels/phones/windows"}), 409, "agents fetch")

	history := func(query string) reply {
		return h.do(request{method: "GET", path: "/v1/channels/robots/rate-history" + query, key: "read"})
	}
	has(t, history("?account=a"), 200, `{"account":"a","step":"1m","points":[]}`)
	has(t, history("?account=a&since="+time.Now().Add(-9*time.Hour).UTC().Format(time.RFC3339)), 200, `"step":"10m"`)
	has(t, history("?account=a&since=2020-01-01T00:00:00Z"), 200, `"step":"10m"`)
	has(t, history("?account=a&since=2099-01-01T00:00:00Z"), 422, `"path":"query.since"`)
	has(t, history("?account=b"), 409, "has no rate")
	has(t, history("?account=c"), 404)
	has(t, history(""), 422, `"path":"query.account"`)
	has(t, h.do(request{method: "GET", path: "/v1/channels/robots/rate-history?account=a", key: "other"}), 404)
	h.must(201, "PUT", "/v1/channels/one", `{"driver":"discard","rate":{}}`)
	has(t, h.do(request{method: "GET", path: "/v1/channels/one/rate-history"}), 200, `{"step":"1m","points":[]}`)
	has(t, h.do(request{method: "GET", path: "/v1/channels/one/rate-history?account=a"}), 404)
}
