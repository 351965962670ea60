package work

import (
	"cmp"
	"strings"

	"github.com/posthouse/posthouse"
)

// LineKey names where the messages of a channel stand that have one ordering key.
type LineKey struct{ Tenant, Channel, Name string }

// Compare puts lines in the order in which transactions lock them.
func (l LineKey) Compare(with LineKey) int {
	return cmp.Or(strings.Compare(l.Tenant, with.Tenant), strings.Compare(l.Channel, with.Channel), strings.Compare(l.Name, with.Name))
}

// Admission says what becomes of what is first in a line.
type Admission struct {
	// Admit lets in what was found: the deliveries of one message.
	Admit func(found []posthouse.Delivery) []Change
	// SetAside is what follows where the row of one cannot be read: d is what could be.
	SetAside func(d posthouse.Delivery, why string) Change
}

// LineOwner is who has a delivery that stands in line, in its events; empty for another delivery.
func LineOwner(d *posthouse.Delivery) string {
	if d.Line == "" {
		return ""
	}
	return "line/" + d.Channel + "/" + d.Line
}

// AcceptOwner is what stands behind a delivery in its first event: the line that it stands in, the notification whose step it is, or its collection. Empty
// for what a caller has handed in.
func AcceptOwner(d *posthouse.Delivery) string {
	switch {
	case d.Notification != "":
		return NotificationOwner + d.Notification
	case d.Collection != "":
		return CollectionOwner + d.Collection
	}
	return LineOwner(d)
}

// NotificationOwner begins the owner of a notification's deliveries in their first events.
const NotificationOwner = "notification/"

// CollectionOwner begins the owner of what a collection has gathered, and of its own delivery.
const CollectionOwner = "collection/"

// LineOfMessage is the line of a message, and whether it has one.
func LineOfMessage(m *posthouse.Message) (LineKey, bool) {
	if m == nil || m.OrderingKey == "" {
		return LineKey{}, false
	}
	return LineKey{Tenant: m.Tenant, Channel: m.Channel, Name: LineOf(m.OrderingKey)}, true
}
