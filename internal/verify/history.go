package verify

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// history is all that the log says of one delivery, in the order of the log.
type history struct {
	id     string
	idem   string            // its idempotency key
	events []posthouse.Event // at least one
}

func newHistory(events []posthouse.Event) history {
	h := history{id: events[0].Delivery, idem: events[0].Idem, events: events}
	if h.idem == "" {
		h.idem = h.id
	}
	return h
}

func (h history) last() *posthouse.Event { return &h.events[len(h.events)-1] }

// replay reports whether the delivery repeats another one.
func (h history) replay() bool { return h.events[0].Reason == "replay" }

// show is a proof: the given events of the history.
func (h history) show(indexes ...int) func() []string {
	return func() []string {
		var out []string
		last := -1
		for _, i := range indexes {
			if i > last && i < len(h.events) {
				out = append(out, eventText(&h.events[i]))
				last = i
			}
		}
		return out
	}
}

// byAgent reports whether an event is an agent's: its owner is named agent/ and the agent's id.
func byAgent(e *posthouse.Event) bool { return strings.HasPrefix(e.Owner, agentOwner) }

// agentOwner begins the owner of what an agent holds.
const agentOwner = "agent/"

// started reports whether an attempt is under way after an event, given whether one was before it: agents
// claim first and start later.
func started(before bool, e *posthouse.Event) bool {
	return e.To == posthouse.Sending && (before || e.Type == posthouse.EventStart)
}

// claims reports whether an event gives the delivery to a new holder.
func claims(e *posthouse.Event) bool {
	return (e.Type == posthouse.EventStart || e.Type == posthouse.EventClaim) && e.From != posthouse.Sending
}

// manual reports whether an event is a person's word that an open delivery is to be tried again.
func manual(e *posthouse.Event) bool {
	return e.Type == posthouse.EventRequeue ||
		(e.Type == posthouse.EventResolve && e.To == posthouse.Pending && strings.HasPrefix(e.Reason, "operator_"))
}

// uncertain reports whether after an event nobody knows whether something has arrived.
func uncertain(e *posthouse.Event) bool {
	switch e.Type {
	case posthouse.EventAmbiguous, posthouse.EventEpochHold:
		return true
	case posthouse.EventLeaseLost:
		return e.To == posthouse.Unknown
	case posthouse.EventResolve:
		return e.From == posthouse.Pending
	case posthouse.EventQuarantine:
		return e.From == posthouse.Sending
	}
	return false
}

// attempt is a start that was not taken back, and how it ended.
type attempt struct {
	start, end int // indexes of events; end is -1 while it runs
	at         time.Time
	lease      time.Time // its end; zero for an agent, which nothing stops when it has ended
}

// attempts pairs starts with their ends. What was given back, or was suppressed before a byte left, takes its start back.
func (h history) attempts() []attempt {
	var list []attempt
	open := false
	for i := range h.events {
		e := &h.events[i]
		switch {
		case e.Type == posthouse.EventStart:
			list = append(list, attempt{start: i, end: -1, at: e.At})
			if !byAgent(e) {
				list[len(list)-1].lease = e.LeaseUntil
			}
			open = true
		case open && takesBack(e):
			list = list[:len(list)-1]
			open = false
		case open && e.From == posthouse.Sending && e.To != posthouse.Sending:
			list[len(list)-1].end = i
			open = false
		}
	}
	return list
}

// takesBack reports whether an event undoes the start before it.
func takesBack(e *posthouse.Event) bool {
	return e.Type == posthouse.EventRelease || e.Type == posthouse.EventSuppress && e.From == posthouse.Sending
}

// count adds what an event does to a delivery of unknown outcome.
func (u *Unknowns) count(e *posthouse.Event) {
	switch {
	case e.To == posthouse.Unknown && e.From != posthouse.Unknown:
		u.Entered++
		switch e.Type {
		case posthouse.EventLeaseLost:
			u.LeaseLost++
		case posthouse.EventEpochHold:
			u.EpochHold++
		case posthouse.EventRelease:
			u.TooLate++
		case posthouse.EventResolve:
			u.Operator-- // who took the word back
		default:
			u.Ambiguous++
		}
	case e.From == posthouse.Unknown && e.To != posthouse.Unknown:
		u.resolved(e)
	}
}

func (u *Unknowns) resolved(e *posthouse.Event) {
	switch e.Type {
	case posthouse.EventResend:
		u.Retried++
	case posthouse.EventAssumeSent:
		u.AssumedSent++
	case posthouse.EventHoldTimeout:
		u.TimedOut++
	case posthouse.EventEvidence:
		u.Evidence++
	case posthouse.EventQuarantine:
		u.Quarantined++
	case posthouse.EventResolve:
		if strings.HasPrefix(e.Reason, "query_") {
			u.Queried++
		} else {
			u.Operator++
		}
	}
}
