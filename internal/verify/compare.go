package verify

import (
	"time"

	"github.com/posthouse/posthouse"
)

// comparison is one thing that a row and the log say.
type comparison struct {
	name        string
	stored, log any
}

// comparisons are what a delivery's row and its history both know.
func comparisons(m *posthouse.Message, d *posthouse.Delivery, h history) []comparison {
	first, last := &h.events[0], h.last()
	all := []comparison{
		{"tenant", d.Tenant, last.Tenant}, {"state", d.State, last.To}, {"version", d.Version, last.Version}, {"token", d.Token, last.Token},
		{"epoch", d.Epoch, last.Epoch}, {"tries", d.Tries, last.Tries}, {"attempts", d.Attempts, len(h.attempts())},
		{"provider_ref", d.ProviderRef, h.ref()}, {"reason", d.Reason, h.reason()}, {"account", d.Account, last.Account},
		{"last_error", d.Error, h.lastError()}, {"claim_losses", d.ClaimLosses, h.losses(d.ClaimLosses)}, {"unconfirmed", d.Unconfirmed, h.unconfirmed()},
		{"created_at", stampText(d.CreatedAt), stampText(first.At)}, {"updated_at", stampText(d.UpdatedAt), stampText(last.At)},
		{"due_at", stampText(d.DueAt), stampText(h.due())}, {"first_start_at", stampText(d.FirstStartAt), stampText(h.firstStart())},
		{"started_at", stampText(d.StartedAt), stampText(h.runsSince())}, {"cancel_requested", d.CancelRequested, h.cancelRequested()},
		{"lease_owner", d.LeaseOwner, h.holder().Owner},
	}
	switch until := h.holder().LeaseUntil; {
	case until.IsZero():
		all = append(all, comparison{"lease_until", stampText(d.LeaseUntil), stampText(until)})
	case d.LeaseUntil.Before(until): // no event says that an agent was given longer
		all = append(all, comparison{"lease_until", stampText(d.LeaseUntil), "no earlier than " + stampText(until)})
	}
	if m != nil {
		all = append(all, ofMessage(m, d, h)...)
	}
	return all
}

// ofMessage are what a delivery's row has from its message.
func ofMessage(m *posthouse.Message, d *posthouse.Delivery, h history) []comparison {
	all := []comparison{
		{"channel", d.Channel, m.Channel}, {"not_before", stampText(d.NotBefore), stampText(m.NotBefore)}, {"message's tenant", m.Tenant, d.Tenant},
		{"priority", d.Priority, m.Priority}, {"notification", d.Notification, m.Notification},
	}
	if h.replay() {
		return all
	}
	all = append(all, comparison{"idempotency key", d.IdemKey, d.ID}, comparison{"replay_of", d.ReplayOf, ""}, comparison{"deadline", stampText(d.Deadline), stampText(m.Deadline)})
	if m.OnUnknown != "" && !h.heldByEpoch() {
		all = append(all, comparison{"on_unknown", d.OnUnknown, m.OnUnknown})
	}
	return all
}

// ref is the provider's id by the log.
func (h history) ref() string {
	for i := len(h.events) - 1; i >= 0; i-- {
		if h.events[i].Ref != "" {
			return h.events[i].Ref
		}
	}
	return ""
}

// reason is that of its state by the log. A claim and a start leave it as it was.
func (h history) reason() string {
	i := len(h.events) - 1
	for i > 0 && (h.events[i].Type == posthouse.EventStart || h.events[i].Type == posthouse.EventClaim) {
		i--
	}
	return h.events[i].Reason
}

// lastError is the text of the last failure by the log. What says why it moved or was given back is none.
func (h history) lastError() (text string) {
	for i := range h.events {
		switch e := &h.events[i]; e.Type {
		case posthouse.EventMove, posthouse.EventRelease, posthouse.EventRecall, posthouse.EventWake:
		case posthouse.EventQuarantine:
			text = e.Error
		case posthouse.EventReceipt:
			if e.To == posthouse.Undelivered {
				text = e.Error
			}
		default:
			if e.Error != "" || e.Class != "" && e.Class != posthouse.ClassOK {
				text = e.Error
			}
		}
	}
	return text
}

// due is when something is to happen next by the log. What settles leaves it as it was.
func (h history) due() time.Time {
	for i := len(h.events) - 1; i >= 0; i-- {
		if h.events[i].To.Open() {
			return h.events[i].Due
		}
	}
	return h.events[0].Due
}

// firstStart is when the first attempt began that was not taken back.
func (h history) firstStart() time.Time {
	if list := h.attempts(); len(list) > 0 {
		return list[0].at
	}
	return time.Time{}
}

// runsSince is when the attempt began that is under way.
func (h history) runsSince() time.Time {
	if list := h.attempts(); len(list) > 0 && list[len(list)-1].end < 0 && h.last().To == posthouse.Sending {
		return list[len(list)-1].at
	}
	return time.Time{}
}

// holder is the event that gave the delivery to the one that has it, an empty one where nobody has.
func (h history) holder() *posthouse.Event {
	if h.last().To == posthouse.Sending {
		for i := len(h.events) - 1; i >= 0; i-- {
			if e := &h.events[i]; e.Type == posthouse.EventStart || claims(e) {
				return e
			}
		}
	}
	return &posthouse.Event{}
}

// losses is how many leases it lost since it was made, or let out of quarantine, where one is kept; programs before that kept none, and
// what they stored is right too.
func (h history) losses(stored int) (n int) {
	freed := false
	for i := range h.events {
		switch e := &h.events[i]; {
		case e.Type == posthouse.EventRequeue:
			n, freed = 1, true
		case e.Type == posthouse.EventLeaseLost && e.Reason != reassigned, e.Type == posthouse.EventQuarantine && e.Reason == "poison":
			n++
		}
	}
	if freed && stored == n-1 {
		return stored
	}
	return n
}

// unconfirmed reports whether it counts as sent and nobody has said so.
func (h history) unconfirmed() (yes bool) {
	for i := range h.events {
		switch e := &h.events[i]; {
		case e.Type == posthouse.EventAssumeSent:
			yes = true
		case e.Type == posthouse.EventEvidence, e.Type == posthouse.EventResolve && e.To == posthouse.Sent:
			yes = false
		}
	}
	return yes
}

// cancelRequested reports whether somebody asked to cancel it while it was under way.
func (h history) cancelRequested() bool {
	for i := range h.events {
		if h.events[i].Type == posthouse.EventCancelRequest {
			return true
		}
	}
	return false
}

// heldByEpoch reports whether a restore has left it to a person: that changes its policy.
func (h history) heldByEpoch() bool {
	for i := range h.events {
		if h.events[i].Type == posthouse.EventEpochHold {
			return true
		}
	}
	return false
}
