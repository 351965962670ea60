package api_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// narrowed makes a key of a scope that is narrowed to something.
func (h *house) narrowed(scope posthouse.Scope, limits posthouse.KeyLimits) string {
	h.Helper()
	body, err := json.Marshal(wire.Key{Name: "narrow", Scope: scope, KeyLimits: limits})
	if err != nil {
		h.Fatal(err)
	}
	return read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", string(body))).Secret
}

// hiding is a house with a delivery, a reminder and a channel that some keys are not for.
type hiding struct {
	*house
	delivery, message, reminder string
	version                     int64 // of the channel
}

func hide(t *testing.T) hiding {
	t.Helper()
	h := with(t)
	h.must(201, "PUT", "/v1/channels/tianyuan", `{"driver":"test"}`)
	h.must(201, "PUT", "/v1/channels/secret", `{"driver":"test"}`)
	ch := read[posthouse.Channel](h, h.must(200, "POST", "/v1/channels/secret/pause", `{"reason":"for the test"}`))
	hidden := hiding{house: h, version: ch.Version}
	sent := read[posthouse.Accepted](h, h.must(202, "POST", "/v1/messages", `{"channel":"secret","kind":"payroll","ref":"r1","to":[{"user":"boss"}],"content":{"text":"hidden words"}}`))
	hidden.message, hidden.delivery = sent.ID, sent.Deliveries[0].ID
	made := read[wire.Reminder](h, h.must(202, "POST", "/v1/reminders", `{"draft":{"channel":"secret","kind":"payroll","ref":"r1","to":[{"user":"boss"}],"content":{"text":"hidden words"}},"repeat":{"every":"1h","max":3,"from":"2030-01-01T00:00:00Z"}}`))
	hidden.reminder = made.ID
	return hidden
}

// call is a request of a route for what is hidden.
func (h hiding) call(r web.Route) request {
	id := map[string]string{"messages": h.message, "deliveries": h.delivery, "notices": h.delivery, "reminders": h.reminder}[r.Tag]
	id = cmp.Or(id, "none")
	path := strings.NewReplacer("{name}", "secret", "{id}", id).Replace(r.Path)
	bodies := map[string]string{
		"POST /v1/messages":           `{"channel":"secret","kind":"payroll","to":[{"user":"boss"}],"content":{"text":"x"}}`,
		"POST /v1/messages/cancel":    `{"kind":"payroll","ref":"r1"}`,
		"POST /v1/reminders":          `{"draft":{"channel":"secret","kind":"payroll","to":[{"user":"boss"}],"content":{"text":"x"}},"repeat":{"every":"1h","max":3,"from":"2030-01-01T00:00:00Z"}}`,
		"PUT /v1/reminders/{id}":      `{"draft":{"channel":"secret","kind":"payroll","to":[{"user":"boss"}],"content":{"text":"x"}},"repeat":{"every":"1h"}}`,
		"POST /v1/reminders/end":      `{"kind":"payroll","ref":"r1"}`,
		"POST /v1/deliveries/replay":  `{"user":"boss"}`,
		"POST /v1/notices":            `{"userId":"boss","userType":"branch","platform":"tianyuan","messageContent":"c"}`,
		"POST /v1/notify/jobs":        `{"bizType":0,"bizId":"2","channel":0,"userIds":["boss"]}`,
		"PUT /v1/channels/{name}":     `{"driver":"test"}`,
		"POST /v1/deliveries/resolve": `{"user":"boss","outcome":"not_sent","dry_run":true}`,
	}
	body := bodies[r.Method+" "+r.Path]
	if strings.HasSuffix(r.Path, "/resolve") && body == "" {
		body = `{"outcome":"not_sent"}`
	}
	if body == "" && r.Method != http.MethodGet && r.Method != http.MethodDelete {
		body = `{}`
	}
	return request{method: r.Method, path: path, body: body}
}

// Each address, with each kind of narrowed key: what is hidden is refused, answered as what is not there, or left out.
func TestANarrowedKeySeesAndTouchesNothingElseAtAnyAddress(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]posthouse.KeyLimits{
		"channels": {Channels: []string{"later", "out"}},
		"kinds":    {Kinds: []string{"order", ""}},
		"both":     {Channels: []string{"later", "secret"}, Kinds: []string{"order"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hide(t)
			key := h.narrowed(posthouse.ScopeAdmin, limits)
			checked := 0
			for _, r := range routes() {
				if r.Scope == "" || (r.Tag == "channels" || r.Tag == "accounts") && name != "channels" {
					continue // to a channel's settings the kinds of messages are nothing
				}
				req := h.call(r)
				req.key = key
				got := h.do(req)
				checked++
				refused := got.status == 403 || got.status == 404
				empty := got.status == 200 && !strings.Contains(got.body, "boss") && !strings.Contains(got.body, h.delivery) && !strings.Contains(got.body, h.message) &&
					!strings.Contains(got.body, h.reminder) && !strings.Contains(got.body, "secret")
				if !refused && !empty {
					t.Errorf("%s %s: got %d %.300s", req.method, req.path, got.status, got.body)
				}
			}
			if checked < 60 {
				t.Fatalf("only %d addresses were tried", checked)
			}
			d := read[posthouse.Delivery](h, h.must(200, "GET", "/v1/deliveries/"+h.delivery, ""))
			r := read[wire.Reminder](h, h.must(200, "GET", "/v1/reminders/"+h.reminder, ""))
			ch := read[posthouse.Channel](h, h.must(200, "GET", "/v1/channels/secret", ""))
			if d.State != posthouse.Pending || r.State != posthouse.ReminderOpen || !ch.Paused || ch.Version != h.version {
				t.Errorf("a narrowed key has changed what it does not see: %s, %s, %+v", d.State, r.State, ch)
			}
		})
	}
}

func TestANarrowedKeyDoesWhatItIsFor(t *testing.T) {
	t.Parallel()
	h := hide(t)
	key := h.narrowed(posthouse.ScopeSend, posthouse.KeyLimits{Channels: []string{"later"}, Kinds: []string{"order"}})
	as := func(method, path, body string) reply {
		return h.do(request{method: method, path: path, body: body, key: key})
	}
	got := as("POST", "/v1/messages", `{"channel":"later","kind":"order","ref":"7","to":[{"user":"u1"}],"content":{"text":"x"}}`)
	if got.status != 202 {
		t.Fatalf("send: got %d %s", got.status, got.body)
	}
	sent := read[posthouse.Accepted](h, got)
	for path, want := range map[string]int{"/v1/messages": 1, "/v1/deliveries": 1, "/v1/messages?user=u1": 1, "/v1/deliveries?state=pending": 1, "/v1/messages?channel=secret": 0, "/v1/deliveries?kind=payroll": 0, "/v1/channels": 1} {
		if items := read[list[any]](h, as("GET", path, "")).Items; len(items) != want {
			t.Errorf("GET %s: got %v, want %d of them", path, items, want)
		}
	}
	for _, path := range []string{"/v1/messages/" + sent.ID, "/v1/deliveries/" + sent.Deliveries[0].ID, "/v1/deliveries/" + sent.Deliveries[0].ID + "/events"} {
		if got := as("GET", path, ""); got.status != 200 {
			t.Errorf("GET %s: got %d %s", path, got.status, got.body)
		}
	}
	for body, field := range map[string]string{
		`{"channel":"secret","kind":"order","to":[{"user":"u1"}],"content":{"text":"x"}}`:  "channel",
		`{"channel":"later","kind":"payroll","to":[{"user":"u1"}],"content":{"text":"x"}}`: "kind",
		`{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"}}`:                  "kind",
	} {
		if got := as("POST", "/v1/messages", body); got.status != 403 || !strings.Contains(got.body, field+" is") {
			t.Errorf("%s: got %d %s, want 403 that names %s", body, got.status, got.body, field)
		}
	}
	if got := read[wire.Cancelled](h, as("POST", "/v1/messages/cancel", `{"kind":"order","ref":"7"}`)); got.Cancelled != 1 {
		t.Errorf("cancel: got %+v, want its own one cancelled", got)
	}
}

func TestAKeyThatIsNarrowedToActionsDoesNothingElse(t *testing.T) {
	t.Parallel()
	h := with(t)
	key := h.narrowed(posthouse.ScopeAdmin, posthouse.KeyLimits{Actions: []string{"channels.*", "deliveries.read", "*.preview"}})
	allowed := 0
	for _, r := range routes() {
		if r.Scope == "" {
			continue
		}
		got := h.do(request{method: r.Method, path: strings.NewReplacer("{name}", "none", "{id}", "none").Replace(r.Path), body: "{", key: key})
		want := web.Matches([]string{"channels.*", "deliveries.read", "*.preview"}, r.Action()) && r.Tag != "keys"
		if (got.status != 403) != want {
			t.Errorf("%s %s (%s): got %d %s", r.Method, r.Path, r.Action(), got.status, got.body)
		}
		if want {
			allowed++
		}
	}
	if allowed < 10 {
		t.Errorf("only %d addresses are open to it", allowed)
	}
}

func TestANarrowedKeyMakesNoKeys(t *testing.T) {
	t.Parallel()
	h := with(t)
	for _, limits := range []posthouse.KeyLimits{{Channels: []string{"out"}}, {Kinds: []string{"order"}}, {Actions: []string{"*"}}} {
		key := h.narrowed(posthouse.ScopeAdmin, limits)
		for _, call := range []string{"POST /v1/keys", "POST /v1/keys/x/rotate", "POST /v1/agents", "POST /v1/agents/x/key", "DELETE /v1/keys/x", "GET /v1/keys"} {
			method, path, _ := strings.Cut(call, " ")
			if got := h.do(request{method: method, path: path, body: "{}", key: key}); got.status != 403 {
				t.Errorf("%+v, %s: got %d %s, want 403", limits, call, got.status, got.body)
			}
		}
	}
}

func TestTheLimitsOfAKeyAreChecked(t *testing.T) {
	t.Parallel()
	h := with(t)
	for body, field := range map[string]string{
		`{"name":"x","scope":"read","channels":[""]}`:                                    "channels[0]",
		`{"name":"x","scope":"read","kinds":["a\nb"]}`:                                   "kinds[0]",
		`{"name":"x","scope":"read","kinds":["otp","alarm","otp","otp"]}`:                "kinds[2]",
		`{"name":"x","scope":"send","channels":["out","out"]}`:                           "channels[1]",
		`{"name":"x","scope":"send","actions":["messages.made"]}`:                        "actions[0]",
		`{"name":"x","scope":"send","actions":["messages.*","["]}`:                       "actions[1]",
		`{"name":"x","scope":"send","actions":["keys.create"]}`:                          "actions[0]",
		`{"name":"x","scope":"agent","agent":"y","channels":["out"]}`:                    "channels",
		`{"name":"x","scope":"read","channels":[` + strings.Repeat(`"a",`, 50) + `"a"]}`: "channels",
	} {
		if got := h.must(422, "POST", "/v1/keys", body); !strings.Contains(got.body, `"path":"`+field+`"`) {
			t.Errorf("%s: got %s, want a problem of %s", body, got.body, field)
		}
	}
	made := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys", `{"name":"x","scope":"send","channels":["out"],"kinds":["order"],"actions":["messages.create"]}`))
	next := read[wire.NewKey](h, h.must(201, "POST", "/v1/keys/"+made.ID+"/rotate", `{}`))
	if k := keyOf(h, next.ID); len(k.Channels) != 1 || len(k.Kinds) != 1 || len(k.Actions) != 1 {
		t.Errorf("a rotated key is %+v, want it as narrow as the one before", k)
	}
}
