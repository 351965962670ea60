package campaign

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// CodeQuiet is why a member waits who is left alone now, or ends whom the campaign's deadline finds so.
const CodeQuiet = "QUIET_HOURS"

// The reasons of a free segment that waits for quiet hours to end: those of all its members, or of some alone who are left.
const (
	ReasonQuiet = "quiet_hours"
	reasonSome  = "quiet_hours_of_some"
)

// Hold notes of a member who is not sent to yet that it waits for the end of quiet hours.
func Hold(s *work.Segment, place int) {
	Note(s, place, work.SegmentReason{Outcome: Unsent.String(), Class: posthouse.ClassRecipient, Code: CodeQuiet, Error: "it waits for the end of quiet hours"})
}

// restsNow reports whether a member waits for the end of quiet hours.
func restsNow(s *work.Segment, m Map, place int) bool {
	if m.At(place) != Unsent {
		return false
	}
	r := reasonOf(s, place)
	return r != nil && r.Outcome == Unsent.String() && r.Code == CodeQuiet
}

// Rest gives a segment back until a time, where all whom it has left wait for the end of quiet hours: that is no pass, and takes nobody's try.
// false says that others are left too, or are to be sent to again: then it is concluded.
func Rest(s *work.Segment, t Terms, now, until time.Time) bool {
	m, some := Map(s.Outcomes), false
	for i := range Len(s) {
		switch m.At(i) {
		case Unsent:
			if !restsNow(s, m, i) {
				return false
			}
			some = true
		case Unknown:
			if _, again := t.resend(s, now, 0); again {
				return false
			}
		}
	}
	if !some {
		return false
	}
	s.Status, s.Owner, s.DueAt = work.SegmentFree, "", until
	markQuiet(s, reasonSome)
	Count(s)
	return true
}

// MarkQuiet says of a segment that it waits for quiet hours of all its members to end, unless a person has it sent again.
func MarkQuiet(s *work.Segment) { markQuiet(s, ReasonQuiet) }

func markQuiet(s *work.Segment, reason string) {
	if s.Reason != reasonResend {
		s.Reason = reason
	}
}

// UnmarkQuiet says that a segment does not wait for quiet hours to end any more.
func UnmarkQuiet(s *work.Segment) {
	if s.Reason == ReasonQuiet || s.Reason == reasonSome {
		s.Reason = ""
	}
}
