package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
)

// registered is an agent as the API answers one that was made.
type registered struct {
	posthouse.Agent
	Secret string `json:"secret"`
	Holds  int    `json:"holds"`
}

// withPhones is a house with the pulled channel phones and the agents a and b, without limits.
func withPhones(tb testing.TB, change ...func(*server.Options)) *house {
	tb.Helper()
	h := open(tb, change...)
	h.must(201, "PUT", "/v1/channels/phones", `{"driver":"test","pull":true}`)
	for _, id := range []string{"a", "b"} {
		h.keys[id] = h.register(id).Secret
	}
	return h
}

func (h *house) register(id string) registered {
	h.Helper()
	return read[registered](h, h.must(201, "POST", "/v1/agents", fmt.Sprintf(`{"id":%q,"channels":["phones"],"limits":[]}`, id)))
}

// as calls with an agent's key and wants a status.
func (h *house) as(agent string, status int, what, body string) reply {
	h.Helper()
	got := h.do(request{method: "POST", path: "/v1/agents/" + agent + "/" + what, body: body, key: agent})
	if got.status != status {
		h.Fatalf("%s by %s: got %d %s, want %d", what, agent, got.status, got.body, status)
	}
	return got
}

// claimed answers a claim.
type claimed struct {
	Handouts   []posthouse.Handout `json:"handouts"`
	Repeated   bool                `json:"repeated"`
	Reason     string              `json:"reason"`
	RetryAfter int64               `json:"retry_after_ms"`
}

// holdAnswers are the answers to what is said about hand-outs.
type holdAnswers struct {
	Results []struct {
		Delivery, Reason string
		OK               bool
		LeaseMillis      int64 `json:"lease_ms"`
	} `json:"results"`
}

// reportAnswers are the answers to reports.
type reportAnswers struct {
	Results []reportAnswer `json:"results"`
}

type reportAnswer struct {
	ReportID string                 `json:"report_id"`
	Result   posthouse.ReportResult `json:"result"`
	State    posthouse.State        `json:"state"`
	Repeated bool                   `json:"repeated"`
}

// handed claims one delivery, which must be there.
func (h *house) handed(agent string) posthouse.Handout {
	h.Helper()
	got := read[claimed](h, h.as(agent, 200, "claims", `{"max":1}`))
	if len(got.Handouts) != 1 {
		h.Fatalf("%s was handed %+v, want one delivery", agent, got)
	}
	return got.Handouts[0]
}

// holding is a body that names hand-outs.
func holding(list ...posthouse.Handout) string {
	var b strings.Builder
	for _, h := range list {
		fmt.Fprintf(&b, `,{"delivery":%q,"token":%d}`, h.Delivery, h.Token)
	}
	return `{"handouts":[` + b.String()[1:] + `]}`
}

// said is a report as JSON.
func said(id string, h posthouse.Handout, outcome posthouse.Outcome) string {
	b, _ := json.Marshal(posthouse.AgentReport{ReportID: id, Delivery: h.Delivery, Token: h.Token, Outcome: outcome})
	return string(b)
}

// PULL-14: an app is registered with a key of its own, and is paused, drained and taken away.
func TestAnAgentIsRegisteredChangedAndTakenAway(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	made := read[registered](t, h.must(201, "POST", "/v1/agents", `{"id":"phone-1","name":"柜台","channels":["phones"],"capabilities":{"operator":"cmcc"}}`))
	want := posthouse.Agent{
		Tenant: "default", ID: "phone-1", Name: "柜台", Channels: []string{"phones"}, Capabilities: map[string]string{"operator": "cmcc"},
		Limits: posthouse.AgentLimits(), State: posthouse.AgentActive, Key: made.Key,
	}
	times := cmpopts.IgnoreFields(posthouse.Agent{}, "CreatedAt", "UpdatedAt", "LastSeenAt")
	if diff := cmp.Diff(want, made.Agent, times); diff != "" || made.Key == "" || !strings.HasPrefix(made.Secret, "ph_"+made.Key+"_") {
		t.Errorf("made with the secret %s (-want +got):\n%s", made.Secret, diff)
	}
	shown := h.must(200, "GET", "/v1/agents/phone-1", "")
	if strings.Contains(shown.body, "secret") {
		t.Errorf("the secret is shown again: %s", shown.body)
	}
	put := read[posthouse.Agent](t, h.must(200, "PUT", "/v1/agents/phone-1", h.must(200, "GET", "/v1/agents", "").listedAs(t, "phone-1")))
	if diff := cmp.Diff(want, put, times); diff != "" {
		t.Errorf("put back as it was read (-want +got):\n%s", diff)
	}
	changed := read[posthouse.Agent](t, h.must(200, "PUT", "/v1/agents/phone-1", `{"channels":["phones"],"limits":[]}`))
	if changed.Name != "" || changed.Limits == nil || len(changed.Limits) != 0 || changed.Key != made.Key {
		t.Errorf("changed: %+v, want no name, no limits and the same key", changed)
	}
	for _, step := range []struct {
		what, body string
		state      posthouse.AgentState
		reason     string
	}{{"pause", `{"reason":"battery"}`, posthouse.AgentPaused, "battery"}, {"drain", "", posthouse.AgentDraining, ""}, {"resume", "", posthouse.AgentActive, ""}} {
		got := read[registered](t, h.must(200, "POST", "/v1/agents/phone-1/"+step.what, step.body))
		if got.State != step.state || got.Reason != step.reason {
			t.Errorf("%s: got %s %q, want %s %q", step.what, got.State, got.Reason, step.state, step.reason)
		}
	}
	h.keys["phone-1"] = made.Secret
	h.as("phone-1", 200, "claims", `{}`)
	h.must(204, "DELETE", "/v1/agents/phone-1", "")
	if got := h.do(request{method: "POST", path: "/v1/agents/phone-1/claims", body: `{}`, key: "phone-1"}); got.status != 401 {
		t.Errorf("the key of an agent that was taken away: got %d %s, want 401", got.status, got.body)
	}
	h.must(404, "GET", "/v1/agents/phone-1", "")
	h.must(404, "DELETE", "/v1/agents/phone-1", "")
}

// listedAs is the item of a list with an id, as JSON.
func (r reply) listedAs(t *testing.T, id string) string {
	t.Helper()
	for _, item := range read[list[json.RawMessage]](t, r).Items {
		if strings.Contains(string(item), fmt.Sprintf(`"id":%q`, id)) {
			return string(item)
		}
	}
	t.Fatalf("%s is not in %s", id, r.body)
	return ""
}

func TestWhatIsWrongWithAnAgentIsNamed(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.must(201, "PUT", "/v1/channels/pushed", `{"driver":"test"}`)
	for body, want := range map[string][]string{
		`{}`:                                        {"channels", "has 0 channels: want 1 to 100, those the agent fetches from", "id", "is required: 1 to 64 printable characters, no space at either end"},
		`{"id":" 柜台","channels":["phones"]}`:        {"id", `is " 柜台": want 1 to 64 printable characters, no space at either end`},
		`{"id":"..","channels":["phones"]}`:         {"id", `is "..": dots alone do not stand in an address`},
		`{"id":"x","channels":["none"]}`:            {"channels[0]", `there is no channel "none"`},
		`{"id":"x","channels":["pushed"]}`:          {"channels[0]", `nobody fetches from the channel "pushed": set its pull to true, or name one of the driver pull`},
		`{"id":"x","channels":["phones","phones"]}`: {"channels[1]", `is "phones", which stands here twice`},
		`{"id":"x","channels":["phones"],"limits":[{"max":0,"per":"1s"}]}`:                           {"limits[0].max", "is 0, must be from 1 to 1000000000; no limit is an empty list"},
		`{"id":"x","channels":["phones"],"capabilities":{"sim":"` + strings.Repeat("1", 256) + `"}}`: {"capabilities.sim", "has 256 bytes: at most 255 are allowed"},
	} {
		got := read[fault](t, h.must(422, "POST", "/v1/agents", body))
		slices.SortFunc(got.Problems, func(a, b posthouse.Problem) int { return strings.Compare(a.Path, b.Path) })
		if diff := cmp.Diff(problemsOf(want), got.Problems); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if got := read[fault](t, h.must(409, "POST", "/v1/agents", `{"id":"a","channels":["phones"]}`)); got.Code != posthouse.CodeConflict {
		t.Errorf("an id that is taken: got %+v", got)
	}
	h.as("a", 200, "claims", `{}`) // its key was not revoked by that
}

// Section 2, K1 and K2: an agent's key reaches that agent and nothing else.
func TestAnAgentsKeyIsItsOwn(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	for _, r := range []request{
		{method: "POST", path: "/v1/agents/b/claims", body: `{}`, key: "a"},
		{method: "GET", path: "/v1/agents/b", key: "a"},
		{method: "GET", path: "/v1/agents/b/handouts", key: "a"},
		{method: "GET", path: "/v1/agents", key: "a"},
		{method: "GET", path: "/v1/messages", key: "a"},
		{method: "POST", path: "/v1/agents/a/pause", key: "a"},
		{method: "POST", path: "/v1/agents/a/claims", body: `{}`, key: "admin"},
		{method: "POST", path: "/v1/agents/a/report", body: `{}`, key: "send"},
	} {
		if got := h.do(r); got.status != 403 || read[fault](t, got).Code != posthouse.CodeForbidden {
			t.Errorf("%s %s with the key %s: got %d %s, want 403", r.method, r.path, r.key, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/agents/a", "/v1/agents/a/handouts"} {
		if got := h.do(request{method: "GET", path: path, key: "a"}); got.status != 200 {
			t.Errorf("%s with its own key: got %d %s", path, got.status, got.body)
		}
	}
}

// Two keys of an agent are valid for as long as its app needs to change them.
func TestAnAgentsKeyIsMadeAnew(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	second := read[struct{ ID, Secret, Agent string }](t, h.must(201, "POST", "/v1/agents/a/key", ""))
	third := read[struct{ ID, Secret, Agent string }](t, h.must(201, "POST", "/v1/keys", `{"name":"new app","scope":"agent","agent":"a"}`))
	if second.Agent != "a" || third.Agent != "a" {
		t.Errorf("the keys are of %q and %q, want a", second.Agent, third.Agent)
	}
	tries := func() (statuses []int) {
		for _, key := range []string{h.keys["a"], second.Secret, third.Secret} {
			statuses = append(statuses, h.do(request{method: "POST", path: "/v1/agents/a/claims", body: `{}`, key: key}).status)
		}
		return statuses
	}
	if got := tries(); !slices.Equal(got, []int{200, 200, 200}) {
		t.Errorf("three keys answer %v", got)
	}
	if got := read[registered](t, h.must(200, "GET", "/v1/agents/a", "")); got.Key != second.ID {
		t.Errorf("the agent's key is %s, want the second, %s", got.Key, second.ID)
	}
	last := read[struct{ ID, Secret string }](t, h.must(201, "POST", "/v1/agents/a/key", `{"revoke_old":true}`))
	if got := tries(); !slices.Equal(got, []int{401, 401, 401}) {
		t.Errorf("the old keys answer %v", got)
	}
	if got := h.do(request{method: "POST", path: "/v1/agents/a/claims", body: `{}`, key: last.Secret}); got.status != 200 {
		t.Errorf("the last key: got %d %s", got.status, got.body)
	}
	for body, path := range map[string]string{
		`{"name":"x","scope":"agent"}`: "agent", `{"name":"x","scope":"agent","agent":"none"}`: "agent", `{"name":"x","scope":"send","agent":"a"}`: "agent",
	} {
		if got := read[fault](t, h.must(422, "POST", "/v1/keys", body)); len(got.Problems) != 1 || got.Problems[0].Path != path {
			t.Errorf("%s: got %+v, want a problem of %s", body, got, path)
		}
	}
}

func TestOneAgentOfThatNameIsOneTenants(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.do(request{method: "PUT", path: "/v1/channels/phones", body: `{"driver":"test","pull":true}`, key: "other"})
	made := h.do(request{method: "POST", path: "/v1/agents", body: `{"id":"a","channels":["phones"],"limits":[]}`, key: "other"})
	if made.status != 201 {
		t.Fatalf("got %d %s", made.status, made.body)
	}
	theirs := read[registered](t, made).Secret
	h.send("phones", "u1")
	mine := h.handed("a")
	for what, body := range map[string]string{"start": holding(mine), "renew": holding(mine), "give-back": holding(mine)} {
		got := h.do(request{method: "POST", path: "/v1/agents/a/" + what, body: body, key: theirs})
		if answers := read[holdAnswers](t, got).Results; len(answers) != 1 || answers[0].OK {
			t.Errorf("%s of another tenant's hand-out: got %s", what, got.body)
		}
	}
	if got := h.do(request{method: "POST", path: "/v1/agents/a/report", body: said("r", mine, posthouse.OutcomeSent), key: theirs}); got.status != 404 {
		t.Errorf("a report on another tenant's delivery: got %d %s, want 404", got.status, got.body)
	}
	if got := h.do(request{method: "GET", path: "/v1/logs?log=send", key: "other"}); got.body != "{\"items\":[]}\n" {
		t.Errorf("another tenant's log: %s", got.body)
	}
	if got := h.do(request{method: "POST", path: "/v1/agents/a/claims", body: `{}`, key: theirs}); len(read[claimed](t, got).Handouts) != 0 {
		t.Errorf("another tenant's agent was handed %s", got.body)
	}
	h.as("a", 200, "report", said("r", mine, posthouse.OutcomeSent))
}

// PULL-14, 4.11: claim, start, report; and each of them again, because an answer may be lost.
func TestAnAgentClaimsStartsAndReports(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	ids := h.send("phones", "u1", "u2", "u3")
	first := read[claimed](t, h.as("a", 200, "claims", `{"claim_id":"c1","max":2,"app":"sms-app/2.1"}`))
	if len(first.Handouts) != 2 || first.Repeated {
		t.Fatalf("handed %+v, want 2", first)
	}
	one := first.Handouts[0]
	if one.Content.Text != "hello" || one.Recipient.User == "" || one.Channel != "phones" || one.Attempt != 1 || one.LeaseMillis <= 0 || one.IdemKey == "" {
		t.Errorf("handed %+v, want the content, the recipient and a lease", one)
	}
	again := read[claimed](t, h.as("a", 200, "claims", `{"claim_id":"c1","max":2}`))
	if diff := cmp.Diff(first.Handouts, again.Handouts, cmpopts.IgnoreFields(posthouse.Handout{}, "LeaseMillis")); diff != "" || !again.Repeated {
		t.Errorf("the claim repeated (-first +again):\n%s", diff)
	}
	if got := h.handed("b"); slices.ContainsFunc(first.Handouts, func(h posthouse.Handout) bool { return h.Delivery == got.Delivery }) {
		t.Errorf("b was handed %s, which a holds", got.Delivery)
	}
	held := read[list[posthouse.Delivery]](t, h.do(request{method: "GET", path: "/v1/agents/a/handouts", key: "a"})).Items
	if len(held) != 2 || held[0].LeaseOwner != "agent/a" {
		t.Errorf("a holds %+v, want 2", held)
	}
	for range 2 {
		if got := read[holdAnswers](t, h.as("a", 200, "start", holding(first.Handouts...))).Results; len(got) != 2 || !got[0].OK || !got[1].OK || got[0].LeaseMillis <= 0 {
			t.Errorf("start: %+v, want both", got)
		}
	}
	if got := read[holdAnswers](t, h.as("a", 200, "renew", holding(one))).Results; len(got) != 1 || !got[0].OK {
		t.Errorf("renew: %+v", got)
	}
	for i, repeated := range []bool{false, true} {
		got := read[reportAnswers](t, h.as("a", 200, "report", said("r1", one, posthouse.OutcomeSent))).Results
		if diff := cmp.Diff([]reportAnswer{{"r1", posthouse.ReportDone, posthouse.Sent, repeated}}, got); diff != "" {
			t.Errorf("report %d (-want +got):\n%s", i, diff)
		}
	}
	two := first.Handouts[1]
	got := read[reportAnswers](t, h.as("a", 200, "report", fmt.Sprintf(`{"reports":[%s,%s]}`, said("r2", two, posthouse.OutcomeDelivered), said("r3", posthouse.Handout{Delivery: posthouse.NewID(), Token: 1}, posthouse.OutcomeSent)))).Results
	if diff := cmp.Diff([]reportAnswer{{"r2", posthouse.ReportDone, posthouse.Delivered, false}, {"r3", posthouse.ReportMissing, "", false}}, got); diff != "" {
		t.Errorf("two reports (-want +got):\n%s", diff)
	}
	if len(ids) != 3 {
		t.Fatalf("sent %v", ids)
	}
}

// PULL-7 and section 2, D8: a report that comes too late is a conflict, and changes nothing.
func TestALateReportIsAConflictAndALateSuccessIsEvidence(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.send("phones", "u1")
	old := h.handed("a")
	if got := read[holdAnswers](t, h.as("a", 200, "give-back", holding(old))).Results; len(got) != 1 || !got[0].OK {
		t.Fatalf("give-back: %+v", got)
	}
	now := h.handed("b")
	if now.Delivery != old.Delivery || now.Token <= old.Token || now.Attempt != 1 || now.IdemKey != old.IdemKey {
		t.Errorf("handed again as %+v, want the same delivery with a later token and nothing burned", now)
	}
	late := read[fault](t, h.as("a", 409, "report", said("r1", old, posthouse.OutcomeNotSent)))
	if late.Code != posthouse.CodeConflict || !strings.Contains(late.Detail, "sending") {
		t.Errorf("a late failure: got %+v", late)
	}
	if got := read[holdAnswers](t, h.as("a", 200, "start", holding(old))).Results; got[0].OK || got[0].Reason != "stale" {
		t.Errorf("a late start: got %+v, want stale", got)
	}
	evidence := read[reportAnswers](t, h.as("a", 200, "report", said("r2", old, posthouse.OutcomeSent))).Results
	if evidence[0].Result != posthouse.ReportEvidence || evidence[0].State != posthouse.Sent {
		t.Errorf("a late success: got %+v, want evidence", evidence)
	}
	if got := read[holdAnswers](t, h.as("b", 200, "start", holding(now))).Results; got[0].OK {
		t.Errorf("b starts what a has sent: %+v", got)
	}
	h.as("b", 404, "report", said("r3", posthouse.Handout{Delivery: posthouse.NewID(), Token: 1}, posthouse.OutcomeSent))
}

func TestWhatIsWrongWithAClaimOrAReportIsNamed(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	id := posthouse.NewID()
	for _, test := range []struct {
		what, body string
		want       []string
	}{
		{"claims", `{"max":101,"wait":"61s","claim_id":"` + strings.Repeat("x", 65) + `"}`, []string{"claim_id", "has 65 bytes: at most 64 are allowed", "max", "is 101: want 1 to 100", "wait", "is 1m1s: want 0s to 1m"}},
		{"start", `{}`, []string{"handouts", "has 0 hand-outs: want 1 to 500"}},
		{"renew", `{"handouts":[{"delivery":"x","token":0}]}`, []string{"handouts[0].delivery", `is "x": want a delivery's id, 26 letters and digits`, "handouts[0].token", "is 0: want the hand-out's token"}},
		{"received", `{"texts":[]}`, []string{"texts", "has 0 texts: want 1 to 100"}},
		{"received", `{"texts":[{"text":"1"}]}`, []string{
			"texts[0].received_at", "is required: when the phone got it, such as 2026-10-01T08:30:00+08:00",
			"texts[0].sender", "is required: the number that it came from, such as +8613800138000", "texts[0].text_id", "is required: the phone's own id of the text, 1 to 64 bytes",
		}},
		{"report", `{"reports":[]}`, []string{"reports", "has 0 reports: want 1 to 500"}},
		{"report", `{"report_id":"r","reports":[{"report_id":"r","delivery":"` + id + `","token":1,"outcome":"sent"}]}`, []string{"reports", "stands beside fields of a single report: give one of both"}},
		{"report", `{"reports":[{"delivery":"` + id + `","token":1,"outcome":"done"}]}`, []string{"reports[0].outcome", `is "done": want one of sent, delivered, not_sent, unknown`, "reports[0].report_id", "is required: a new one for each report, 1 to 64 bytes"}},
	} {
		got := read[fault](t, h.as("a", 422, test.what, test.body))
		slices.SortFunc(got.Problems, func(a, b posthouse.Problem) int { return strings.Compare(a.Path, b.Path) })
		if diff := cmp.Diff(problemsOf(test.want), got.Problems); diff != "" {
			t.Errorf("%s %.80s (-want +got):\n%s", test.what, test.body, diff)
		}
	}
}

// Section 2, L12: a text of an error is cut and mended, whatever it is, and is never an error itself.
func TestNoErrorKeepsAReportFromBeingTaken(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	for text, want := range map[string]string{
		strings.Repeat("错", 3000) + `\u0000`: strings.Repeat("错", 500),
		`a\u0000b`:                           "ab",
		`a\ud83d`:                            "a\uFFFD", // the pair of an emoji, cut
		`\ude00b`:                            "\uFFFDb",
	} {
		id := h.send("phones", "u1")[0]
		got := h.handed("a")
		h.as("a", 200, "start", holding(got))
		h.as("a", 200, "report", fmt.Sprintf(`{"report_id":"r-%s","delivery":%q,"token":%d,"outcome":"not_sent","retry":false,"error":"%s"}`, id, got.Delivery, got.Token, text))
		if d := h.until(id, posthouse.Failed); d.Error != want {
			t.Errorf("of %.60s is kept %.60q, want %.60q", text, d.Error, want)
		}
	}
}

// K3: an agent may quote a sensitive content where it gives a delivery back, and where it reports, also that all is well.
func TestWhatAnAgentSaysOfASensitiveMessageIsNotKept(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	for _, sensitive := range []bool{true, false} {
		body := fmt.Sprintf(`{"channel":"phones","to":[{"user":"u"}],"content":{"text":"code 428193"},"kind":"otp","sensitive":%v}`, sensitive)
		id := read[posthouse.Accepted](t, h.must(202, "POST", "/v1/messages", body)).Deliveries[0].ID
		got := h.handed("a")
		h.as("a", 200, "give-back", strings.TrimSuffix(holding(got), "}")+`,"reason":"no signal for 428193"}`)
		got = h.handed("b")
		h.as("b", 200, "start", holding(got))
		h.as("b", 200, "report", strings.TrimSuffix(said("r-"+id, got, posthouse.OutcomeSent), "}")+`,"error":"ok: 428193"}`)
		for path, want := range map[string]int{"/v1/deliveries/" + id + "/events": 2, "/v1/logs?log=report&delivery=" + id: 2} {
			if sensitive {
				want = 0
			}
			if seen := h.must(200, "GET", path, "").body; strings.Count(seen, "428193") != want || !strings.Contains(seen, id) {
				t.Errorf("sensitive is %v: the content is to be seen %d times in %s", sensitive, want, seen)
			}
		}
	}
}

// K3: messages can be deleted before the log of reports is. Nobody can say then that one was not sensitive.
func TestWhatAnAgentSentAlongAboutAMessageThatIsGoneIsNotShown(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	id := h.send("phones", "u1")[0]
	h.as("a", 200, "report", strings.TrimSuffix(said("r", h.handed("a"), posthouse.OutcomeSent), "}")+`,"error":"ok: 428193"}`)
	for _, shown := range []bool{true, false} {
		if seen := h.must(200, "GET", "/v1/logs?log=report", "").body; strings.Contains(seen, `"request_data"`) != shown || !strings.Contains(seen, id) {
			t.Errorf("the request is to be shown: %v, in %s", shown, seen)
		}
		h.write("DELETE FROM posthouse_messages")
	}
}

// PULL-14: an idle agent hears of what is accepted while it waits.
func TestAWaitingAgentIsHandedWhatComes(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	answered := make(chan reply, 1)
	go func() {
		got, _ := h.try(request{method: "POST", path: "/v1/agents/a/claims", body: `{"wait":"60s"}`, key: "a"})
		answered <- got
	}()
	id := h.send("phones", "u1")[0]
	got := read[claimed](t, <-answered)
	if len(got.Handouts) != 1 || got.Handouts[0].Delivery != id {
		t.Errorf("handed %+v, want %s", got, id)
	}
}

func TestAPausedAgentIsToldWhy(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.send("phones", "u1", "u2")
	held := h.handed("a")
	h.must(200, "POST", "/v1/agents/a/pause", `{"reason":"battery"}`)
	if got := read[claimed](t, h.as("a", 200, "claims", `{}`)); len(got.Handouts) != 0 || got.Reason != "paused" {
		t.Errorf("a paused agent: got %+v", got)
	}
	h.must(409, "DELETE", "/v1/agents/a", "")
	h.as("a", 200, "start", holding(held))
	h.as("a", 200, "report", said("r", held, posthouse.OutcomeSent)) // it finishes what it holds
	h.must(204, "DELETE", "/v1/agents/a", "")
}

// PULL-14: what a dead phone held goes to others, and what it may have sent is said to be unknown.
func TestADeadAgentsHandoutsAreReassigned(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.send("phones", "u1", "u2")
	started, waiting := h.handed("a"), h.handed("a")
	h.as("a", 200, "start", holding(started))
	if got := h.must(200, "POST", "/v1/agents/a/reassign", `{"reason":"it fell into the river"}`).body; got != `{"released":1,"unknown":1}`+"\n" {
		t.Errorf("got %s, want one of each", got)
	}
	if got := h.handed("b"); got.Delivery != waiting.Delivery {
		t.Errorf("b was handed %s, want %s", got.Delivery, waiting.Delivery)
	}
	h.until(started.Delivery, posthouse.Unknown)
}

// PULL-9, PULL-10: a task's whole story in one call, and counts.
func TestTheWholeStoryOfADelivery(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	id := h.send("phones", "u1")[0]
	got := h.handed("a")
	h.as("a", 200, "start", holding(got))
	h.as("a", 200, "report", said("r1", got, posthouse.OutcomeSent))
	type line struct {
		Log, Outcome, Answer string
		Agent                string `json:"app_id"`
		Token                int64
		ReportID             string `json:"report_id"`
	}
	type story struct {
		Delivery  posthouse.Delivery
		Message   posthouse.Message
		Events    []posthouse.Event
		Attempts  []posthouse.Attempt
		Received  []line `json:"receive_log"`
		HandedOut []line `json:"send_log"`
		Reported  []line `json:"report_log"`
	}
	told := read[story](t, h.must(200, "GET", "/v1/deliveries/"+id+"/story", ""))
	var events []posthouse.EventType
	for _, e := range told.Events {
		events = append(events, e.Type)
	}
	if want := []posthouse.EventType{posthouse.EventAccept, posthouse.EventClaim, posthouse.EventStart, posthouse.EventSent}; !slices.Equal(events, want) {
		t.Errorf("the events are %v, want %v", events, want)
	}
	if told.Delivery.State != posthouse.Sent || told.Message.Content.Text != "hello" || len(told.Attempts) != 1 || told.Received == nil {
		t.Errorf("got %+v", told)
	}
	if diff := cmp.Diff([]line{{Log: "send", Agent: "a", Token: got.Token}}, told.HandedOut); diff != "" {
		t.Errorf("the hand-outs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]line{{Log: "report", Agent: "a", Token: got.Token, ReportID: "r1", Outcome: "sent", Answer: "done"}}, told.Reported); diff != "" {
		t.Errorf("the reports (-want +got):\n%s", diff)
	}
	h.must(404, "GET", "/v1/deliveries/"+posthouse.NewID()+"/story", "")
	h.send("phones", "u2")
	if got, want := h.must(200, "GET", "/v1/channels/phones/tally", "").body, `{"new":1,"retry":0,"processing":0,"unknown":0,"success":1,"failed":0}`+"\n"; got != want {
		t.Errorf("the tally: got %s, want %s", got, want)
	}
	h.must(201, "PUT", "/v1/channels/pushed", `{"driver":"test"}`)
	h.must(409, "GET", "/v1/channels/pushed/tally", "")
	for query, want := range map[string]int{"log=send": 1, "log=report&agent=a": 1, "log=report&agent=b": 0, "log=send&delivery=" + id: 1, "": 0, "log=send&since=2199-01-01T00:00:00Z": 0} {
		if got := read[list[line]](t, h.must(200, "GET", "/v1/logs?"+query, "")).Items; len(got) != want {
			t.Errorf("logs?%s: got %+v, want %d lines", query, got, want)
		}
	}
	h.must(422, "GET", "/v1/logs?log=x", "")
	h.must(422, "GET", "/v1/logs?agent=a", "")
}

// Section 2, K3: who sends a sensitive message reads it; no answer, page or log does.
func TestASensitiveContentIsSeenByItsAgentAlone(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	const code = "482913"
	body := `{"channel":"phones","to":[{"user":"u1"}],"content":{"text":"your code is ` + code + `"},"kind":"otp","ref":"1","sensitive":true,"forget_after":"1h"}`
	accepted := h.do(request{method: "POST", path: "/v1/messages", body: body, header: http.Header{"Idempotency-Key": {"k"}}})
	if accepted.status != 202 {
		t.Fatalf("got %d %s", accepted.status, accepted.body)
	}
	sent := read[posthouse.Accepted](t, accepted)
	got := h.handed("a")
	if !got.Sensitive || !strings.Contains(got.Content.Text, code) {
		t.Errorf("the agent was handed %+v, want the content", got)
	}
	h.as("a", 200, "start", holding(got))
	h.as("a", 200, "report", said("r1", got, posthouse.OutcomeSent))
	d := sent.Deliveries[0].ID
	for _, path := range []string{
		"/v1/messages", "/v1/messages/" + sent.ID, "/v1/deliveries", "/v1/deliveries/" + d, "/v1/deliveries/" + d + "/events", "/v1/deliveries/" + d + "/attempts",
		"/v1/deliveries/" + d + "/explain", "/v1/deliveries/" + d + "/story", "/v1/logs?log=send", "/v1/logs?log=report", "/v1/agents/a/handouts",
	} {
		if shown := h.must(200, "GET", path, ""); strings.Contains(shown.body, code) {
			t.Errorf("%s shows it: %s", path, shown.body)
		}
	}
	if shown := h.must(200, "GET", "/v1/messages/"+sent.ID, ""); !strings.Contains(shown.body, `"sensitive":true`) {
		t.Errorf("the message does not say that it is sensitive: %s", shown.body)
	}
}

func TestAgentsAndLogsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.register("c")
	h.send("phones", "u1", "u2", "u3")
	handed := read[claimed](t, h.as("a", 200, "claims", `{}`)).Handouts
	var reports []string
	for i, got := range handed {
		reports = append(reports, said(fmt.Sprintf("r%d", i), got, posthouse.OutcomeSent))
	}
	h.as("a", 200, "report", `{"reports":[`+strings.Join(reports, ",")+`]}`)
	for _, path := range []string{"/v1/agents?", "/v1/logs?log=send&", "/v1/logs?log=report&"} {
		whole, _ := h.listed(path + "limit=1000")
		got, pages := h.listed(path + "limit=1")
		if len(whole) != 3 || pages != 3 || !slices.Equal(got, whole) {
			t.Errorf("%s: got %v in %d pages, want %v in 3", path, got, pages, whole)
		}
	}
	h.must(422, "GET", "/v1/logs?log=send&cursor=%ff", "")
}

// Section 2, D8: a report that stands twice in one call counts once, and both are answered.
func TestAReportThatStandsTwiceInACallCountsOnce(t *testing.T) {
	t.Parallel()
	h := withPhones(t)
	h.send("phones", "u1")
	got := h.handed("a")
	one := said("r1", got, posthouse.OutcomeNotSent)
	answers := read[reportAnswers](t, h.as("a", 200, "report", `{"reports":[`+one+`,`+one+`]}`)).Results
	want := []reportAnswer{{"r1", posthouse.ReportDone, posthouse.Pending, false}, {"r1", posthouse.ReportDone, posthouse.Pending, true}}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := read[posthouse.Delivery](t, h.must(200, "GET", "/v1/deliveries/"+got.Delivery, "")); d.Tries != 1 {
		t.Errorf("the delivery failed %d times, want once", d.Tries)
	}
}
