package verify_test

import (
	gocmp "cmp"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
)

// hand is one delivery written by hand: each of its steps takes a second.
type hand struct{ *walk }

func newHand(policy posthouse.Policy) *hand {
	r := newRun(1)
	const message = "01KMJ000000000000000AB0000"
	r.calls = []verify.ClientLine{{
		At: began, Asked: began, Op: verify.OpSend, Tenant: "bank", Key: "k1", Body: "b1", Answer: verify.AnswerAccepted, Status: 202,
		Message: message, Recipients: 1,
	}}
	id := posthouse.DeliveryID(message, 1)
	return &hand{&walk{run: r, id: id, idem: id, tenant: "bank", policy: policy, at: began}}
}

// do is one step.
func (h *hand) do(kind posthouse.EventType, to posthouse.State, more ...func(*posthouse.Event)) *hand {
	h.at = h.at.Add(time.Second)
	before := h.events
	h.add(kind, to, more...)
	if kind == posthouse.EventSuppress && len(before) > 0 && before[len(before)-1].To == posthouse.Sending {
		h.attempt-- // nothing has left
	}
	return h
}

// wait lets the delivery wait for a minute from now, in its last event.
func (h *hand) wait() *hand {
	e := &h.events[len(h.events)-1]
	e.Due = h.at.Add(time.Minute)
	h.due, h.at = e.Due, e.Due
	return h
}

// woken was put off for an hour for a reason, and then woken to come due after so long.
func woken(why string, due time.Duration) *hand {
	h := newHand(posthouse.Retry).accept().start()
	later := func(d time.Duration) func(*posthouse.Event) {
		return func(e *posthouse.Event) { e.Due = e.At.Add(d) }
	}
	h.do(posthouse.EventRelease, posthouse.Pending, reason(why), later(time.Hour)).do(posthouse.EventWake, posthouse.Pending, later(due))
	h.attempt, h.at = h.attempt-1, h.at.Add(3*time.Hour) // nothing had left
	return h.start().arrived(verify.ArrivalAccepted).sent()
}

func (h *hand) accept() *hand {
	return h.do(posthouse.EventAccept, posthouse.Pending, func(e *posthouse.Event) { e.Due = e.At })
}

func (h *hand) start() *hand {
	h.token, h.attempt, h.owner = h.token+1, h.attempt+1, "vm-1-a"
	return h.do(posthouse.EventStart, posthouse.Sending, func(e *posthouse.Event) {
		e.Attempt, e.Owner, e.LeaseUntil, e.Due = h.attempt, h.owner, e.At.Add(15*time.Second), h.due
	})
}

// claimed gives it to an agent, which has not started.
func (h *hand) claimed(agent string) *hand {
	h.token, h.owner = h.token+1, "agent/"+agent
	h.do(posthouse.EventClaim, posthouse.Sending, func(e *posthouse.Event) {
		e.Owner, e.LeaseUntil, e.Due = h.owner, e.At.Add(15*time.Second), h.due
	})
	return h.word(verify.OpClaim, "", "", verify.AnswerHanded)
}

// begun is the start of what an agent has.
func (h *hand) begun() *hand {
	h.attempt++
	h.do(posthouse.EventStart, posthouse.Sending, func(e *posthouse.Event) {
		e.Attempt, e.Owner, e.LeaseUntil = h.attempt, h.owner, e.At.Add(15*time.Second)
	})
	return h.word(verify.OpStart, "", "", verify.AnswerOK)
}

// unheld is the loss of a lease before the start.
func (h *hand) unheld() *hand {
	h.at = h.at.Add(15 * time.Second)
	return h.do(posthouse.EventLeaseLost, posthouse.Pending, func(e *posthouse.Event) { e.Owner, e.Due = h.owner, e.At })
}

// word is a line of the agent's that has it, or had it last.
func (h *hand) word(op, report string, outcome posthouse.Outcome, answer string) *hand {
	h.words = append(h.words, verify.AgentLine{
		At: h.at.Add(time.Millisecond), Asked: h.at, Agent: strings.TrimPrefix(h.owner, "agent/"), Op: op, Delivery: h.id, Token: h.token,
		Report: report, Outcome: outcome, Answer: answer,
	})
	return h
}

func (h *hand) reported(report string, outcome posthouse.Outcome, answer posthouse.ReportResult) *hand {
	return h.word(verify.OpReport, report, outcome, string(answer))
}

// inLine was accepted with an ordering key.
func inLine() *hand {
	h := newHand(posthouse.Retry).accept()
	h.events[0].Owner = "line/chat/L1"
	return h
}

// admitted has nobody before it in its line any more.
func (h *hand) admitted() *hand {
	return h.do(posthouse.EventAdmit, posthouse.Pending, func(e *posthouse.Event) { e.Due, e.Owner = h.events[0].Due, h.events[0].Owner })
}

// fetched was sent by an agent that said so.
func fetched() *hand {
	return newHand(posthouse.Hold).accept().claimed("p1").begun().arrived(verify.ArrivalAccepted).sent().
		reported("r1", posthouse.OutcomeSent, posthouse.ReportDone)
}

// unheldOften lost so many leases of agents that had not started.
func unheldOften(times int) *hand {
	h := newHand(posthouse.Hold).accept()
	for range times {
		h.claimed("p1").unheld()
	}
	return h
}

func (h *hand) arrived(answer string) *hand {
	h.arrive(answer)
	h.arrivals[len(h.arrivals)-1].At = h.at.Add(10 * time.Millisecond)
	return h
}

func (h *hand) sent() *hand {
	return h.do(posthouse.EventSent, posthouse.Sent, h.ends(posthouse.ClassOK, "0"))
}

func (h *hand) retry() *hand {
	h.tries++
	return h.do(posthouse.EventRetry, posthouse.Pending, h.ends(posthouse.ClassTransient, "503")).wait()
}

func (h *hand) ambiguous() *hand {
	h.tries++
	return h.do(posthouse.EventAmbiguous, posthouse.Unknown, h.ends(posthouse.ClassUnknown, "API_TIMEOUT"))
}

func (h *hand) resend() *hand { return h.do(posthouse.EventResend, posthouse.Pending).wait() }

func (h *hand) leaseLost() *hand {
	h.tries++
	h.at = h.at.Add(15 * time.Second)
	return h.do(posthouse.EventLeaseLost, posthouse.Unknown, h.ends(posthouse.ClassUnknown, "LEASE_LOST"))
}

// doubted is accepted, started, taken, and nobody knows.
func doubted(policy posthouse.Policy) *hand {
	return newHand(policy).accept().start().arrived(verify.ArrivalLost).ambiguous()
}

// proved is late proof that it was accepted.
func (h *hand) proved(reason string) *hand {
	h.do(posthouse.EventEvidence, posthouse.Sent)
	h.events[len(h.events)-1].Reason = reason
	return h
}

func plain() *hand {
	return newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalAccepted).sent()
}

// doubtedLong is tried again long after an attempt that nobody knows of, and that never arrived.
func doubtedLong() *hand {
	return newHand(posthouse.Retry).accept().start().ambiguous().resend().start()
}

// nameless is a message to two whose provider is told no keys. The ids are what the sender was answered.
func nameless(ids ...string) *hand {
	h := plain()
	h.calls[0].Recipients = 2
	other := newHand(posthouse.Retry)
	other.id = posthouse.DeliveryID(posthouse.MessageID(h.id), 2)
	other.idem = other.id
	other.accept().start().arrived(verify.ArrivalAccepted).sent()
	other.arrivals[0].Seq, other.arrivals[0].ID = 2, "g-2"
	h.events, h.arrivals = append(h.events, other.events...), append(h.arrivals, other.arrivals...)
	for i, id := range ids {
		h.events[3*i+2].Ref, h.arrivals[i].Key = id, ""
	}
	return h
}

func (h *hand) event(i int) *posthouse.Event { return &h.events[i] }

func (h *hand) cancelled(answer string) *hand {
	h.tell(verify.OpCancel, answer)
	return h
}

// grantsOf are requests for two permits each, so many a second apart, of a limit of four in ten seconds.
func (h *hand) grantsOf(granted ...int) *hand {
	limit := []posthouse.Limit{{Max: 4, Per: posthouse.Duration(10 * time.Second)}}
	for i, n := range granted {
		line := verify.GrantLine{At: began.Add(time.Duration(i) * time.Second), Key: "c", Windows: limit, Op: verify.OpTake, Want: 2, Granted: n, RefusedBy: -1}
		if n < 2 {
			line.RefusedBy = 0
		}
		h.grants = append(h.grants, line)
	}
	return h
}

// back are permits that come back, so many seconds after the first was granted.
func (h *hand) back(after, permits int) *hand {
	line := h.grants[0]
	line.At, line.Op, line.Want, line.Granted, line.RefusedBy = line.At.Add(time.Duration(after)*time.Second), verify.OpRefund, permits, 0, -1
	h.grants = append(h.grants, line)
	return h
}

// lawCase is of an invariant a run that holds and one that violates it; and nothing else, where
// also is empty: some cannot be violated alone.
type lawCase struct {
	law    string
	holds  func() *hand
	breaks func() *hand
	also   []string
}

var lawCases = []lawCase{
	{law: "I1", holds: plain, breaks: func() *hand {
		h := plain()
		h.calls[0].Recipients = 2
		return h
	}},
	{law: "I1", holds: func() *hand { // another key, and one dedup key: it stood already
		h := plain().again("b2")
		h.calls[1].Key, h.calls[1].Recipients = "k2", 3
		return h
	}, breaks: func() *hand { // nobody counted at first
		h := plain().again("b1")
		h.calls[0].Recipients, h.calls[1].Recipients = 0, 5
		return h
	}},
	{law: "I2", holds: plain, breaks: func() *hand {
		h := plain()
		h.arrivals = append(h.arrivals, h.arrivals[0])
		h.arrivals[1].Key = posthouse.DeliveryID(posthouse.MessageID(h.id), 9)
		return h
	}},
	{law: "I2", holds: func() *hand { return nameless("", "") }, breaks: func() *hand {
		h := nameless("", "")
		ghost := h.arrivals[0]
		ghost.ID = "g-9"
		h.arrivals = append(h.arrivals, ghost)
		return h
	}},
	{law: "I3", holds: func() *hand { return plain().counted(1) }, breaks: func() *hand { return plain().counted(2) }},
	{law: "I3", holds: func() *hand { return plain().counted(1).kept(3) }, breaks: func() *hand { return plain().counted(1).kept(4) }},
	{law: "I4", holds: func() *hand { return newHand(posthouse.Retry).accept().start().retry() }, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start()
	}},
	{law: "I5", holds: plain, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start().do(posthouse.EventResend, posthouse.Pending).wait()
	}},
	{law: "I5", holds: func() *hand { return unheldOften(1).claimed("p2").unheld() }, breaks: func() *hand { // it may have left
		return newHand(posthouse.Hold).accept().claimed("p1").begun().unheld()
	}},
	{law: "I5", holds: fetched, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start().do(posthouse.EventCancel, posthouse.Cancelled)
	}},
	{law: "I5", holds: fetched, breaks: func() *hand {
		h := newHand(posthouse.Hold).accept().claimed("p1").begun().begun().arrived(verify.ArrivalAccepted).sent()
		return h.reported("r1", posthouse.OutcomeSent, posthouse.ReportDone)
	}},
	{law: "I5", holds: plain, breaks: func() *hand { // else I16 would not apply, and nobody would know
		h := plain()
		for i := range h.events {
			h.events[i].Policy = "holdd"
		}
		return h
	}},
	{law: "I6", holds: plain, breaks: func() *hand {
		h := plain()
		h.event(2).Version = 4
		return h
	}},
	{law: "I7", holds: plain, breaks: func() *hand {
		h := plain()
		h.event(1).Token, h.event(2).Token = 2, 2
		return h
	}},
	{law: "I8", holds: func() *hand { return newHand(posthouse.Hold).accept().start().leaseLost() }, breaks: func() *hand {
		h := newHand(posthouse.Hold).accept().start().leaseLost()
		h.event(2).At = h.event(1).LeaseUntil.Add(-time.Microsecond)
		return h
	}},
	{law: "I9", holds: func() *hand {
		return newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalRefused).retry().start().arrived(verify.ArrivalAccepted).sent()
	}, breaks: func() *hand {
		h := newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalRefused).retry().start().arrived(verify.ArrivalAccepted).sent()
		h.event(4).Token = 1
		return h
	}},
	{law: "I8", holds: plain, breaks: func() *hand { // else nobody could say whether it was taken early, or arrived late
		h := plain()
		h.event(1).LeaseUntil = time.Time{}
		return h
	}},
	{law: "I9", holds: plain, breaks: func() *hand {
		h := plain()
		h.event(2).Owner = ""
		return h
	}},
	{law: "I9", holds: fetched, breaks: func() *hand { // p2 starts what p1 has
		h := newHand(posthouse.Hold).accept().claimed("p2").unheld().claimed("p1")
		h.owner = "agent/p2"
		h.begun()
		h.owner = "agent/p1"
		return h.arrived(verify.ArrivalAccepted).sent().reported("r1", posthouse.OutcomeSent, posthouse.ReportDone)
	}},
	{law: "I10", holds: func() *hand { // a slow phone
		h := newHand(posthouse.Hold).accept().claimed("p1").begun().leaseLost().arrived(verify.ArrivalAccepted)
		h.do(posthouse.EventEvidence, posthouse.Sent, h.ends(posthouse.ClassOK, ""))
		return h.reported("r1", posthouse.OutcomeSent, posthouse.ReportEvidence)
	}, breaks: func() *hand {
		return newHand(posthouse.Hold).accept().claimed("p1").arrived(verify.ArrivalAccepted).unheld()
	}},
	{law: "I10", holds: plain, breaks: func() *hand {
		h := plain()
		h.arrivals[0].At = h.event(1).At.Add(-time.Second)
		return h
	}},
	{law: "I10", holds: func() *hand { return doubtedLong().arrived(verify.ArrivalAccepted).sent() }, breaks: func() *hand { // the first never arrived
		h := doubtedLong().arrived(verify.ArrivalAccepted).arrived(verify.ArrivalAccepted).sent()
		h.arrivals[1].At = h.arrivals[1].At.Add(time.Millisecond)
		return h
	}},
	{law: "I10", holds: func() *hand { // one that was slow on its way, while both leases run
		h := doubtedLong()
		h.event(1).LeaseUntil = h.at.Add(time.Second)
		h.arrived(verify.ArrivalAccepted).arrived(verify.ArrivalAccepted).sent()
		h.arrivals[1].Repeat = true
		return h
	}, breaks: func() *hand {
		return plain().arrived(verify.ArrivalRefused)
	}},
	{law: "I11", holds: func() *hand {
		return newHand(posthouse.Retry).accept().do(posthouse.EventCancel, posthouse.Cancelled)
	}, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().do(posthouse.EventExpire, posthouse.Expired).do(posthouse.EventExpire, posthouse.Expired)
	}, also: []string{"I5"}},
	{law: "I12", holds: plain, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalRefused).sent()
	}},
	{law: "I12", holds: func() *hand { return nameless("g-1", "g-2") }, breaks: func() *hand { // the one without a key is of the other
		h := nameless("g-1", "")
		h.arrivals = h.arrivals[:1]
		return h
	}},
	{law: "I12", holds: func() *hand { // one call: they have its id
		h := nameless("g-1", "g-1")
		h.arrivals[1].ID = "g-1"
		return h
	}, breaks: func() *hand {
		h := nameless("", "")
		h.arrivals = h.arrivals[1:]
		return h
	}},
	{law: "I12", holds: func() *hand { // the journal has no ids
		h := nameless("g-1", "g-2")
		h.arrivals[0].ID, h.arrivals[1].ID = "", ""
		return h
	}, breaks: func() *hand { // it has another one's id
		h := nameless("g-1", "g-2")
		h.arrivals[1].ID = "g-9"
		return h
	}},
	{law: "I12", holds: func() *hand { return nameless("", "") }, breaks: func() *hand { // it came too late to be what was answered
		h := nameless("", "")
		h.arrivals[1].At = h.arrivals[1].At.Add(5 * time.Second)
		return h
	}},
	{law: "I12", holds: func() *hand { // its answer was lost, and the provider told of its address
		return doubted(posthouse.Hold).proved("callback")
	}, breaks: func() *hand { // a late result is of an answer
		return doubted(posthouse.Hold).proved("late_result")
	}},
	{law: "I13", holds: func() *hand { return plain().do(posthouse.EventReceipt, posthouse.Delivered) }, breaks: func() *hand {
		return plain().sent()
	}, also: []string{"I5", "I11"}},
	{law: "I13", holds: func() *hand { return doubted(posthouse.AssumeSent).do(posthouse.EventAssumeSent, posthouse.Sent) }, breaks: func() *hand {
		return plain().do(posthouse.EventEvidence, posthouse.Delivered).sent()
	}, also: []string{"I5", "I11"}},
	{law: "I14", holds: func() *hand {
		return doubted(posthouse.Retry).resend().start().arrived(verify.ArrivalAccepted).sent()
	}, breaks: func() *hand { // taken, but counted as refused; the doubt comes after the second copy
		return newHand(posthouse.Retry).accept().start().arrived(verify.ArrivalAccepted).retry().start().arrived(verify.ArrivalLost).ambiguous()
	}},
	{law: "I15", holds: func() *hand { return newHand(posthouse.Hold).accept().start().leaseLost().killed(1) }, breaks: func() *hand {
		h := newHand(posthouse.Retry).accept().start().leaseLost().resend().start().leaseLost().killed(1)
		return h
	}},
	{law: "I15", holds: func() *hand { // of several accounts each has a bound of its own
		return newHand(posthouse.Hold).accept().start().leaseLost().by("", "a").killed(1).ofSeveral()
	}, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start().leaseLost().resend().start().leaseLost().by("", "a").killed(1).ofSeveral()
	}},
	{law: "I16", holds: func() *hand {
		return doubted(posthouse.Hold).do(posthouse.EventResolve, posthouse.Pending, reason("operator_retry")).wait().start().arrived(verify.ArrivalAccepted).sent()
	}, breaks: func() *hand {
		return doubted(posthouse.Hold).resend().start().arrived(verify.ArrivalAccepted).sent()
	}},
	{law: "I17", holds: plain, breaks: func() *hand {
		h := plain()
		other := posthouse.DeliveryID(posthouse.MessageID(h.id), 9)
		for i := range h.events {
			h.events[i].Idem = other
		}
		h.arrivals[0].Key = other
		return h
	}},
	{law: "I18", holds: func() *hand { return doubted(posthouse.Retry).resend().start().retry() }, breaks: func() *hand {
		h := doubted(posthouse.Retry).resend()
		h.at = h.at.Add(keyWindow)
		return h.start().retry()
	}},
	{law: "I18", holds: func() *hand { // given back: no byte has left
		h := doubted(posthouse.Retry).resend()
		h.at = h.at.Add(keyWindow)
		return h.start().do(posthouse.EventRelease, posthouse.Pending).wait()
	}, breaks: func() *hand { // the refusal is of the second attempt, the first may have arrived
		h := doubted(posthouse.Retry).resend().start().arrived(verify.ArrivalRefused).retry()
		h.at = h.at.Add(keyWindow)
		return h.start().retry()
	}},
	{law: "I19", holds: func() *hand { return newHand(posthouse.Retry).accept().start().retry().start().retry() }, breaks: func() *hand {
		h := newHand(posthouse.Retry).accept().start().retry()
		h.at = h.at.Add(-30 * time.Second)
		return h.start().retry()
	}},
	{law: "I19", holds: plain, breaks: func() *hand {
		h := plain()
		h.event(2).Attempt = 2
		return h
	}},
	{law: "I19", holds: plain, breaks: func() *hand {
		h := plain()
		h.event(2).Attempt = 0
		return h
	}},
	{law: "I20", holds: plain, breaks: func() *hand {
		h := plain()
		for i := range h.events {
			h.events[i].Deadline = h.events[1].At
		}
		return h
	}},
	{law: "I20", holds: func() *hand { return woken("quiet_hours", 0) }, breaks: func() *hand { return woken("quiet_hours", 2*time.Hour) }},
	{law: "I20", holds: func() *hand { return woken("quiet_hours", time.Second) }, breaks: func() *hand { return woken("capped", 0) }},
	{law: "I24", holds: func() *hand { return inLine().admitted().start().arrived(verify.ArrivalAccepted).sent() }, breaks: func() *hand {
		return inLine().start().arrived(verify.ArrivalAccepted).sent()
	}},
	{law: "I21", holds: func() *hand {
		return newHand(posthouse.Retry).accept().do(posthouse.EventCancel, posthouse.Cancelled).cancelled(verify.AnswerCancelled)
	}, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().start().do(posthouse.EventCancelRequest, posthouse.Sending).retry().start().retry()
	}},
	{law: "I21", holds: func() *hand {
		return newHand(posthouse.Retry).accept().start().do(posthouse.EventCancelRequest, posthouse.Sending).cancelled(verify.AnswerTooLate).arrived(verify.ArrivalAccepted).sent()
	}, breaks: func() *hand { // it only waits
		return newHand(posthouse.Retry).accept().wait().cancelled(verify.AnswerTooLate)
	}},
	{law: "I21", holds: func() *hand {
		h := newHand(posthouse.Retry).accept().start()
		return h.do(posthouse.EventQuarantine, posthouse.Quarantined, reason("driver_panic")).cancelled(verify.AnswerTooLate)
	}, breaks: func() *hand { // it was over long before
		h := newHand(posthouse.Retry).accept().start().do(posthouse.EventCancelRequest, posthouse.Sending).arrived(verify.ArrivalAccepted).sent()
		h.at = h.at.Add(time.Minute)
		return h.cancelled(verify.AnswerTooLate)
	}},
	{law: "I23", holds: func() *hand { return plain().grantsOf(2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2) }, breaks: func() *hand { return plain().grantsOf(2, 2, 2) }},
	{law: "I23", holds: func() *hand { return plain().grantsOf(2, 2, 0) }, breaks: func() *hand { return plain().grantsOf(2, 0) }},
	{law: "I23", holds: func() *hand { return plain().grantsOf(2, 2, 2).back(1, 2) }, breaks: func() *hand { // it came back too late
		return plain().grantsOf(2, 2, 2).back(5, 2)
	}},
	{law: "I23", holds: func() *hand { return plain().grantsOf(2, 2).back(5, 4) }, breaks: func() *hand { return plain().grantsOf(2, 2).back(5, 5) }},
	{law: "I27", holds: func() *hand { return plain().again("b1") }, breaks: func() *hand { return plain().again("b2") }},
	{law: "I27", holds: func() *hand { return plain().again("") }, breaks: func() *hand { // nobody was told, and it is there
		h := plain()
		h.calls[0].Answer = verify.AnswerRefused
		return h
	}},
	{law: "I28", holds: plain, breaks: func() *hand {
		h := plain()
		h.calls[0].Tenant = "another"
		return h
	}},
	{law: "I30", holds: fetched, breaks: func() *hand { // the report of an agent that never had it
		h := newHand(posthouse.Hold).accept().claimed("p1").begun().arrived(verify.ArrivalAccepted).leaseLost()
		h.owner = "agent/p2"
		h.do(posthouse.EventEvidence, posthouse.Sent, h.ends(posthouse.ClassOK, ""))
		return h.reported("r1", posthouse.OutcomeSent, posthouse.ReportEvidence)
	}},
	{law: "I30", holds: func() *hand { return fetched().reported("r1", posthouse.OutcomeSent, posthouse.ReportDone) }, breaks: func() *hand {
		return fetched().reported("r2", posthouse.OutcomeSent, posthouse.ReportDone)
	}},
	{law: "I30", holds: func() *hand { return fetched().reported("r2", posthouse.OutcomeSent, posthouse.ReportStale) }, breaks: func() *hand {
		return fetched().reported("r1", posthouse.OutcomeSent, posthouse.ReportStale)
	}},
	{law: "I30", holds: func() *hand {
		return fetched().word(verify.OpReport, "r1", posthouse.OutcomeSent, verify.AnswerUnknown)
	}, breaks: func() *hand {
		return fetched().reported("r2", posthouse.OutcomeNotSent, posthouse.ReportMissing)
	}},
	{law: "I30", holds: func() *hand { return unheldOften(2) }, breaks: func() *hand {
		h := unheldOften(1)
		h.owner = "agent/p2"
		return h.word(verify.OpClaim, "", "", verify.AnswerHanded)
	}},
	{law: "I30", holds: func() *hand { return unheldOften(1).reported("r1", posthouse.OutcomeNotSent, posthouse.ReportStale) }, breaks: func() *hand {
		return unheldOften(1).reported("r1", posthouse.OutcomeNotSent, posthouse.ReportDone)
	}},
	{law: "I30", holds: fetched, breaks: func() *hand { // what nobody reported
		return newHand(posthouse.Hold).accept().claimed("p1").begun().arrived(verify.ArrivalAccepted).sent()
	}},
	{law: "I30", holds: fetched, breaks: func() *hand {
		h := fetched()
		h.words[0].Delivery = posthouse.DeliveryID(posthouse.MessageID(h.id), 9)
		return h
	}},
	{law: "I30", holds: func() *hand { return fetched().word(verify.OpReport, "", posthouse.OutcomeSent, verify.AnswerOK) }, breaks: func() *hand {
		return fetched().word(verify.OpReport, "", posthouse.OutcomeNotSent, verify.AnswerOK)
	}},
	{law: "I30", holds: func() *hand { // its first try was taken, and the answer lost
		h := fetched()
		h.words[len(h.words)-1].Answer = verify.AnswerUnknown
		return h.word(verify.OpReport, "", posthouse.OutcomeSent, string(posthouse.ReportStale))
	}, breaks: func() *hand {
		h := fetched()
		h.words[len(h.words)-1].Answer = string(posthouse.ReportStale)
		return h
	}},
	{law: "I31", holds: func() *hand { return plain().do(posthouse.EventReceipt, posthouse.Undelivered) }, breaks: func() *hand {
		return doubted(posthouse.AssumeSent).do(posthouse.EventAssumeSent, posthouse.Sent).do(posthouse.EventReceipt, posthouse.Delivered)
	}},
	{law: "I31", holds: plain, breaks: func() *hand {
		return plain().do(posthouse.EventReceipt, posthouse.Undelivered).do(posthouse.EventReceipt, posthouse.Delivered)
	}, also: []string{"I5"}},
	{law: "I32", holds: func() *hand {
		h := newHand(posthouse.Hold).accept().start().retry()
		h.do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2))
		return h.do(posthouse.EventResolve, posthouse.Failed, reason("operator_not_sent"), inEpoch(2))
	}, breaks: func() *hand {
		h := newHand(posthouse.Retry).accept().start().retry().start().retry()
		h.event(3).Epoch, h.event(4).Epoch = 2, 2
		return h
	}},
	{law: "I33", holds: func() *hand { return unheldOften(20) }, breaks: func() *hand { return unheldOften(21) }},
	{law: "I33", holds: func() *hand { return lossy(5) }, breaks: func() *hand { return lossy(6) }},
	{law: "I34", holds: func() *hand { return plain().row(nil) }, breaks: func() *hand { return plain().row(func(d *posthouse.Delivery) { d.Version++ }) }},
	{law: "I34", holds: func() *hand {
		return newHand(posthouse.Hold).accept().start().do(posthouse.EventSuppress, posthouse.Suppressed).row(nil)
	}, breaks: func() *hand {
		return newHand(posthouse.Hold).accept().start().do(posthouse.EventSuppress, posthouse.Suppressed).row(func(d *posthouse.Delivery) { d.Attempts = 1 })
	}},
	{law: "I34", holds: func() *hand { return newHand(posthouse.Retry).accept().row(nil) }, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().row(func(d *posthouse.Delivery) { d.DueAt = d.DueAt.Add(time.Hour) })
	}},
	{law: "I34", holds: func() *hand { return plain().row(nil) }, breaks: func() *hand {
		h := plain().row(nil)
		h.rows[0].Message = nil
		return h
	}},
	{law: "I34", holds: func() *hand { return plain().row(nil) }, breaks: func() *hand {
		h := plain().row(nil)
		h.rows = append(h.rows, verify.Stored{ID: "01KMJ000000000000000AC0000", Message: &posthouse.Message{CreatedAt: began}})
		return h
	}},
	{law: "I34", holds: func() *hand { return plain().row(nil) }, breaks: func() *hand {
		h := plain().row(nil)
		h.rows[0].Recipients = 0
		return h
	}},
	{law: "I34", holds: func() *hand { return plain().row(nil) }, breaks: func() *hand {
		h := plain().row(nil)
		h.rows[0].Deliveries = nil
		return h
	}},
	{law: "I35", holds: func() *hand { return plain().named(verify.Reference{Message: "01KMJ000000000000000AB0000"}) }, breaks: func() *hand {
		return plain().named(verify.Reference{Message: "01KMJ000000000000000AC0000", Missing: true})
	}},
	{law: "I35", holds: func() *hand {
		return plain().named(verify.Reference{Message: "00KMJ000000000000000AC0000", Missing: true})
	}, breaks: func() *hand {
		return plain().named(verify.Reference{Message: "01KMJ000000000000000AB0000", Wrong: "it has another key"})
	}},
	{law: "I26", holds: func() *hand { return plain().campaign(verify.CampaignFinding{Members: 2}) }, breaks: func() *hand {
		return plain().campaign(verify.CampaignFinding{Subject: "a member", What: "no segment has it"}, verify.CampaignFinding{Members: 2})
	}},
	{law: "I22", holds: func() *hand { return plain().row(nil).suppressed(time.Hour, 0) }, breaks: func() *hand {
		return plain().row(nil).suppressed(-time.Hour, 0)
	}},
	{law: "I22", holds: func() *hand { return plain().row(nil).suppressed(-2*time.Hour, -time.Hour) }, breaks: func() *hand {
		return plain().row(nil).suppressed(-2*time.Hour, time.Hour)
	}},
	{law: "I22", holds: func() *hand {
		return newHand(posthouse.Hold).accept().start().do(posthouse.EventSuppress, posthouse.Suppressed).row(nil).suppressed(-time.Hour, 0)
	}, breaks: func() *hand {
		return newHand(posthouse.Hold).accept().start().ambiguous().row(nil).suppressed(-time.Hour, 0)
	}},
	{law: "I22", holds: func() *hand {
		return plain().campaign(verify.CampaignFinding{Members: 2, Suppressed: 1}).row(nil).suppressed(time.Hour, 0)
	}, breaks: func() *hand {
		return plain().campaign(verify.CampaignFinding{Subject: "a member", What: "a message arrived", Barred: true}, verify.CampaignFinding{Members: 2, Suppressed: 1}).row(nil).suppressed(time.Hour, 0)
	}},
	{law: "I36", holds: func() *hand { return plain().sealed(verify.Seal{Subject: "link 1"}) }, breaks: func() *hand {
		return plain().sealed(verify.Seal{Subject: "link 1", What: "it is not what it was"})
	}},
	{law: "I32", holds: func() *hand { return plain().row(nil).inEpochOf(1) }, breaks: func() *hand {
		h := newHand(posthouse.Retry).accept().do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2)).row(nil)
		return h.inEpochOf(1)
	}},
	{law: "I5", holds: func() *hand { return elsewhere(posthouse.ClassRate) }, breaks: func() *hand { return elsewhere(posthouse.ClassTransient) }},
	{law: "I37", holds: func() *hand { return plain().by("a") }, breaks: func() *hand { return plain().by("a", "b") }},
	{law: "I37", holds: func() *hand { // nothing has arrived: any account may send it
		return newHand(posthouse.Retry).accept().start().retry().start().arrived(verify.ArrivalAccepted).sent().by("", "a", "a", "b")
	}, breaks: func() *hand {
		return doubted(posthouse.Retry).resend().start().arrived(verify.ArrivalAccepted).sent().by("", "a", "a", "a", "b")
	}},
	{law: "I37", holds: func() *hand {
		return newHand(posthouse.Retry).accept().moved().start().arrived(verify.ArrivalAccepted).sent().by("a", "b")
	}, breaks: func() *hand {
		return newHand(posthouse.Retry).accept().moved().start().arrived(verify.ArrivalAccepted).sent().by("", "b")
	}},
	{law: "I37", holds: func() *hand { // a person said that it had not arrived
		h := doubted(posthouse.Hold).do(posthouse.EventResolve, posthouse.Pending, reason("operator_resend"))
		return h.moved().start().arrived(verify.ArrivalAccepted).sent().by("a", "a", "a", "a", "b")
	}, breaks: func() *hand {
		return doubted(posthouse.Retry).resend().moved().start().arrived(verify.ArrivalAccepted).sent().by("a", "a", "a", "a", "b")
	}},
	{law: "I5", holds: plain, breaks: func() *hand {
		h := plain()
		h.events[len(h.events)-1].Class = posthouse.ClassTransient
		return h
	}},
}

func inEpoch(n int64) func(*posthouse.Event) { return func(e *posthouse.Event) { e.Epoch = n } }

// lossy lost so many leases.
func lossy(times int) *hand {
	h := newHand(posthouse.Retry).accept()
	for i := range times {
		if i > 0 {
			h.resend()
		}
		h.start().leaseLost()
	}
	return h
}

// counted is what the database says of sent ones.
func (h *hand) counted(sent int) *hand {
	h.stored["bank"] = map[posthouse.State]int{posthouse.Sent: sent}
	return h
}

// kept is a count of something of which there are three.
func (h *hand) kept(n int) *hand {
	h.counts = map[string]verify.Count{"channel sms of tenant bank, processing": {Kept: n, There: 3}}
	return h
}

// row stores the delivery as its last event made it, but for a change.
func (h *hand) row(change func(*posthouse.Delivery)) *hand {
	first, last := h.events[0], h.events[len(h.events)-1]
	d := posthouse.Delivery{
		ID: h.id, Message: posthouse.MessageID(h.id), Tenant: "bank", State: last.To, Reason: last.Reason, Version: last.Version, Token: last.Token, Tries: last.Tries,
		Attempts: h.attempt, Epoch: last.Epoch, Account: last.Account, IdemKey: h.idem, CreatedAt: first.At, UpdatedAt: last.At, DueAt: last.Due,
	}
	for _, e := range h.events {
		d.ProviderRef = gocmp.Or(e.Ref, d.ProviderRef)
		if e.To.Open() {
			d.DueAt = e.Due
		}
		if e.Type == posthouse.EventStart && d.FirstStartAt.IsZero() {
			d.FirstStartAt = e.At
		}
	}
	if h.attempt == 0 {
		d.FirstStartAt = time.Time{}
	}
	if change != nil {
		change(&d)
	}
	m := posthouse.Message{ID: d.Message, Tenant: "bank", CreatedAt: d.CreatedAt}
	h.rows = append(h.rows, verify.Stored{ID: d.Message, Message: &m, Recipients: 1, Deliveries: []posthouse.Delivery{d}})
	return h
}

// named is a reference to a message.
func (h *hand) named(r verify.Reference) *hand {
	r.Name = "dedup key k of sms, tenant bank"
	h.refs = append(h.refs, r)
	return h.row(nil)
}

// campaign is what was found of one.
func (h *hand) campaign(list ...verify.CampaignFinding) *hand {
	h.members = append(h.members, list...)
	return h
}

// suppressed says from when on, and until when, the address is suppressed: so long after the run began, 0 for no end.
func (h *hand) suppressed(from, until time.Duration) *hand {
	h.barred = &verify.Barred{From: began.Add(from)}
	if until != 0 {
		h.barred.Until = began.Add(until)
	}
	return h
}

// sealed is something of the hash chain.
func (h *hand) sealed(s verify.Seal) *hand {
	h.seals = append(h.seals, s)
	return h
}

// killed says that a process was killed, and how much each may have under way.
func (h *hand) killed(inflight int) *hand {
	h.faults = []verify.FaultLine{{At: h.at, Kind: "kill"}}
	h.inflight = inflight
	return h
}

// ofSeveral says that the channel has several accounts.
func (h *hand) ofSeveral() *hand {
	h.several = true
	return h
}

// again repeats the call with a body.
func (h *hand) again(body string) *hand {
	line := h.calls[0]
	line.Answer, line.Body, line.Asked, line.At = verify.AnswerReplayed, body, line.Asked.Add(time.Second), line.At.Add(time.Second)
	h.calls = append(h.calls, line)
	return h
}

// journals are the inputs of a run by hand; what it does not have is not given.
func (h *hand) journals() verify.Inputs {
	in := h.inputs()
	in.Kept = h.counts
	in.Now = h.at.Add(-time.Second) // of what waits, nothing is due
	if len(h.stored) == 0 {
		in.Stored = nil
	}
	if len(h.rows) > 0 {
		in.Rows, in.References, in.Epoch = inOrder(h.rows), inOrder(h.refs), gocmp.Or(h.epoch, 9)
	}
	if len(h.seals) > 0 {
		in.Seals = inOrder(h.seals)
	}
	if len(h.members) > 0 {
		in.Campaigns = func(func(string) []verify.Arrived) iter.Seq2[verify.CampaignFinding, error] {
			return inOrder(h.members)
		}
	}
	if len(h.gathered) > 0 {
		in.Collections = inOrder(h.gathered)
	}
	if len(h.notified) > 0 {
		in.Notifications = inOrder(h.notified)
	}
	if h.barred != nil {
		in.Suppressed = func(string, string, string, string) (verify.Barred, bool) { return *h.barred, true }
	}
	if h.inflight > 0 {
		in.Channels = []posthouse.Channel{{ChannelSettings: posthouse.ChannelSettings{MaxInflight: h.inflight, Tries: 100, Accounts: h.several}}}
	}
	return in
}

// inEpochOf says which epoch the database is in.
func (h *hand) inEpochOf(n int64) *hand {
	h.epoch = n
	return h
}

// inOrder walks over a list.
func inOrder[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// A restore may have given a delivery its policy only while it was unknown, and only if it came after what is judged.
func TestARestoreExcusesWhatItMayHaveHeldAndSaysSo(t *testing.T) {
	t.Parallel()
	repeated := func() *hand { return doubted(posthouse.Hold).resend().start().arrived(verify.ArrivalAccepted) }
	sent := func() *hand { return repeated().sent() }
	unknown := func() *hand { return repeated().ambiguous() }
	found := func() *hand { return unknown().do(posthouse.EventEvidence, posthouse.Sent) }
	late := func(h *hand) *hand { // another delivery is held by a restore a minute later
		return h.restored(h.at.Add(time.Minute))
	}
	for name, c := range map[string]struct {
		run     *hand
		decided bool
	}{
		"no restore":                        {unknown(), true},
		"sent before it":                    {late(sent()), true},
		"unknown, and found before it":      {late(found()), true},
		"unknown when it came":              {late(unknown()), false},
		"repeated after it, and held by it": {late(newHand(posthouse.Hold).accept().do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2)).resend().start().sent()), true},
		"held by it":                        {late(unknown().resend().do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2))), false},
		"a policy that no restore gives": {late(func() *hand {
			h := unknown()
			for i := range h.events {
				h.events[i].Policy = posthouse.AssumeSent
			}
			return h
		}()), true},
	} {
		in := c.run.journals()
		in.Client, in.Sink = nil, nil
		r := check(t, in)
		inv := r.Invariant("I16")
		switch {
		case c.decided && (inv.Status != verify.Broken || inv.Why != ""):
			t.Errorf("%s: got %s %q, want it violated\n%s", name, inv.Status, inv.Why, r.Page())
		case !c.decided && (inv.Status == verify.Broken || !strings.Contains(inv.Why, "1 more delivery not decided") || !strings.Contains(r.Page(), inv.Why)):
			t.Errorf("%s: got %s %q, want it undecided, and the report to say so\n%s", name, inv.Status, inv.Why, r.Page())
		}
	}
}

// restored adds another delivery, which a restore held at some time.
func (h *hand) restored(at time.Time) *hand {
	other := newHand(posthouse.Hold)
	other.id = posthouse.DeliveryID("01KMJ000000000000000AC0000", 1)
	other.idem = other.id
	other.accept()
	other.at = at
	other.do(posthouse.EventEpochHold, posthouse.Unknown, inEpoch(2))
	h.events = append(h.events, other.events...)
	return h
}

func TestWhatWasAppliedToNothingIsNotSaidToHold(t *testing.T) {
	t.Parallel()
	in := newHand(posthouse.Retry).accept().journals()
	in.Sink, in.Client = strings.NewReader(""), nil
	in.AtRest = false
	r := check(t, in)
	for _, inv := range r.Invariants {
		if inv.Status == verify.Held && inv.Checked == 0 {
			t.Errorf("%s holds, and was applied to nothing", inv.ID)
		}
	}
	h := plain() // only what a log must say, and what else is judged
	for i := range h.events {
		e := &h.events[i]
		e.Idem, e.Policy, e.Due, e.Deadline = "", "", time.Time{}, time.Time{}
	}
	bare := check(t, h.journals())
	for _, id := range []string{"I16", "I17", "I20"} {
		if got := bare.Invariant(id); got.Status != verify.NotChecked || bare.Verdict != verify.Holds {
			t.Errorf("%s of a log that does not say what it needs: got %+v, want it not checked", id, got)
		}
	}
	if got := r.Invariant("I12"); got.Status != verify.NotChecked || got.Why == "" || r.Verdict != verify.Holds {
		t.Errorf("got %+v, want it not checked", got)
	}
}

func TestEachLawHoldsAndIsViolatedAlone(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range slices.Concat(lawCases, toldCases(), gatheredCases()) {
		seen[c.law] = true
		t.Run(c.law, func(t *testing.T) {
			t.Parallel()
			if r := check(t, c.holds().journals()); r.Verdict != verify.Holds || r.Invariant(c.law).Status != verify.Held {
				t.Errorf("the run that holds:\n%s", r.Page())
			}
			r := check(t, c.breaks().journals())
			want := append([]string{c.law}, c.also...)
			got := broken(r)
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("violated (-want +got):\n%s\n%s", diff, r.Page())
			}
			if v := r.Invariant(c.law).Violations; len(v) == 0 || v[0].Subject == "" || v[0].What == "" || len(v[0].Excerpt) == 0 {
				t.Errorf("got violations %+v, want one with its excerpt", v)
			}
		})
	}
	for _, law := range verify.Laws() {
		if law.Missing == "" && !seen[law.ID] {
			t.Errorf("no run violates %s %s", law.ID, law.Name)
		}
	}
}
