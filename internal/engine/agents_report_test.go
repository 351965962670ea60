package engine

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

func no() *bool { return new(bool) }

// PULL-6, PULL-7
func TestWhatFollowsAReport(t *testing.T) {
	codes := map[string]posthouse.Class{"BAD_NUMBER": posthouse.ClassRecipient, "NO_SIM": posthouse.ClassRate}
	for name, c := range map[string]struct {
		settings posthouse.ChannelSettings
		outcome  posthouse.Outcome
		with     func(*work.Report)
		state    posthouse.State
		reason   string
		tries    int
		history  string
	}{
		"sent":               {outcome: posthouse.OutcomeSent, state: posthouse.Sent, history: "sent "},
		"delivered":          {outcome: posthouse.OutcomeDelivered, state: posthouse.Delivered, history: "sent "},
		"not sent":           {outcome: posthouse.OutcomeNotSent, state: posthouse.Pending, reason: "transient", tries: 1, history: "retry "},
		"not sent, no retry": {outcome: posthouse.OutcomeNotSent, with: func(r *work.Report) { r.Retry = no() }, state: posthouse.Failed, reason: state.ReasonNoRetry, tries: 1, history: "fail "},
		"not sent, by a code": {
			outcome: posthouse.OutcomeNotSent, with: func(r *work.Report) { r.Code = "BAD_NUMBER" },
			state: posthouse.Failed, reason: "recipient", tries: 1, history: "fail ",
		},
		"not sent, without guilt": {
			outcome: posthouse.OutcomeNotSent, with: func(r *work.Report) { r.Code = "NO_SIM" },
			state: posthouse.Pending, reason: "rate", history: "retry ",
		},
		"not sent, the last try": {
			settings: posthouse.ChannelSettings{Tries: 1}, outcome: posthouse.OutcomeNotSent,
			state: posthouse.Failed, reason: state.ReasonTriesUsedUp, tries: 1, history: "fail ",
		},
		"unknown is held": {outcome: posthouse.OutcomeUnknown, state: posthouse.Unknown, reason: "unknown", tries: 1, history: "ambiguous "},
		"unknown is tried again": {
			settings: posthouse.ChannelSettings{OnUnknown: posthouse.Retry}, outcome: posthouse.OutcomeUnknown,
			state: posthouse.Pending, reason: "unknown", tries: 1, history: "ambiguous resend ",
		},
		"unknown counts as sent": {
			settings: posthouse.ChannelSettings{OnUnknown: posthouse.AssumeSent}, outcome: posthouse.OutcomeUnknown,
			state: posthouse.Sent, reason: "unconfirmed", tries: 1, history: "ambiguous assume_sent ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				c.settings.Codes = codes
				r.pull("sms", c.settings)
				a := r.phone("a", nil, "sms")
				id := r.send(text("sms", "u1"))[0]
				h := r.one(a)
				r.begin(a, h)
				var with []func(*work.Report)
				if c.with != nil {
					with = append(with, c.with)
				}
				if got := r.say(a, h, c.outcome, with...); got != posthouse.ReportDone {
					t.Errorf("the report was answered %q, want done", got)
				}
				r.want(id, c.state, c.reason, c.tries)
				if got, want := r.history(id), "accept claim start "+c.history; got != want {
					t.Errorf("got the history %q, want %q", got, want)
				}
			})
		})
	}
}

func TestARefusalWithoutGuiltWaitsLongerThanAMoment(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{Codes: map[string]posthouse.Class{"NO_SIM": posthouse.ClassAccount}})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		r.say(a, r.one(a), posthouse.OutcomeNotSent, func(rep *work.Report) { rep.Code = "NO_SIM" })
		if d := r.get(id); d.DueAt.Sub(d.UpdatedAt) != 5*time.Minute {
			t.Errorf("it is due after %s, want the five minutes of a refused account", d.DueAt.Sub(d.UpdatedAt))
		}
	})
}

// PULL-7
func TestAReportIsAnsweredOnce(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		same := func(rep *work.Report) { rep.ReportID = "r1" }
		for range 3 {
			if got := r.say(a, h, posthouse.OutcomeNotSent, same); got != posthouse.ReportDone {
				t.Errorf("the report was answered %q, want done each time", got)
			}
		}
		r.want(id, posthouse.Pending, "transient", 1)
	})
}

// PULL-7: the documented protocol has no report id and no token.
func TestAReportWithoutATokenIsKnownByWhatItSays(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		bare := func(rep *work.Report) { rep.Token, rep.Error = 0, "no signal" }
		for range 2 {
			if got := r.say(a, h, posthouse.OutcomeNotSent, bare); got != posthouse.ReportDone {
				t.Errorf("the report was answered %q, want done also when it is repeated", got)
			}
		}
		r.want(id, posthouse.Pending, "transient", 1)
		if got := r.say(a, h, posthouse.OutcomeNotSent, func(rep *work.Report) { rep.Token, rep.Error = 0, "another" }); got != posthouse.ReportStale {
			t.Errorf("another report was answered %q, want stale", got)
		}
		if got := r.say(b, h, posthouse.OutcomeSent, bare); got != posthouse.ReportMissing {
			t.Errorf("who never held it was answered %q, want missing", got)
		}
		r.pass(time.Hour)
		r.one(a)
		if got := r.say(a, h, posthouse.OutcomeNotSent, bare); got != posthouse.ReportDone {
			t.Errorf("the same words about the next hand-out were answered %q, want done", got)
		}
		r.want(id, posthouse.Pending, "transient", 2)
	})
}

// PULL-7
func TestALateReportReopensNothing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{OnUnknown: posthouse.Retry})
		a, b := r.phone("a", nil, "sms"), r.phone("b", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		old := r.one(a)
		r.begin(a, old)
		r.pass(10 * time.Minute) // its lease ends
		now := r.one(b)
		if got := r.say(a, old, posthouse.OutcomeNotSent); got != posthouse.ReportStale {
			t.Errorf("a late failure was answered %q, want stale", got)
		}
		if d := r.get(id); d.State != posthouse.Sending || d.Token != now.Token {
			t.Errorf("got %s by token %d, want that the second agent holds it", d.State, d.Token)
		}
		if got := r.say(a, old, posthouse.OutcomeSent); got != posthouse.ReportEvidence {
			t.Errorf("a late success was answered %q, want evidence", got)
		}
		r.want(id, posthouse.Sent, "late_result", 1)
		if got := r.say(b, now, posthouse.OutcomeNotSent); got != posthouse.ReportStale {
			t.Errorf("the holder's failure after the proof was answered %q, want stale", got)
		}
		r.want(id, posthouse.Sent, "late_result", 1)
		if got := r.say(b, now, posthouse.OutcomeDelivered); got != posthouse.ReportEvidence {
			t.Errorf("proof that it arrived was answered %q, want evidence", got)
		}
		r.want(id, posthouse.Delivered, "late_result", 1)
	})
}

func TestATokenThatWasNeverGivenIsMissing(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		h.Token = 7
		if got := r.say(a, h, posthouse.OutcomeSent); got != posthouse.ReportMissing {
			t.Errorf("a made up token was answered %q, want missing", got)
		}
		h.Delivery = posthouse.DeliveryID(posthouse.NewID(), 1)
		if got := r.say(a, h, posthouse.OutcomeSent); got != posthouse.ReportMissing {
			t.Errorf("a made up delivery was answered %q, want missing", got)
		}
		r.want(id, posthouse.Sending, "", 0)
	})
}

// A report without a start counts all the same, and the log shows both.
func TestAReportWithoutAStartIsAStartToo(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		r.say(a, r.one(a), posthouse.OutcomeSent)
		if d := r.want(id, posthouse.Sent, "", 0); d.Attempts != 1 {
			t.Errorf("got %d attempts, want 1", d.Attempts)
		}
		if got, want := r.history(id), "accept claim start sent "; got != want {
			t.Errorf("got the history %q, want %q", got, want)
		}
	})
}

// PULL-6, L12: a long error is cut and never refused.
func TestALongErrorIsCut(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		long := strings.Repeat("发送失败", 1000) + "\x00\xff"
		if got := r.say(a, r.one(a), posthouse.OutcomeNotSent, func(rep *work.Report) { rep.Error = long }); got != posthouse.ReportDone {
			t.Errorf("the report was answered %q, want done", got)
		}
		if n := utf8.RuneCountInString(r.get(id).Error); n != 500 {
			t.Errorf("%d characters of the error were kept, want 500", n)
		}
	})
}

func TestReportsNameWhatIsWrongWithThem(t *testing.T) {
	virtual(t, func(r *rig) {
		_, err := r.engine.Pull.ReportHandouts(context.Background(), []work.Report{{Tenant: r.tenant, Agent: "a"}})
		if posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Fatalf("got %v, want an error of code invalid", err)
		}
		for _, want := range []string{"reports[0].report_id", "reports[0].delivery", "reports[0].outcome"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error %q does not name %s", err, want)
			}
		}
	})
}

func TestACancelledHandOutIsNotTriedAgain(t *testing.T) {
	virtual(t, func(r *rig) {
		r.pull("sms", posthouse.ChannelSettings{})
		a := r.phone("a", nil, "sms")
		id := r.send(text("sms", "u1"))[0]
		h := r.one(a)
		r.begin(a, h)
		if _, err := r.engine.Operator.Cancel(context.Background(), r.tenant, []string{id}); err != nil {
			t.Fatal(err)
		}
		r.say(a, h, posthouse.OutcomeNotSent)
		r.want(id, posthouse.Cancelled, state.ReasonCancelled, 1)
	})
}
