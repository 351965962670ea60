package campaign

import (
	"slices"

	"github.com/posthouse/posthouse/internal/work"
)

// What the provider has told of a member: a byte of Segment.Receipts. From toldFrom on it is the place among Segment.Told of why the
// member did not get it.
const (
	toldNothing   = 0
	toldDelivered = 1
	toldFrom      = 2
)

// At is where the member at a place of a segment stands, by its map and by what the provider has told since. Only of a member
// who was sent to can a receipt tell anything, and such a member takes no other step: so the owner of a segment and receipts write
// beside each other, and neither needs to know of the other.
func At(s *work.Segment, place int) Outcome {
	o := Map(s.Outcomes).At(place)
	if o != Sent {
		return o
	}
	switch told := toldAt(s, place); told {
	case toldNothing:
		return Sent
	case toldDelivered:
		return Delivered
	}
	return Undelivered
}

func toldAt(s *work.Segment, place int) byte {
	if place >= len(s.Receipts) {
		return toldNothing
	}
	return s.Receipts[place]
}

// toldOf is why a member did not get it, by the provider's receipt; nil for nothing.
func toldOf(s *work.Segment, place int) *work.SegmentReason {
	if at := int(toldAt(s, place)) - toldFrom; at >= 0 && at < len(s.Told) {
		return &s.Told[at]
	}
	return nil
}

// Tell is a segment with what the provider has told of a member: why is empty where it was delivered. The first that is told counts.
// false says that it is nothing new, or that nothing is known to have been sent to the member.
func Tell(s work.Segment, place int, delivered bool, code, text string) (work.Segment, bool) {
	if place < 0 || place >= Len(&s) || Map(s.Outcomes).At(place) != Sent || toldAt(&s, place) != toldNothing {
		return s, false
	}
	s.Receipts, s.Told = slices.Clone(s.Receipts), slices.Clone(s.Told)
	if len(s.Receipts) == 0 {
		s.Receipts = make([]byte, Len(&s))
	}
	if delivered {
		s.Receipts[place] = toldDelivered
		s.Heard.Delivered++
		return s, true
	}
	var at int
	s.Told, at = among(s.Told, work.SegmentReason{Outcome: Undelivered.String(), Code: code, Error: text})
	s.Told[at].N++
	s.Receipts[place] = byte(at + toldFrom)
	s.Heard.Undelivered++
	return s, true
}
