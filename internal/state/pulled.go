package state

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Reasons of deliveries that agents fetch.
const (
	ReasonGivenBack  = "given_back" // the agent says that it has not left
	ReasonReassigned = "reassigned" // taken from an agent that does not come back
	ReasonNoRetry    = "no_retry"   // the agent says that a repeat is useless
	ReasonCallerLeft = "caller_left"
)

// Holds reports whether an agent has a delivery by this token. A token of 0 is any: its protocol has none.
func Holds(d *posthouse.Delivery, agent string, token int64) bool {
	return d.State == posthouse.Sending && d.LeaseOwner == work.Owner(agent) && (token == 0 || token == d.Token)
}

// AfterStart marks a hand-out as started (T8), or expires it where its deadline has passed (T23).
func AfterStart(d posthouse.Delivery, now time.Time) work.Change {
	if !d.Deadline.IsZero() && !now.Before(d.Deadline) {
		return AfterDeadline(d)
	}
	step := begin(d)
	step.start(now)
	return step.change
}

// start marks that sending begins now.
func (s *step) start(now time.Time) {
	d := &s.change.After
	d.Attempts++
	d.StartedAt = now
	if d.FirstStartAt.IsZero() {
		d.FirstStartAt = now
	}
	e := s.to(posthouse.EventStart, posthouse.Sending, d.Reason)
	e.Attempt, e.Owner, e.LeaseUntil, e.Reason = d.Attempts, d.LeaseOwner, d.LeaseUntil, "" // the row keeps its reason
}

// AfterReport decides on a report about a delivery that its agent holds, or held. It sets the report's Answer
// and State, and is nil where nothing changes.
func AfterReport(s *Settings, codes map[string]posthouse.Class, r *work.Report, known work.Known, now time.Time) *work.Change {
	d := known.Delivery
	if d == nil || len(known.Tokens) == 0 || r.Token != 0 && !slices.Contains(known.Tokens, r.Token) {
		r.Answer, r.State = posthouse.ReportMissing, ""
		return nil
	}
	r.Answer, r.State = posthouse.ReportStale, d.State
	var change work.Change
	var ok bool
	switch {
	case Holds(d, r.Agent, r.Token):
		r.Answer, change = posthouse.ReportDone, afterOutcome(s, codes, r, known, now)
	case r.Token == 0 && sameReport(known.Last, r):
		r.Answer = known.Last.Answer
		return nil
	default:
		if change, ok = lateProof(*d, r); !ok {
			return nil
		}
		r.Answer = posthouse.ReportEvidence
		change.Events[0].Owner = work.Owner(r.Agent) // another may hold it
	}
	r.State = change.After.State
	return &change
}

// sameReport reports whether an agent without tokens says once more what it said last.
func sameReport(last, r *work.Report) bool {
	return last != nil && last.Outcome == r.Outcome && last.Error == r.Error && mayRetry(last) == mayRetry(r)
}

// mayRetry is an agent's advice on what was not sent.
func mayRetry(r *work.Report) bool { return r.Retry == nil || *r.Retry }

// afterOutcome is what follows the report of who holds the delivery (T9 to T12). What an agent did not mark as
// started has begun all the same.
func afterOutcome(s *Settings, codes map[string]posthouse.Class, r *work.Report, known work.Known, now time.Time) work.Change {
	d, result := *known.Delivery, resultOf(codes, r)
	var before *work.Change
	if d.StartedAt.IsZero() {
		step := begin(d)
		step.start(now)
		before, d = &step.change, step.change.After
	}
	item := &work.Item{Delivery: d}
	if s.Recalls(&d, result.Class) {
		item.Past = known.Past()
	}
	after := AfterResult(s, item, result, now)
	if r.Outcome == posthouse.OutcomeNotSent && !mayRetry(r) && after.After.State != posthouse.Failed {
		after = afterRefused(d, result)
	}
	if before != nil {
		after.Before, after.Events = before.Before, append(before.Events, after.Events...)
	}
	return after
}

// resultOf is a report as a driver would have said it. A channel's codes give a class to the agent's.
func resultOf(codes map[string]posthouse.Class, r *work.Report) channel.Result {
	res := channel.Result{Class: posthouse.ClassOK, Code: r.Code, Error: r.Error, Ref: r.Ref}
	switch r.Outcome {
	case posthouse.OutcomeSent:
	case posthouse.OutcomeDelivered:
		res.Delivered = true
	case posthouse.OutcomeNotSent:
		res.Class = posthouse.ClassTransient
		if class := codes[r.Code]; class.Valid() && class != posthouse.ClassOK && class != posthouse.ClassUnknown {
			res.Class = class
		}
	default:
		res.Class = posthouse.ClassUnknown
	}
	return res
}

// afterRefused ends a delivery that its agent says is useless to repeat (T11).
func afterRefused(d posthouse.Delivery, r channel.Result) work.Change {
	step := begin(d)
	step.rest()
	step.change.After.Tries++
	step.describe(step.to(posthouse.EventFail, posthouse.Failed, ReasonNoRetry), r)
	return step.change
}

// lateProof is what a report of an agent that holds the delivery no more proves (T18): a success that is not
// known yet, or that it arrived where it was only known to be sent.
func lateProof(d posthouse.Delivery, r *work.Report) (work.Change, bool) {
	if r.Outcome != posthouse.OutcomeSent && r.Outcome != posthouse.OutcomeDelivered {
		return work.Change{}, false
	}
	if d.State == posthouse.Sent && r.Outcome == posthouse.OutcomeDelivered {
		step := begin(d)
		step.change.After.Unconfirmed = false
		step.describe(step.to(posthouse.EventEvidence, posthouse.Delivered, "late_result"), resultOf(nil, r))
		return step.change, true
	}
	return AfterEvidence(d, resultOf(nil, r))
}

// AfterTaken takes a started hand-out from an agent that does not come back (T13): nobody knows whether it left. What failed before,
// past, is nil where it was not read.
func AfterTaken(s *Settings, d posthouse.Delivery, past work.Failures, why string, now time.Time) work.Change {
	step := begin(d)
	step.past = past
	step.rest()
	a := &step.change.After
	a.Tries++
	a.Error = why
	e := step.to(posthouse.EventLeaseLost, posthouse.Unknown, ReasonReassigned)
	step.describe(e, channel.Result{Class: posthouse.ClassUnknown, Code: "REASSIGNED", Error: why})
	step.afterUnknown(s, now)
	return step.change
}

// AfterGivenBack returns what an agent says has not left (T5). Why is in its own words.
func AfterGivenBack(d posthouse.Delivery, reason, why string, now time.Time) work.Change {
	c := AfterRelease(d, now, reason)
	c.Events[0].Owner, c.Events[0].Error = d.LeaseOwner, why
	return c
}
