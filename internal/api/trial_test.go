package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Whoever may test channels and not send messages reaches the addresses that a channel lists for tests, and nobody else; the audit log
// has whom a test went to and what it said.
func TestATestOfWhoMayNotSendGoesToListedAddresses(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.must(201, "PUT", "/v1/channels/one", `{"driver":"test","test_to":["duty-desk"]}`)
	h.must(201, "PUT", "/v1/channels/many", `{"driver":"test","accounts":true,"test_to":["duty-desk"]}`)
	h.must(201, "PUT", "/v1/channels/many/accounts/a", `{}`)
	h.must(200, "PUT", "/v1/templates/hi", `{"text":"hi ${name}"}`)
	h.must(200, "POST", "/v1/campaigns", `{"name":"spring","channel":"one","content":{"text":"spring"}}`)
	key := func(actions string) string {
		made := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"op","scope":"admin","actions":[`+actions+`]}`))
		h.keys[made.ID] = made.Secret
		return made.ID
	}
	operator := key(`"*.read","channels.*","accounts.*","templates.*","campaigns.*"`)
	sender := key(`"channels.test","messages.*"`)
	ask := func(as, path, body string) reply {
		return h.do(request{method: "POST", path: path, body: body, key: as})
	}
	for path, body := range map[string]string{
		"/v1/channels/one/test":             `{"to":{"address":"WHO"},"content":{"text":"pay now"}}`,
		"/v1/channels/many/accounts/a/test": `{"to":{"user":"WHO"},"content":{"text":"pay now"}}`,
		"/v1/templates/hi/test":             `{"channel":"one","to":{"user":"WHO"},"payload":{"name":"pay now"}}`,
		"/v1/campaigns/spring/test":         `{"to":["WHO"]}`,
	} {
		if got := ask(operator, path, strings.Replace(body, "WHO", "a-stranger", 1)); got.status != 403 || !strings.Contains(got.body, "test_to") || !strings.Contains(got.body, "duty-desk") {
			t.Errorf("%s to a stranger: %d %s", path, got.status, got.body)
		}
		if got := ask(operator, path, strings.Replace(body, "WHO", "duty-desk", 1)); got.status/100 != 2 {
			t.Errorf("%s to a listed address: %d %s", path, got.status, got.body)
		}
		line := read[list[wire.AuditEntry]](h, h.must(200, "GET", "/v1/audit?limit=1", "")).Items[0]
		words := "pay now"
		if strings.Contains(path, "campaigns") {
			words = "spring"
		}
		if !strings.HasSuffix(line.Action, ".test") || !strings.Contains(string(line.Detail), `"duty-desk"`) || !strings.Contains(string(line.Detail), words) {
			t.Errorf("%s: the audit log says %s %s", path, line.Action, line.Detail)
		}
	}
	if got := ask(operator, "/v1/channels/one/test", `{}`); got.status != 200 || !strings.Contains(got.body, "PONG") {
		t.Errorf("the driver's own check: %d %s", got.status, got.body)
	}
	if got := ask(operator, "/v1/channels/one/test", `{"to":{"address":"duty-desk"},"content":{"text":"x","mention_all":true}}`); got.status != 403 || !strings.Contains(got.body, "mention_all") {
		t.Errorf("a test that calls everybody: %d %s", got.status, got.body)
	}
	if got := ask(sender, "/v1/channels/one/test", `{"to":{"address":"a-stranger"}}`); got.status != 200 {
		t.Errorf("by who may send: %d %s", got.status, got.body)
	}
	if got := ask(operator, "/v1/channels/one/test", `{"to":{"address":"duty-desk"},"content":{"text":"`+strings.Repeat("x", 40<<10)+`"}}`); got.status != 422 || !strings.Contains(got.body, "32768") {
		t.Errorf("more than the audit log holds: %d %.200s", got.status, got.body)
	}
	if got := h.must(422, "PUT", "/v1/channels/one", `{"driver":"test","test_to":["@all",""]}`); !strings.Contains(got.body, "test_to[0]") || !strings.Contains(got.body, "test_to[1]") {
		t.Errorf("a list that has everybody: %s", got.body)
	}
}

// Where this server may not call an address, it is not the provider who refuses: it is said when the address is stored, when the send
// fails, and by all that shows why something waits.
func TestAnAddressInsideIsSaidToBeOurs(t *testing.T) {
	t.Parallel()
	h := open(t)
	const config = `{"driver":"httpapi","config":{"url":"http://10.9.9.9/send","body":"${text}","encoding":"text"}}`
	if got := h.must(201, "PUT", "/v1/channels/inside", config); !strings.Contains(got.body, `"warnings":["config.url: 10.9.9.9`) || !strings.Contains(got.body, "--allow-networks 10.9.9.9") {
		t.Errorf("it is stored as %s", got.body)
	}
	if got := h.must(200, "PUT", "/v1/channels/inside", config); !strings.Contains(got.body, `"warnings":["config.url`) {
		t.Errorf("stored again it is %s", got.body)
	}
	if got := h.must(201, "PUT", "/v1/channels/outside", strings.Replace(config, "10.9.9.9", "provider.example.com", 1)); strings.Contains(got.body, "warnings") {
		t.Errorf("an address outside is stored as %s", got.body)
	}
	if got := h.must(201, "POST", "/v1/subscriptions", `{"url":"http://192.168.7.7/hook"}`); !strings.Contains(got.body, `"warnings":["url: 192.168.7.7`) {
		t.Errorf("the subscription is %s", got.body)
	}
	ids := h.send("inside", "li.na")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	soon := func(path, want string) (got string) {
		t.Helper()
		for {
			if got = h.must(200, "GET", path, "").body; strings.Contains(got, want) {
				return got
			}
			select {
			case <-tick.C:
			case <-h.Context().Done():
				t.Fatalf("%s never says %s: %s", path, want, got)
			}
		}
	}
	shown := soon("/v1/channels/inside", "parked")
	if !strings.Contains(shown, "this server does not let the account send: blocked ADDRESS_BLOCKED") || strings.Contains(shown, "provider refuses") {
		t.Errorf("the channel is shown as %s", shown)
	}
	explained := soon("/v1/deliveries/"+ids[0]+"/explain", `"cause":"blocked"`)
	if !strings.Contains(explained, "allow_networks") || strings.Contains(explained, "provider refuses") {
		t.Errorf("it is explained by %s", explained)
	}
	if !strings.Contains(explained, `"summary":"It waits: `) {
		t.Errorf("the summary says nothing: %s", explained)
	}
}
