package campaign

import (
	"errors"
	"fmt"

	"github.com/posthouse/posthouse/internal/work"
)

// Outcome is where a member of a segment stands: half a byte of its map.
type Outcome byte

// The outcomes. Their numbers are stored.
const (
	Unsent      Outcome = 0
	Started     Outcome = 1 // the chunk it is in was begun, and no result is stored
	Sent        Outcome = 2
	Delivered   Outcome = 3
	Undelivered Outcome = 4
	Failed      Outcome = 5
	Unknown     Outcome = 6 // it was started, and nobody knows whether it arrived
	Expired     Outcome = 7
	Suppressed  Outcome = 8
	Cancelled   Outcome = 9
	HandedOver  Outcome = 10 // it is an ordinary delivery, and ends there
	Repeated    Outcome = 11 // no member: the address stands before it in the audience
	Elsewhere   Outcome = 12 // no member of this segment: another segment has it
)

var outcomeNames = [...]string{
	"unsent", "started", "sent", "delivered", "undelivered", "failed", "unknown", "expired", "suppressed", "cancelled", "handed_over", "repeated", "elsewhere",
}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome %d", byte(o))
}

// Settled reports whether nothing more is to be sent to a member, as far as the map knows.
func (o Outcome) Settled() bool { return o != Unsent && o != Started }

// steps says which outcome may follow which.
var steps = map[Outcome][]Outcome{
	Unsent:  {Started, Expired, Suppressed, Cancelled, Elsewhere},
	Started: {Unsent, Sent, Failed, Unknown, Suppressed, HandedOver}, // who is suppressed is found after the start is stored
	Sent:    {Delivered, Undelivered},
	// An unknown outcome is proved by a receipt or a person, or sent again as a delivery by the campaign's policy.
	Unknown:    {Sent, Delivered, Undelivered, Failed, HandedOver},
	HandedOver: {Sent, Delivered, Undelivered, Failed, Unknown, Expired, Suppressed, Cancelled},
}

// Map has the outcomes of a segment's members, two in a byte.
type Map []byte

// NewMap is a map of n members who are all unsent.
func NewMap(n int) Map { return make(Map, (n+1)/2) }

// At is where the member at a place stands.
func (m Map) At(i int) Outcome { return Outcome(m[i/2]>>(4*(i%2))) & 15 }

// set writes an outcome without asking what was there.
func (m Map) set(i int, o Outcome) {
	shift := 4 * (i % 2)
	m[i/2] = m[i/2]&^(15<<shift) | byte(o)<<shift
}

// ErrStep is the error of a step that no member may take.
var ErrStep = errors.New("no member may take this step")

// Step moves the member at a place.
func (m Map) Step(i int, to Outcome) error {
	from := m.At(i)
	for _, may := range steps[from] {
		if may == to {
			m.set(i, to)
			return nil
		}
	}
	return fmt.Errorf("%w: from %s to %s", ErrStep, from, to)
}

// Exclude marks one who is no member from the beginning.
func (m Map) Exclude(i int, why Outcome) { m.set(i, why) }

// Count counts the outcomes of the first n members.
func (m Map) Count(n int) (counts [work.CountedOutcomes]int64) {
	for i := range n {
		if o := m.At(i); int(o) < len(counts) {
			counts[o]++
		}
	}
	return counts
}
