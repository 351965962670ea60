package engine

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// phone stores an agent that fetches from channels, without limits unless it names some.
func (r *rig) phone(id string, limits []posthouse.Limit, channels ...string) posthouse.Agent {
	r.Helper()
	if limits == nil {
		limits = []posthouse.Limit{}
	}
	a, err := r.store.Agents.AddAgent(context.Background(), time.Now(), posthouse.Agent{Tenant: r.tenant, ID: id, Channels: channels, Limits: limits})
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// pull makes a pulled channel.
func (r *rig) pull(name string, settings posthouse.ChannelSettings) {
	r.Helper()
	settings.Pull = true
	r.open(name, settings, state.Opened{})
}

// fetch hands out, and fails the test on an error.
func (r *rig) fetch(c pull.Claim) pull.Claimed {
	r.Helper()
	got, err := r.engine.Pull.HandOut(context.Background(), c)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// one fetches the only delivery that is due.
func (r *rig) one(a posthouse.Agent) posthouse.Handout {
	r.Helper()
	got := r.fetch(pull.Claim{Agent: a, Max: 10})
	if len(got.Handouts) != 1 {
		r.Fatalf("%s was handed %d deliveries, want 1", a.ID, len(got.Handouts))
	}
	return got.Handouts[0]
}

// begin marks a hand-out as started, and returns why not.
func (r *rig) begin(a posthouse.Agent, h posthouse.Handout) string {
	r.Helper()
	answers, err := r.engine.Pull.StartHandouts(context.Background(), r.tenant, a.ID, holdsOf(h))
	if err != nil {
		r.Fatal(err)
	}
	return answers[0].Reason
}

func holdsOf(list ...posthouse.Handout) []work.Hold {
	var out []work.Hold
	for _, h := range list {
		out = append(out, work.Hold{Delivery: h.Delivery, Token: h.Token})
	}
	return out
}

// say reports on a hand-out and returns the answer.
func (r *rig) say(a posthouse.Agent, h posthouse.Handout, outcome posthouse.Outcome, with ...func(*work.Report)) posthouse.ReportResult {
	r.Helper()
	rep := work.Report{Tenant: r.tenant, Agent: a.ID, AgentReport: posthouse.AgentReport{
		ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: outcome,
	}}
	for _, change := range with {
		change(&rep)
	}
	list, err := r.engine.Pull.ReportHandouts(context.Background(), []work.Report{rep})
	if err != nil {
		r.Fatal(err)
	}
	return list[0].Answer
}

func TestAnAgentFetchesStartsAndReports(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		r.pass(time.Minute)
		if sends := r.provider.to(); len(sends) > 0 {
			t.Errorf("the driver was called for %v, want agents to send", sends)
		}
		h := r.one(a)
		if h.Delivery != id || h.Token != 1 || h.Started || h.Attempt != 1 || h.Content.Text != "hello" || h.LeaseMillis != 300_000 {
			t.Errorf("got %+v, want the delivery with its first token for five minutes", h)
		}
		if why := r.begin(a, h); why != "" {
			t.Fatalf("the start was refused: %s", why)
		}
		if got := r.say(a, h, posthouse.OutcomeSent, func(rep *work.Report) { rep.Ref = "smsc-1" }); got != posthouse.ReportDone {
			t.Errorf("the report was answered %q, want done", got)
		}
		d := r.want(id, posthouse.Sent, "", 0)
		if d.ProviderRef != "smsc-1" || d.Attempts != 1 {
			t.Errorf("got ref %q after %d attempts, want smsc-1 after one", d.ProviderRef, d.Attempts)
		}
		if got, want := r.history(id), "accept claim start sent "; got != want {
			t.Errorf("got the history %q, want %q", got, want)
		}
	})
}
