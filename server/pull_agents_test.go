package server_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// phone is an agent of the native protocol, by its own key.
type phone struct {
	*house
	id string
	*client.Client
}

// register makes the pulled channel phones, and an agent of it without limits.
func (h *house) register(id string, change ...func(*posthouse.Agent)) *phone {
	h.Helper()
	h.pulled("phones", func(*posthouse.ChannelSettings) {})
	a := posthouse.Agent{ID: id, Channels: []string{"phones"}, Limits: []posthouse.Limit{}}
	for _, f := range change {
		f(&a)
	}
	made, err := h.api.Agents.Add(h.Context(), a)
	h.must(err)
	return h.phoneAt(h.url, id, made.Secret)
}

func (h *house) phoneAt(url, id, key string) *phone {
	h.Helper()
	c, err := client.New(client.Options{URL: url, Key: key})
	h.must(err)
	return &phone{house: h, id: id, Client: c}
}

// pulled makes a channel that agents fetch from, or changes it.
func (h *house) pulled(name string, change func(*posthouse.ChannelSettings)) {
	h.Helper()
	s := posthouse.ChannelSettings{Pull: true, Timeout: posthouse.Duration(time.Minute), Backoff: []posthouse.Duration{posthouse.Duration(time.Millisecond)}}
	change(&s)
	_, _, err := h.api.Channels.Put(h.Context(), posthouse.Channel{Name: name, Driver: "discard", ChannelSettings: s})
	h.must(err)
}

// tells hands in a message to users and returns its deliveries.
func (h *house) tells(users ...string) (ids []string) {
	h.Helper()
	d := posthouse.Draft{Channel: "phones", Content: &posthouse.Content{Text: "hello"}}
	for _, u := range users {
		d.To = append(d.To, posthouse.Recipient{User: u})
	}
	sent, err := h.api.Messages.Send(h.Context(), d)
	h.must(err)
	for _, d := range sent.Accepted[0].Deliveries {
		ids = append(ids, d.ID)
	}
	return ids
}

// claims waits until it is handed so many.
func (p *phone) claims(n int) (list []posthouse.Handout) {
	p.Helper()
	for len(list) < n {
		got, err := p.Handouts.Claim(p.Context(), p.id, wire.Claim{Max: n - len(list), Wait: posthouse.Duration(20 * time.Second), App: "test/1"})
		p.must(err)
		if len(got.Handouts) == 0 {
			p.Fatalf("%s was handed %d of %d: %+v", p.id, len(list), n, got)
		}
		list = append(list, got.Handouts...)
	}
	return list
}

func holdOf(h posthouse.Handout) wire.Hold {
	return wire.Hold{Delivery: h.Delivery, Token: h.Token}
}

// starts says that it sends, which must be right.
func (p *phone) starts(list ...posthouse.Handout) {
	p.Helper()
	for _, h := range list {
		got, err := p.Handouts.Start(p.Context(), p.id, holdOf(h))
		p.must(err)
		if !got[0].OK {
			p.Fatalf("%s may not start %s: %s", p.id, h.Delivery, got[0].Reason)
		}
	}
}

// says reports on one hand-out.
func (p *phone) says(h posthouse.Handout, outcome posthouse.Outcome) wire.ReportAnswer {
	p.Helper()
	got, err := p.Handouts.Report(p.Context(), p.id, posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: outcome})
	p.must(err)
	return got[0]
}

func (h *house) stands(id string, want posthouse.State) (d posthouse.Delivery) {
	h.Helper()
	h.eventually(id+" is "+string(want), func() bool {
		var err error
		d, err = h.api.Deliveries.Get(h.Context(), id)
		h.must(err)
		return d.State == want
	})
	return d
}

// PULL-14: claims, starts, renewals and partial reports of one batch, for any channel; and when it was last seen.
func TestPULL_ABatchIsReportedInParts(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		p := h.register("phone-1")
		h.tells("u1", "u2", "u3", "u4")
		list := p.claims(4)
		p.starts(list[:3]...)
		if got, err := p.Handouts.Renew(h.Context(), p.id, holdOf(list[0]), holdOf(list[3])); err != nil || !got[0].OK || !got[1].OK || got[0].LeaseMillis <= 0 {
			h.Errorf("renew: %+v, %v", got, err)
		}
		back, err := p.Handouts.GiveBack(h.Context(), p.id, "no signal", holdOf(list[3]))
		if err != nil || !back[0].OK {
			h.Errorf("give back: %+v, %v", back, err)
		}
		for i, test := range []struct {
			outcome posthouse.Outcome
			want    wire.ReportAnswer
		}{
			{posthouse.OutcomeSent, wire.ReportAnswer{Result: posthouse.ReportDone, State: posthouse.Sent}},
			{posthouse.OutcomeNotSent, wire.ReportAnswer{Result: posthouse.ReportDone, State: posthouse.Pending}},
			{posthouse.OutcomeUnknown, wire.ReportAnswer{Result: posthouse.ReportDone, State: posthouse.Unknown}},
		} {
			got := p.says(list[i], test.outcome)
			if got.ReportID = ""; got != test.want {
				h.Errorf("%s: got %+v, want %+v", test.outcome, got, test.want)
			}
		}
		again := p.claims(2)
		attempts := map[string]int{}
		for _, a := range again {
			attempts[a.Delivery] = a.Attempt
		}
		if diff := cmp.Diff(map[string]int{list[1].Delivery: 2, list[3].Delivery: 1}, attempts); diff != "" {
			h.Errorf("handed again, with the attempts (-want +got):\n%s", diff)
		}
		tally, err := h.api.Channels.Tally(h.Context(), "phones")
		if want := (wire.Tally{Processing: 2, Unknown: 1, Success: 1}); err != nil || tally != want {
			h.Errorf("the tally: %+v, %v, want %+v", tally, err, want)
		}
		h.eventually("the agent was seen", func() bool {
			a, err := h.api.Agents.Get(h.Context(), p.id)
			h.must(err)
			return !a.LastSeenAt.IsZero() && a.App == "test/1" && a.Holds == 2
		})
	})
}

// PULL-14 and section 2, L10: a lease that ends before a start burns nothing, one that ends after it leaves the outcome unknown; and
// late proof closes what is open.
func TestPULL_ALeaseThatEnds(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		dead, alive := h.register("dead"), h.register("alive")
		h.tells("u1", "u2")
		list := dead.claims(2)
		dead.starts(list[0])
		h.endLeases()
		got := alive.claims(1)[0]
		if got.Delivery != list[1].Delivery || got.Attempt != 1 || got.Token <= list[1].Token || got.IdemKey != list[1].IdemKey {
			h.Errorf("handed %+v after %+v, want it again with nothing burned", got, list[1])
		}
		h.stands(list[0].Delivery, posthouse.Unknown)
		if late := dead.says(list[1], posthouse.OutcomeNotSent); late.Result != posthouse.ReportStale || late.State != posthouse.Sending {
			h.Errorf("a late failure: %+v, want it stale", late)
		}
		if proof := dead.says(list[0], posthouse.OutcomeSent); proof.Result != posthouse.ReportEvidence || proof.State != posthouse.Sent {
			h.Errorf("a late success: %+v, want evidence", proof)
		}
		if stranger := alive.says(list[0], posthouse.OutcomeSent); stranger.Result != posthouse.ReportMissing {
			h.Errorf("a report on what it was never handed: %+v", stranger)
		}
		story, err := h.api.Deliveries.Story(h.Context(), list[1].Delivery)
		h.must(err)
		if len(story.HandedOut) != 2 || story.HandedOut[0].Agent != "dead" || story.HandedOut[1].Agent != "alive" || len(story.Reported) != 1 || story.Reported[0].Answer != "stale" {
			h.Errorf("the story has the hand-outs %+v and the reports %+v", story.HandedOut, story.Reported)
		}
	})
}

// endLeases lets all leases end now.
func (h *house) endLeases() {
	h.Helper()
	_, err := h.db.ExecContext(h.Context(), fmt.Sprintf("UPDATE posthouse_queue SET lease_until = %d WHERE state = 'sending'", time.Now().UnixMicro()))
	h.must(err)
}

// PULL-14: an idle agent hears of what another server accepted.
func TestPULL_AWaitingAgentHearsOfAnotherServersWork(t *testing.T) {
	t.Parallel()
	for _, d := range databases[1:] {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			here := open(t, dsn)
			p := here.register("phone-1")
			there := open(t, dsn)
			handed := make(chan []posthouse.Handout, 1)
			go func() {
				got, _ := p.Handouts.Claim(t.Context(), p.id, wire.Claim{Wait: posthouse.Duration(30 * time.Second)})
				handed <- got.Handouts
			}()
			id := there.tells("u1")[0]
			if got := <-handed; len(got) != 1 || got[0].Delivery != id {
				t.Errorf("handed %+v, want %s", got, id)
			}
		})
	}
}

// PULL-14: a channel's needs are compared with what an agent can do, as it is registered and as it says now.
func TestPULL_AnAgentIsHandedWhatItCanSend(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		p := h.register("phone-1", func(a *posthouse.Agent) { a.Capabilities = map[string]string{"operator": "cmcc", "sim": "1"} })
		h.pulled("phones", func(s *posthouse.ChannelSettings) { s.Needs = map[string]string{"operator": "cucc"} })
		id := h.tells("u1")[0]
		got, err := p.Handouts.Claim(h.Context(), p.id, wire.Claim{})
		if err != nil || len(got.Handouts) != 0 || got.Reason != "lacks_capabilities" || got.RetryAfter() <= 0 {
			h.Errorf("a claim without the operator: %+v, %v", got, err)
		}
		got, err = p.Handouts.Claim(h.Context(), p.id, wire.Claim{Capabilities: map[string]string{"operator": "cucc"}, Wait: posthouse.Duration(20 * time.Second)})
		if err != nil || len(got.Handouts) != 1 || got.Handouts[0].Delivery != id {
			h.Errorf("a claim with another SIM: %+v, %v", got, err)
		}
	})
}

// PULL-14 and section 2, K2: a phone is handed one message in four seconds where nothing else is said, and what it gives back does
// not count.
func TestPULL_AnAgentIsHeldToItsLimits(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		var usual *phone
		var first, second wire.Claimed
		for n, began := 1, (time.Time{}); time.Since(began) >= 4*time.Second; n++ { // a second claim that came later would be free
			usual = h.register(fmt.Sprint("usual-", n), func(a *posthouse.Agent) { a.Limits = nil })
			h.tells("u1", "u2", "u3")
			began = time.Now()
			var err error
			first, err = usual.Handouts.Claim(h.Context(), usual.id, wire.Claim{Max: 3})
			if err != nil || len(first.Handouts) != 1 {
				h.Fatalf("the first claim: %+v, %v, want one", first, err)
			}
			second, err = usual.Handouts.Claim(h.Context(), usual.id, wire.Claim{Max: 3})
			h.must(err)
		}
		if len(second.Handouts) != 0 || second.Reason != "limited" || second.RetryAfter() <= 0 || second.RetryAfter() > 4*time.Second {
			h.Errorf("the second claim: %+v, want it limited for up to 4s", second)
		}
		back, err := usual.Handouts.GiveBack(h.Context(), usual.id, "", holdOf(first.Handouts[0]))
		if err != nil || !back[0].OK {
			h.Fatalf("give back: %+v, %v", back, err)
		}
		third, err := usual.Handouts.Claim(h.Context(), usual.id, wire.Claim{Max: 3})
		if err != nil || len(third.Handouts) != 1 {
			h.Errorf("after it gave one back: %+v, %v, want one", third, err)
		}
	})
}

// column reads one column of the database.
func (h *house) column(query string) (list []string) {
	h.Helper()
	rows, err := h.db.QueryContext(h.Context(), query)
	h.must(err)
	defer rows.Close()
	for rows.Next() {
		var text sql.NullString
		h.must(rows.Scan(&text))
		list = append(list, text.String)
	}
	h.must(rows.Err())
	return list
}

// Section 2, K3: the content of a sensitive message stands in no table and no log as it is, and its agent reads it.
func TestPULL_ASensitiveContentIsSealed(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		p := h.register("phone-1")
		const secret = "482913-only-you"
		_, err := h.api.Messages.Send(h.Context(), posthouse.Draft{
			Channel: "phones", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: secret}, Sensitive: true,
		})
		h.must(err)
		if got := p.claims(1)[0]; !got.Sensitive || got.Content.Text != secret {
			h.Errorf("handed %+v, want the content", got)
		} else {
			p.starts(got)
			p.says(got, posthouse.OutcomeSent)
		}
		for _, query := range []string{"SELECT content FROM posthouse_messages", "SELECT payload FROM posthouse_messages", "SELECT body FROM posthouse_sealed", "SELECT request FROM posthouse_send_log", "SELECT request FROM posthouse_report_log"} {
			for _, text := range h.column(query) {
				if strings.Contains(text, secret) {
					h.Errorf("%s shows it: %s", query, text)
				}
			}
		}
		if log := h.log.tail(10_000); strings.Contains(log, secret) {
			h.Errorf("the log shows it:\n%s", log)
		}
	})
}

// What phones report is counted by the minute as what our own workers send, and a failure by the last try is no attempt that is tried again.
func TestWhatAgentsReportIsCounted(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		p := h.register("p1")
		h.pulled("phones", func(s *posthouse.ChannelSettings) { s.Tries = 2 })
		ids := h.tells("u1", "u2", "u3", "u4")
		says := map[string]posthouse.Outcome{ids[0]: posthouse.OutcomeSent, ids[1]: posthouse.OutcomeDelivered, ids[2]: posthouse.OutcomeUnknown, ids[3]: posthouse.OutcomeNotSent}
		report := func(list []posthouse.Handout) {
			for range 2 { // the repetition counts nothing
				var reports []posthouse.AgentReport
				for _, of := range list {
					reports = append(reports, posthouse.AgentReport{ReportID: fmt.Sprint(of.Delivery, of.Attempt), Delivery: of.Delivery, Token: of.Token, Outcome: says[of.Delivery]})
				}
				_, err := p.Handouts.Report(h.Context(), "p1", reports...)
				h.must(err)
			}
		}
		report(p.claims(4))
		report(p.claims(1)) // the last try of what was not sent
		h.stands(ids[3], posthouse.Failed)
		var sum wire.OverviewMinute
		h.eventually("the minutes count what was reported", func() bool {
			o, err := h.api.OverviewByChannel(h.Context(), 60)
			h.must(err)
			sum = wire.OverviewMinute{}
			for _, c := range o.Channels {
				for _, m := range c.Minutes {
					sum.Accepted, sum.Sent, sum.Failed, sum.Again, sum.Unknown = sum.Accepted+m.Accepted, sum.Sent+m.Sent, sum.Failed+m.Failed, sum.Again+m.Again, sum.Unknown+m.Unknown
				}
			}
			return sum.Sent+sum.Failed+sum.Again+sum.Unknown >= 5
		})
		if diff := cmp.Diff(wire.OverviewMinute{Accepted: 4, Sent: 2, Failed: 1, Again: 1, Unknown: 1}, sum); diff != "" {
			h.Errorf("the minutes count (-want +got):\n%s", diff)
		}
	})
}
