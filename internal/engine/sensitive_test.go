package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/inquire"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

const password = "your code is 428193"

// otp is a message with a one-time password.
func otp(channel string, users ...string) posthouse.Draft {
	d := text(channel, users...)
	d.Content.Text, d.Sensitive = password, true
	return d
}

// K3: only who sends it sees the content.
func TestASensitiveContentIsStoredSealedAndSentInClear(t *testing.T) {
	virtual(t, func(r *rig) {
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			return channel.Result{Class: posthouse.ClassOK, Request: out.Content.Text, Response: out.Content.Text}
		}
		r.open("push", posthouse.ChannelSettings{}, idempotent)
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		pushed, fetched := r.send(otp("push", "u1"))[0], r.send(otp("sms", "u1"))[0]
		r.pass(time.Second)
		if got := r.provider.sends; len(got) != 1 || got[0].Content.Text != password {
			t.Errorf("the driver was given %+v, want the content", got)
		}
		h := r.one(a)
		if h.Content.Text != password || !h.Sensitive {
			t.Errorf("the agent was handed %+v, want the content, marked", h)
		}
		r.say(a, h, posthouse.OutcomeSent)
		for _, id := range []string{pushed, fetched} {
			r.want(id, posthouse.Sent, "", 0)
			m, _, err := r.store.Messages.Message(r.Context(), r.tenant, posthouse.MessageID(id))
			if err != nil || !m.Sensitive || !m.Content.IsZero() || m.Payload != nil {
				t.Errorf("the message is stored as %+v, %v; want it without its content", m, err)
			}
			events, err := r.store.History.Events(r.Context(), r.tenant, id)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if strings.Contains(e.Request+e.Response+e.Error, "428193") {
					t.Errorf("the event %+v shows the content", e)
				}
			}
			bodies, err := r.store.Contents.Sealed(r.Context(), r.tenant, []string{m.ID})
			if body := bodies[m.ID]; err != nil || !secret.Sealed(body) || strings.Contains(body, "428193") {
				t.Errorf("the content is stored as %q, %v; want it sealed", body, err)
			}
		}
	})
}

func TestASensitiveContentIsForgottenAndNothingIsOpenByThen(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		draft := otp("sms", "u1")
		draft.ForgetAfter = posthouse.Duration(5 * time.Minute)
		id := r.send(draft)[0]
		m := posthouse.MessageID(id)
		if d := r.get(id); d.Deadline.Sub(d.CreatedAt) > 5*time.Minute+time.Millisecond {
			t.Errorf("the deadline is %s after it was accepted, want no later than five minutes", d.Deadline.Sub(d.CreatedAt))
		}
		kept := func() bool {
			bodies, err := r.store.Contents.Sealed(r.Context(), r.tenant, []string{m})
			if err != nil {
				t.Fatal(err)
			}
			return bodies[m] != ""
		}
		r.pass(4 * time.Minute)
		if !kept() {
			t.Error("the content is gone before its time")
		}
		r.pass(2 * time.Minute)
		if kept() {
			t.Error("the content is still there after its time")
		}
		r.want(id, posthouse.Expired, state.ReasonDeadline, 0)
	})
}

func TestWhatKeepsASensitiveMessageFromBeingAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		sealer bool
		change func(*posthouse.Draft)
		want   string
	}{
		"no keyring":                 {false, func(*posthouse.Draft) {}, "sensitive"},
		"forgotten before it starts": {true, func(d *posthouse.Draft) { d.NotBefore = time.Now().Add(25 * time.Hour) }, "forget_after"},
		"a time without the mark":    {true, func(d *posthouse.Draft) { d.Sensitive, d.ForgetAfter = false, posthouse.Duration(time.Hour) }, "forget_after"},
		"a time too long":            {true, func(d *posthouse.Draft) { d.ForgetAfter = posthouse.Duration(91 * 24 * time.Hour) }, "forget_after"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				if !c.sealer {
					r.stop()
					r.sealer = nil
					r.restart()
				}
				r.pull("sms", posthouse.ChannelSettings{})
				draft := otp("sms", "u1")
				c.change(&draft)
				_, err := r.engine.Intake.Accept(context.Background(), intake.Request{Caller: work.Program(), Tenant: r.tenant, Drafts: []posthouse.Draft{draft}})
				if posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want a problem with %s", err, c.want)
				}
			})
		})
	}
}

// A keyring that was exchanged opens nothing: a person puts the old key back and lets it go on.
func TestAContentThatCannotBeOpenedIsSetAside(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(otp("sms", "u1"))[0]
		other, err := secret.New(secret.GenerateKey())
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		r.sealer = other
		r.restart()
		r.pull("sms", posthouse.ChannelSettings{})
		if got := r.fetch(pull.Claim{Agent: a, Max: 1}); len(got.Handouts) > 0 {
			t.Errorf("got %+v, want nothing", got.Handouts)
		}
		r.want(id, posthouse.Quarantined, state.ReasonUnreadable, 0)
	})
}

// deaf is a database that cannot read sealed contents for a while.
type deaf struct {
	database
	until time.Time
}

func (d *deaf) Sealed(ctx context.Context, tenant string, messages []string) (map[string]string, error) {
	if time.Now().Before(d.until) {
		return nil, errors.New("the database does not answer")
	}
	return d.database.Sealed(ctx, tenant, messages)
}

func TestWithoutTheSealedContentNothingIsSentYet(t *testing.T) {
	virtual(t, func(r *rig) {
		r.between(&deaf{storetest.All(r.store), time.Now().Add(30 * time.Second)})
		r.open("push", posthouse.ChannelSettings{}, idempotent)
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		pushed, fetched := r.send(otp("push", "u1"))[0], r.send(otp("sms", "u1"))[0]
		if got := r.fetch(pull.Claim{Agent: a, Max: 1}); len(got.Handouts) > 0 {
			t.Errorf("got %+v, want nothing without its content", got.Handouts)
		}
		r.pass(time.Second)
		r.want(fetched, posthouse.Pending, state.ReasonDatabase, 0)
		r.pass(time.Minute)
		r.want(pushed, posthouse.Sent, "", 0)
		if h := r.one(a); h.Content.Text != password {
			t.Errorf("got the content %q, want it", h.Content.Text)
		}
	})
}

func TestASensitiveTemplateIsFilledAtTheHandOut(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		r.keep(posthouse.Template{Name: "otp", Text: "${code}, valid for ${remainMin} min"})
		r.send(posthouse.Draft{
			Channel: "sms", Template: "otp", Payload: []byte(`{"code":"428193"}`), To: []posthouse.Recipient{{User: "u1"}},
			Clock: &posthouse.Clock{Until: time.Now().Add(10 * time.Minute)}, Sensitive: true,
		})
		r.pass(4 * time.Minute)
		if h := r.one(a); h.Content.Text != "428193, valid for 6 min" {
			t.Errorf("got %q, want what is left at the hand-out", h.Content.Text)
		}
	})
}

func TestAReceiptOfASensitiveMessageKeepsNoExcerpt(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("push", posthouse.ChannelSettings{}, idempotent)
		pushed := r.send(otp("push", "u1"))[0]
		plain := r.send(text("push", "u1"))[0]
		list := []channel.Receipt{{Response: "428193"}, {Response: "hello"}, {Response: "whose?"}}
		(&inquire.Tracker{Doors: inquire.Doors{Life: r.engine.life}, Contents: r.engine.Contents}).Hush([]work.Awaited{
			{Tenant: r.tenant, Delivery: pushed}, {Tenant: r.tenant, Delivery: plain},
			{Tenant: r.tenant, Delivery: posthouse.DeliveryID(posthouse.NewID(), 1)},
		}, list)
		if list[0].Response != "" || list[1].Response != "hello" || list[2].Response != "" {
			t.Errorf("got the excerpts %+v, want the second alone", list)
		}
	})
}

// A phone may quote a sensitive message where it says why it could not send it.
func TestAnErrorOfASensitiveMessageIsNotKept(t *testing.T) {
	virtual(t, func(r *rig) {
		r.provider.answer = func(out channel.Outgoing) channel.Result {
			return channel.Result{Class: posthouse.ClassRecipient, Code: "7", Error: "refused: " + out.Content.Text}
		}
		r.open("push", posthouse.ChannelSettings{}, idempotent)
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		pushed, fetched := r.send(otp("push", "u1"))[0], r.send(otp("sms", "u1"))[0]
		plain := r.send(text("sms", "u2"))[0]
		r.pass(time.Second)
		for _, h := range r.fetch(pull.Claim{Agent: a, Max: 10}).Handouts {
			r.say(a, h, posthouse.OutcomeNotSent, func(rep *work.Report) { rep.Error, rep.Request = h.Content.Text, h.Content.Text })
		}
		for id, want := range map[string]string{pushed: state.Hidden("x"), fetched: state.Hidden("x"), plain: "hello"} {
			d, err := r.store.Messages.Delivery(r.Context(), r.tenant, id)
			if err != nil || d.Error != want {
				t.Errorf("the error is %q, %v; want %q", d.Error, err, want)
			}
		}
		lines, _, err := r.store.Logs.Log(r.Context(), work.LogFilter{Tenant: r.tenant, Log: work.ReportLog, Delivery: fetched, Limit: 10})
		if err != nil || len(lines) != 1 || strings.Contains(fmt.Sprint(lines), "428193") {
			t.Errorf("the log of reports has %+v, %v; want one line without the content", lines, err)
		}
	})
}

// counting is a database that counts how often it is asked for a message.
type counting struct {
	database
	asked int
}

func (c *counting) Message(ctx context.Context, tenant, id string) (posthouse.Message, int, error) {
	c.asked++
	return c.database.Message(ctx, tenant, id)
}

// Whatever an agent says became of a sensitive message, and calls an error or not: its request is not kept, for it may
// quote the text anywhere.
func TestARequestAboutASensitiveMessageIsNotKept(t *testing.T) {
	virtual(t, func(r *rig) {
		db := &counting{database: storetest.All(r.store)}
		r.between(db)
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		for _, outcome := range []posthouse.Outcome{posthouse.OutcomeSent, posthouse.OutcomeNotSent, posthouse.OutcomeUnknown} {
			for message, draft := range map[string]posthouse.Draft{"sensitive": otp("sms", "u1"), "plain": text("sms", "u2")} {
				r.send(draft)
				h := r.one(a)
				request := `{"status":2,"note":"` + h.Content.Text + `"}`
				r.say(a, h, outcome, func(rep *work.Report) { rep.Request = request })
				want := map[string]string{"sensitive": "", "plain": request}[message]
				if got := r.requestsOn(h.Delivery); len(got) != 1 || got[0] != want {
					t.Errorf("of the report that a %s one is %s the log has %q, want %q", message, outcome, got, want)
				}
			}
		}
		r.send(otp("sms", "u3"))
		h := r.one(a)
		db.asked = 0
		for _, request := range []string{"", pull.SentRequest(h.Delivery, a.ID)} {
			r.say(a, h, posthouse.OutcomeSent, func(rep *work.Report) { rep.Request = request })
		}
		r.say(a, h, posthouse.OutcomeSent, func(rep *work.Report) {
			rep.Code, rep.Ref = "0", "ref-1"
			text, err := json.Marshal(rep.AgentReport)
			if err != nil {
				t.Fatal(err)
			}
			rep.Request = string(text)
		})
		if db.asked > 0 {
			t.Errorf("reports without a word of their own had %d messages looked up", db.asked)
		}
	})
}

// requestsOn are the requests that the log of reports has about a delivery.
func (r *rig) requestsOn(delivery string) (requests []string) {
	r.Helper()
	lines, _, err := r.store.Logs.Log(r.Context(), work.LogFilter{Tenant: r.tenant, Log: work.ReportLog, Delivery: delivery, Limit: 10})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range lines {
		requests = append(requests, string(l.Request))
	}
	return requests
}

// What an agent has started may have left: it stays the agent's where its content cannot be read just now.
func TestARepeatedClaimTakesNothingThatHasStarted(t *testing.T) {
	virtual(t, func(r *rig) {
		r.between(&deaf{storetest.All(r.store), time.Now().Add(30 * time.Second)})
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		r.pass(time.Minute)
		id := r.send(otp("sms", "u1"))[0]
		claim := pull.Claim{Agent: a, ClaimID: "c1", Max: 1}
		h := r.fetch(claim).Handouts[0]
		r.begin(a, h)
		r.front.(*deaf).until = time.Now().Add(time.Second)
		if got := r.fetch(claim); len(got.Handouts) > 0 || !got.Repeated {
			t.Errorf("got %+v, want nothing of what was handed out before", got)
		}
		r.want(id, posthouse.Sending, "", 0)
		if answer := r.say(a, h, posthouse.OutcomeSent); answer != posthouse.ReportDone {
			t.Errorf("the report was answered %q", answer)
		}
	})
}
