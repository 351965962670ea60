package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// phone registers an agent of the pulled channel phones and is it.
func (h *house) phone(id string) *house {
	h.Helper()
	if _, _, err := h.Channels.Put(h.Context(), posthouse.Channel{Name: "phones", Driver: "moody", ChannelSettings: posthouse.ChannelSettings{Pull: true}}); err != nil {
		h.Fatal(err)
	}
	made, err := h.Agents.Add(h.Context(), posthouse.Agent{ID: id, Channels: []string{"phones"}, Limits: []posthouse.Limit{}})
	if made = whole(h, made, err); made.Secret == "" || len(made.Limits) != 0 {
		h.Fatalf("AddAgent: %+v", made)
	}
	own := &house{TB: h.TB, tape: &tape{}}
	if own.Client, err = client.New(client.Options{URL: h.url, Key: made.Secret, HTTP: &http.Client{Transport: own.tape, Timeout: time.Minute}}); err != nil {
		h.Fatal(err)
	}
	return own
}

func TestBeingAnAgent(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	phone := h.phone("a")
	id := h.send("phones", "u1")
	claim := wire.Claim{ID: "c1", Max: 5, App: "sms-app/2.1", Capabilities: map[string]string{"sim": "2"}}
	got, err := phone.Handouts.Claim(ctx, "a", claim)
	if got = whole(phone, got, err); len(got.Handouts) != 1 || got.Handouts[0].Delivery != id || got.RetryAfter() != 0 {
		t.Fatalf("Claim: %+v", got)
	}
	again, err := phone.Handouts.Claim(ctx, "a", claim)
	if again = whole(phone, again, err); !again.Repeated || len(again.Handouts) != 1 {
		t.Errorf("Claim again: %+v, want it repeated", again)
	}
	hold := wire.Hold{Delivery: id, Token: got.Handouts[0].Token}
	for name, call := range map[string]func() ([]wire.HoldResult, error){
		"start": func() ([]wire.HoldResult, error) { return phone.Handouts.Start(ctx, "a", hold) },
		"renew": func() ([]wire.HoldResult, error) { return phone.Handouts.Renew(ctx, "a", hold) },
	} {
		results, err := call()
		if results = whole(phone, results, err); len(results) != 1 || !results[0].OK || results[0].LeaseMillis <= 0 {
			t.Errorf("%s: %+v", name, results)
		}
	}
	held, err := phone.Handouts.List(ctx, "a")
	if held = whole(phone, held, err); len(held) != 1 || held[0].StartedAt.IsZero() {
		t.Errorf("Handouts: %+v, want one that has started", held)
	}
	report := posthouse.AgentReport{ReportID: "r1", Delivery: id, Token: hold.Token, Outcome: posthouse.OutcomeSent, Ref: "sim-7"}
	for _, repeated := range []bool{false, true} {
		answers, err := phone.Handouts.Report(ctx, "a", report)
		if answers = whole(phone, answers, err); len(answers) != 1 || answers[0] != (wire.ReportAnswer{ReportID: "r1", Result: posthouse.ReportDone, State: posthouse.Sent, Repeated: repeated}) {
			t.Errorf("Report: %+v", answers)
		}
	}
	if _, err := phone.Handouts.Report(ctx, "a", posthouse.AgentReport{Delivery: id}); err == nil {
		t.Error("a report without an id was sent: nobody could ask for its answer again")
	}
	late, err := phone.Handouts.GiveBack(ctx, "a", "the screen is broken", hold)
	if late = whole(phone, late, err); len(late) != 1 || late[0].OK || late[0].Reason == "" {
		t.Errorf("GiveBack of what was sent: %+v, want why not", late)
	}
	story, err := h.Deliveries.Story(ctx, id)
	if story = whole(h, story, err); len(story.Events) != 4 || len(story.HandedOut) != 1 || len(story.Reported) != 1 || story.Received == nil {
		t.Errorf("Story: %+v", story)
	}
	lines, err := h.Logs.List(ctx, "report", client.LogFilter{Agent: "a", Delivery: id, Since: time.Now().Add(-time.Hour)})
	if lines = whole(h, lines, err); len(lines.Items) != 1 || lines.Items[0].ReportID != "r1" {
		t.Errorf("Logs: %+v", lines)
	}
	tally, err := h.Channels.Tally(ctx, "phones")
	if tally = whole(h, tally, err); tally != (wire.Tally{Success: 1}) {
		t.Errorf("Tally: %+v, want one success", tally)
	}
}

func TestCommandingAgents(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	phone := h.phone("a")
	a, err := h.Agents.Get(ctx, "a")
	if a = whole(h, a, err); a.State != posthouse.AgentActive || a.Holds != 0 {
		t.Errorf("Agent: %+v", a)
	}
	a.Name, a.Capabilities, a.Limits = "柜台手机", map[string]string{"operator": "cmcc"}, posthouse.AgentLimits()
	put, err := h.Agents.Put(ctx, a.Agent)
	if put = whole(h, put, err); put.Name != a.Name || len(put.Limits) != 2 || put.Capabilities["operator"] != "cmcc" {
		t.Errorf("PutAgent: %+v", put)
	}
	list, err := h.Agents.List(ctx, client.Filter{Limit: 10})
	if list = whole(h, list, err); len(list.Items) != 1 || list.Items[0].ID != "a" {
		t.Errorf("Agents: %+v", list)
	}
	for name, call := range map[posthouse.AgentState]func() (wire.Agent, error){
		posthouse.AgentPaused:   func() (wire.Agent, error) { return h.Agents.Pause(ctx, "a", "battery") },
		posthouse.AgentDraining: func() (wire.Agent, error) { return h.Agents.Drain(ctx, "a", "") },
		posthouse.AgentActive:   func() (wire.Agent, error) { return h.Agents.Resume(ctx, "a") },
	} {
		got, err := call()
		if got = whole(h, got, err); got.State != name {
			t.Errorf("the agent is %s, want %s", got.State, name)
		}
	}
	if _, err := h.Agents.Resume(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	h.send("phones", "u1")
	if got, err := phone.Handouts.Claim(ctx, "a", wire.Claim{}); err != nil || len(got.Handouts) != 1 {
		t.Errorf("Claim: %+v, %v", got, err)
	}
	taken, err := h.Agents.Reassign(ctx, "a", "it fell into the river")
	if taken = whole(h, taken, err); taken.Released != 1 || taken.Unknown != 0 {
		t.Errorf("ReassignAgent: %+v, want one released", taken)
	}
	key, err := h.Agents.NewKey(ctx, "a", true)
	if key = whole(h, key, err); key.Scope != posthouse.ScopeAgent || key.Agent != "a" {
		t.Errorf("NewAgentKey: %+v", key)
	}
	if _, err := phone.Handouts.Claim(ctx, "a", wire.Claim{}); posthouse.CodeOf(err) != posthouse.CodeUnauthorized {
		t.Errorf("a claim with the old key: %v, want unauthorized", err)
	}
	second, err := h.Keys.Create(ctx, wire.Key{Name: "the new app", Scope: posthouse.ScopeAgent, Agent: "a"})
	if second = whole(h, second, err); second.Agent != "a" {
		t.Errorf("CreateAgentKey: %+v", second)
	}
	if err := h.Agents.Delete(ctx, "a"); err != nil {
		t.Error(err)
	}
	if _, err := h.Agents.Get(ctx, "a"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("an agent that was taken away: %v", err)
	}
}

// An agent's wait is longer than the time-out of other calls, here a nanosecond: the client knows.
func TestAClaimMayTakeAsLongAsItWaits(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.phone("a")
	key, err := h.Agents.NewKey(t.Context(), "a", false)
	if err != nil {
		t.Fatal(err)
	}
	hasty, err := client.New(client.Options{URL: h.url, Key: key.Secret, HTTP: &http.Client{Timeout: time.Nanosecond}, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hasty.Handouts.Claim(t.Context(), "a", wire.Claim{}); err == nil {
		t.Fatal("a claim that does not wait was answered within its time-out of a nanosecond")
	}
	id := h.send("phones", "u1")
	got, err := hasty.Handouts.Claim(t.Context(), "a", wire.Claim{Wait: posthouse.Duration(30 * time.Second)})
	if err != nil || len(got.Handouts) != 1 || got.Handouts[0].Delivery != id {
		t.Errorf("the claim: %+v, %v, want %s", got, err, id)
	}
}
