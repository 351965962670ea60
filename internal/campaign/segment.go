package campaign

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// DefaultSegment is how many members a segment has, as in the document; MaxSegment bounds it.
const (
	DefaultSegment = 1000
	MaxSegment     = 10000
)

// Cut makes the segments of the members from first to last. excluded reports who is no member.
func Cut(c *work.Campaign, first, last int64, excluded func(seq int64) bool) []work.Segment {
	var list []work.Segment
	size := int64(max(c.SegmentSize, 1))
	for ; first <= last; first += size {
		s := work.Segment{ID: posthouse.NewID(), Campaign: c.ID, Tenant: c.Tenant, First: first, Last: min(first+size-1, last)}
		n := Len(&s)
		m := NewMap(n)
		for i := range n {
			if excluded(s.First + int64(i)) {
				m.Exclude(i, Repeated)
			}
		}
		list = append(list, sealed(s, m))
	}
	return list
}

// Len is how many members the range of a segment has.
func Len(s *work.Segment) int { return int(s.Last - s.First + 1) }

// sealed is a segment with a map and what follows from it.
func sealed(s work.Segment, m Map) work.Segment {
	s.Outcomes = m
	Count(&s)
	if s.Status == work.SegmentFree && s.Counts[Unsent] == 0 && s.Counts[Started] == 0 {
		s.Status = work.SegmentDone
	}
	return s
}

// Count fills in what follows from a segment's map: the counts, and how many members each reason has.
func Count(s *work.Segment) {
	m, n := Map(s.Outcomes), Len(s)
	s.Counts = m.Count(n)
	for i := range s.Reasons {
		s.Reasons[i].N = 0
	}
	for i := range min(n, len(s.Noted)) {
		r := reasonOf(s, i)
		if r != nil && m.At(i).String() == r.Outcome {
			r.N++
		}
	}
}

// maxReasons is how many reasons a segment tells apart: a byte says which is a member's.
const maxReasons = 250

// maxError bounds the text of a reason.
const maxError = 300

// Note says why a member ended as it did. The outcome is that of the map, which is set on its own.
func Note(s *work.Segment, place int, why work.SegmentReason) {
	var at int
	s.Reasons, at = among(s.Reasons, why)
	if len(s.Noted) == 0 {
		s.Noted = make([]byte, Len(s))
	}
	s.Noted[place] = byte(at + 1)
}

// Unnote takes back why a member ended: it has not.
func Unnote(s *work.Segment, place int) {
	if len(s.Noted) > 0 {
		s.Noted[place] = 0
	}
}

// among is the place of a reason in a list, which gets it where it has none like it.
func among(list []work.SegmentReason, why work.SegmentReason) ([]work.SegmentReason, int) {
	if runes := []rune(why.Error); len(runes) > maxError {
		why.Error = string(runes[:maxError]) + "…"
	}
	at := 0
	for at < len(list) && !alike(&list[at], &why) {
		at++
	}
	if at == maxReasons {
		at--
	}
	if at == len(list) {
		why.N = 0
		list = append(list, why)
	}
	return list, at
}

func alike(a, b *work.SegmentReason) bool {
	return a.Outcome == b.Outcome && a.Class == b.Class && a.Code == b.Code
}

// reasonOf is why the member at a place ended as it did, nil where nothing is noted.
func reasonOf(s *work.Segment, place int) *work.SegmentReason {
	if told := toldOf(s, place); told != nil {
		return told
	}
	if place >= len(s.Noted) || s.Noted[place] == 0 || int(s.Noted[place]) > len(s.Reasons) {
		return nil
	}
	return &s.Reasons[s.Noted[place]-1]
}

// Sweep ends all who were not sent to, because the campaign has ended: they are expired or cancelled. Who may have been reached
// before stays unknown. Who was started is unknown too: nobody works on the segment any more.
func Sweep(s work.Segment, to Outcome) work.Segment {
	s, m := copied(s)
	for i := range Len(&s) {
		switch {
		case m.At(i) == Started, m.At(i) == Unsent && !s.DoubtedAt.IsZero():
			doubt(&s, m, i)
		case m.At(i) == Unsent:
			m.set(i, to)
		}
	}
	s.Status, s.Owner = work.SegmentDone, ""
	return sealed(s, m)
}

// doubt names a member as one of whom nobody knows whether it was reached.
func doubt(s *work.Segment, m Map, i int) {
	m.set(i, Unknown)
	Note(s, i, work.SegmentReason{Outcome: Unknown.String(), Class: posthouse.ClassUnknown, Code: codeLeft, Error: "its worker was lost while it was sent to"})
}

// codeLeft is why a member is unknown who was started when its worker was lost.
const codeLeft = "WORKER_LOST"

// copied is a segment whose map and notes can be changed without the other's.
func copied(s work.Segment) (work.Segment, Map) {
	m := Map(append([]byte(nil), s.Outcomes...))
	s.Outcomes, s.Noted = m, append([]byte(nil), s.Noted...)
	s.Reasons = append([]work.SegmentReason(nil), s.Reasons...)
	return s, m
}
