package state

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/work"
)

// askFor is how long a provider is asked about an unknown before it is left to a person.
const askFor = 24 * time.Hour

// AfterQuery is what follows a provider's answer about an unknown. What failed before, past, includes it.
func AfterQuery(s *Settings, d posthouse.Delivery, past work.Failures, f channel.Finding, res channel.Result, now time.Time) work.Change {
	switch f {
	case channel.Found:
		c, _ := AfterResolve(d, true, false, "query_found", now)
		c.After.ProviderRef = cmp.Or(res.Ref, d.ProviderRef)
		c.Events[len(c.Events)-1].Ref = res.Ref // the log says where it is from
		return c
	case channel.Absent:
		before := d.Tries - 1
		if past != nil {
			before = s.Profile.Before(posthouse.ClassUnknown, past) - 1
		}
		decision := retry.Decide(s.Profile, posthouse.ClassUnknown, before, 0, 0)
		c, _ := AfterResolve(d, false, !decision.GiveUp, reasonAbsent, now.Add(decision.Wait))
		return c
	}
	step := begin(d)
	waited := now.Sub(d.UpdatedAt)
	step.change.After.DueAt = now.Add(max(2*waited, queryAfter))
	if now.Sub(d.FirstStartAt) > askFor {
		step.change.After.DueAt = time.Time{}
	}
	step.to(posthouse.EventResolve, posthouse.Unknown, "query_no_answer")
	return step.change
}

// trackFor is how long a provider is asked what became of what it has accepted. After that it stays sent.
const trackFor = 24 * time.Hour

// trackWaits returns the times between questions that the provider could not answer; the last one stays.
func trackWaits() []time.Duration {
	return []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute}
}

// Await says with a change that leads to sent when the provider is to be asked what became of it.
func Await(ch *Channel, c *work.Change, r channel.Result, now time.Time) {
	after := &c.After
	if after.State != posthouse.Sent || r.Class != posthouse.ClassOK || r.Await <= 0 || r.Ref == "" {
		return
	}
	if _, ok := ch.Opened.By(after.Account).(channel.Tracker); ok {
		c.Await = &work.Awaited{
			Delivery: after.ID, Tenant: after.Tenant, Channel: after.Channel, Account: after.Account, Ref: r.Ref,
			DueAt: now.Add(r.Await), UntilAt: now.Add(trackFor),
		}
	}
}

// Learn is what follows from the receipts of deliveries that were asked about at once, given how these now are.
func Learn(group []work.Awaited, found []posthouse.Delivery, said map[string]channel.Receipt, now time.Time) work.Learnt {
	sent := map[string]posthouse.Delivery{}
	for _, d := range found {
		if d.State == posthouse.Sent {
			sent[d.ID] = d
		}
	}
	waits := trackWaits()
	out := work.Learnt{At: now.Add(waits[min(group[0].Asks, len(waits)-1)])}
	for _, a := range group {
		d, open := sent[a.Delivery]
		switch r := said[a.Delivery]; {
		case open && r.Known:
			out.Changes = append(out.Changes, afterReceipt(d, r))
			out.Done = append(out.Done, a.Delivery)
		case open && now.Before(a.UntilAt):
			out.Later = append(out.Later, a.Delivery)
		default:
			out.Done = append(out.Done, a.Delivery)
		}
	}
	return out
}

// AfterWitness is what follows for a delivery of which nobody knows whether it arrived, where its provider tells by itself what became of
// a message to that recipient, by a ref that nobody knows: it had accepted it (T18), and that is its last word (T19, T20).
func AfterWitness(d posthouse.Delivery, ref string, r channel.Receipt) (work.Change, bool) {
	if d.State != posthouse.Unknown {
		return work.Change{}, false
	}
	step := begin(d)
	step.rest()
	step.change.After.Unconfirmed = false
	step.describe(step.to(posthouse.EventEvidence, posthouse.Sent, ReasonCallback), channel.Result{Class: posthouse.ClassOK, Ref: ref})
	last := afterReceipt(step.change.After, r)
	step.change.After, step.change.Events = last.After, append(step.change.Events, last.Events...)
	return step.change, true
}

// afterReceipt is what follows a provider's last word on a delivery (T19, T20).
func afterReceipt(d posthouse.Delivery, r channel.Receipt) work.Change {
	step := begin(d)
	state, reason := posthouse.Delivered, keptRecall(d.Reason)
	if !r.Delivered {
		state, reason = posthouse.Undelivered, ReasonReceipt
		step.change.After.Error = r.Error
	}
	e := step.to(posthouse.EventReceipt, state, reason)
	e.Code, e.Error, e.Response, e.Ref = r.Code, r.Error, r.Response, d.ProviderRef
	return step.change
}
