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
	s.Outcomes, s.Counts = m, m.Count(Len(&s))
	if s.Status == work.SegmentFree && s.Counts[Unsent] == 0 && s.Counts[Started] == 0 {
		s.Status = work.SegmentDone
	}
	return s
}

// Repair voids a segment that its worker has left, and issues one for exactly those who were not sent to. Who was started
// stays in the void one, as unknown. Nothing is issued where nobody is left.
func Repair(s work.Segment) (void work.Segment, issued []work.Segment) {
	old, n := Map(append([]byte(nil), s.Outcomes...)), Len(&s)
	from, to := -1, -1
	for i := range n {
		if old.At(i) == Started {
			old.set(i, Unknown)
		}
		if old.At(i) == Unsent {
			if from < 0 {
				from = i
			}
			to = i
		}
	}
	fresh := work.Segment{ID: posthouse.NewID(), Campaign: s.Campaign, Tenant: s.Tenant, First: s.First + int64(from), Last: s.First + int64(to), RepairedFrom: s.ID}
	if from >= 0 {
		left := NewMap(to - from + 1)
		for i := from; i <= to; i++ {
			if old.At(i) == Unsent {
				old.set(i, Elsewhere)
			} else {
				left.set(i-from, Elsewhere)
			}
		}
		issued = append(issued, sealed(fresh, left))
	}
	s.Status = work.SegmentVoid
	s.Token++ // whoever had it writes no more
	s.Owner = ""
	return sealed(s, old), issued
}

// Sweep ends all who were not sent to, because the campaign has ended: they are expired or cancelled.
func Sweep(s work.Segment, to Outcome) work.Segment {
	m := Map(append([]byte(nil), s.Outcomes...))
	for i := range Len(&s) {
		if m.At(i) == Unsent {
			m.set(i, to)
		}
	}
	return sealed(s, m)
}
