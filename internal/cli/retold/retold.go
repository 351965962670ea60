// Package retold tells in our events what another system has done with a message: an import knows where it stands and when that
// was, and writes the history that must have been. It reads no database; each import has a package of its own.
package retold

import (
	"time"

	"github.com/posthouse/posthouse"
)

// History writes a delivery's events, and keeps the delivery as they leave it.
type History struct {
	Delivery posthouse.Delivery
	Events   []posthouse.Event
}

// To adds an event that happens at a time, and to the delivery what comes with it.
func (h *History) To(kind posthouse.EventType, state posthouse.State, reason string, at time.Time) *posthouse.Event {
	d := &h.Delivery
	from := d.State
	d.State, d.Reason, d.UpdatedAt = state, reason, at
	d.Version++
	h.Events = append(h.Events, posthouse.Event{
		Delivery: d.ID, Version: d.Version, Tenant: d.Tenant, At: at, Type: kind, From: from, To: state,
		Token: d.Token, Reason: reason, Epoch: d.Epoch, Tries: d.Tries,
	})
	return &h.Events[len(h.Events)-1]
}

// Start is an attempt that somebody began, for whom it is held until a time at most.
func (h *History) Start(by string, at, until time.Time) {
	d := &h.Delivery
	d.Token++
	d.Attempts++
	d.LeaseOwner, d.StartedAt, d.LeaseUntil = by, at, until
	if d.FirstStartAt.IsZero() {
		d.FirstStartAt = at
	}
	e := h.To(posthouse.EventStart, posthouse.Sending, d.Reason, at)
	e.Attempt, e.Owner, e.LeaseUntil = d.Attempts, by, d.LeaseUntil
}

// End closes an attempt.
func (h *History) End(kind posthouse.EventType, state posthouse.State, reason string, class posthouse.Class, text string, at time.Time) *posthouse.Event {
	d := &h.Delivery
	e := h.To(kind, state, reason, at)
	e.Attempt, e.Owner, e.Class, e.Error = d.Attempts, d.LeaseOwner, class, text
	d.LeaseOwner, d.StartedAt, d.LeaseUntil = "", time.Time{}, time.Time{}
	if text != "" {
		d.Error = text
	}
	return e
}
