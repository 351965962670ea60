package verify

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
)

// Barred is from when on, and until when, nothing is sent to an address. A zero Until is never.
type Barred struct{ From, Until time.Time }

// Committing is how long the commit of a suppression, or of a start, may take: their times are of before it.
const Committing = time.Second

// Holds reports whether nothing may start at a moment.
func (b Barred) Holds(at time.Time) bool {
	return at.After(b.From.Add(Committing)) && (b.Until.IsZero() || at.Before(b.Until))
}

// judgeSuppressed holds that of what started for a suppressed address nothing has left (I22): the start ends as suppressed, is given
// back, or is lost with its process before anybody has asked.
func (c keeping) judgeSuppressed(m *posthouse.Message, d *posthouse.Delivery, h history) {
	if c.in.Suppressed == nil || m == nil {
		return
	}
	b, is := c.in.Suppressed(d.Tenant, d.Channel, m.Kind, cmp.Or(d.Address, d.User))
	if !is {
		return
	}
	c.checked(suppress, 1)
	underWay := -1
	for i := range h.events {
		e := &h.events[i]
		if e.Type == posthouse.EventStart {
			underWay = i
			continue
		}
		if underWay >= 0 && answers(e) && b.Holds(h.events[underWay].At) {
			c.fail(suppress, h.id, h.show(underWay, i), "it was sent, and its address has been suppressed since %s", b.From.UTC().Format(time.RFC3339Nano))
		}
		if e.To != posthouse.Sending {
			underWay = -1
		}
	}
}

// answers reports whether an event is the result of a send.
func answers(e *posthouse.Event) bool {
	switch e.Type {
	case posthouse.EventSent, posthouse.EventRetry, posthouse.EventFail, posthouse.EventAmbiguous:
		return e.From == posthouse.Sending
	}
	return false
}
