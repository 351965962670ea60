package archive

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// format is what the first line of an archive calls itself, and version the form of the lines. The first form has no notifications.
const (
	format  = "posthouse archive"
	version = 2
)

// Range is what an archive is asked to hold: the messages whose last delivery changed at or after After and before
// Before. The zero After means from the beginning. So archives of neighbouring ranges have no message in common, as long as
// nothing is replayed meanwhile.
type Range struct {
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before"`
	// Tenant is whose messages they are; empty for those of all.
	Tenant string `json:"tenant,omitempty"`
}

// Record is a message with all that is known of it. What was sensitive has been deleted long before.
type Record struct {
	Message    posthouse.Message    `json:"message"`
	Deliveries []posthouse.Delivery `json:"deliveries"`
	Events     []posthouse.Event    `json:"events"`
	// Recipients are how many the message had, and Trace is the trace context that it came with: the hash chain seals both.
	Recipients int    `json:"recipients,omitempty"`
	Trace      string `json:"trace,omitempty"`
	// Notifications are those that the deliveries belong to, as they stood when the archive was written. Those of a message that several steps
	// of a route have sent for stand with each.
	Notifications []posthouse.Notification `json:"notifications,omitempty"`
}

// Of reports whether a record is of a message: the message itself, or one that a step of its route has sent.
func (r *Record) Of(message string) bool {
	return r.Message.ID == message || slices.ContainsFunc(r.Notifications, func(n posthouse.Notification) bool { return n.Message == message })
}

// Totals count what an archive holds.
type Totals struct {
	Messages   int `json:"messages"`
	Deliveries int `json:"deliveries"`
	Events     int `json:"events"`
}

// head is the first line.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Range
}

// foot is the last line.
type foot struct {
	Totals Totals `json:"totals"`
	// SHA256 is of all lines before this one, with their line feeds, in hexadecimal digits.
	SHA256 string `json:"sha256"`
	// KeyID and Signature say who has written it: the signature is over what Signed makes of SHA256. Empty where there was no keyring.
	KeyID     string `json:"key_id,omitempty"`
	Signature []byte `json:"signature,omitempty"`
}

// Signed is the text that an archive's signature is over. It begins as no other text that is signed does.
func Signed(sum string) []byte { return []byte(format + " " + sum) }

// Seal is who has written an archive, as it says.
type Seal struct {
	SHA256, KeyID string
	Signature     []byte
}

func (t *Totals) add(r *Record) {
	t.Messages++
	t.Deliveries += len(r.Deliveries)
	t.Events += len(r.Events)
}

// fits tells whether a message is settled and within a range: its deliveries need nobody any more, and the last that
// changed did so in time.
func (r Range) fits(deliveries []posthouse.Delivery) bool {
	var last time.Time
	for i := range deliveries {
		d := &deliveries[i]
		if d.State.Open() {
			return false
		}
		if d.UpdatedAt.After(last) {
			last = d.UpdatedAt
		}
	}
	return len(deliveries) > 0 && last.Before(r.Before) && !last.Before(r.After)
}
