package campaign

import (
	"cmp"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/work"
)

// Terms say how often and when a campaign's members are tried: its channel's.
type Terms struct {
	Profile retry.Profile
	// Again is set where members of whom nobody knows whether they were reached are sent to again with the same idempotency
	// key, within the window for which the provider remembers it. Otherwise they wait for a person.
	Again           bool
	Window, Timeout time.Duration
}

// Sequel is what follows a member's attempt.
type Sequel struct {
	Outcome Outcome       // Unsent for another try
	Later   bool          // another try counts, and comes with the next pass; else it comes in this one
	Wait    time.Duration // before another try
}

// leastWait is the least a segment waits after a refusal of its account.
const leastWait = time.Second

// After is what follows the result of an attempt that was made after so many passes. chance is a number in [0, 1).
func (t Terms) After(pass int, r channel.Result, chance float64) Sequel {
	switch {
	case r.Class == posthouse.ClassOK && r.Delivered:
		return Sequel{Outcome: Delivered}
	case r.Class == posthouse.ClassOK:
		return Sequel{Outcome: Sent}
	case r.Class == posthouse.ClassUnknown, !r.Class.Valid():
		return Sequel{Outcome: Unknown}
	case r.Class.Final():
		return Sequel{Outcome: Failed}
	}
	after := r.After
	if r.Class.Blocks() {
		after = 0 // the account's gate keeps the wait that its provider named: another account or a person may end it
	}
	d := retry.Decide(t.Profile, r.Class, pass, after, chance)
	if r.AtOnce != "" {
		d = d.AtOnce(pass, r.After, chance)
	}
	switch {
	case d.GiveUp:
		return Sequel{Outcome: Failed}
	case d.Burn:
		return Sequel{Outcome: Unsent, Later: true, Wait: d.Wait}
	}
	return Sequel{Outcome: Unsent, Wait: leastWait}
}

// MayBegin reports whether members of a segment may be sent to at a moment: where they may have been reached before, only as
// long as the provider surely knows their keys, or because a person says so.
func (t Terms) MayBegin(s *work.Segment, now time.Time) bool {
	return s.DoubtedAt.IsZero() || s.Reason == reasonResend || t.Again && retry.MayResend(now, s.DoubtedAt, t.Window, t.Timeout)
}

// resend is when those of a segment are sent to again who may have been reached; false for never.
func (t Terms) resend(s *work.Segment, now time.Time, chance float64) (due time.Time, ok bool) {
	first := cmp.Or(s.DoubtedAt, s.BeganAt)
	d := retry.Decide(t.Profile, posthouse.ClassUnknown, s.Pass, 0, chance)
	due = now.Add(d.Wait)
	return due, t.Again && !d.GiveUp && retry.MayResend(due, first, t.Window, t.Timeout)
}

// The reasons of a segment that is partly done.
const (
	reasonAgain  = "again"  // some were refused, and are tried again
	reasonResend = "resend" // a person has it sent although its members may have been reached
)

// Conclude ends the work of a segment's owner, as far as it has come: done, or partly done where members are left for another
// pass, which begins after a wait.
func Conclude(s *work.Segment, t Terms, now time.Time, wait time.Duration, chance float64) {
	m := Map(s.Outcomes)
	left, doubtful := false, false
	for i := range Len(s) {
		left = left || m.At(i) == Unsent
		doubtful = doubtful || m.At(i) == Unknown
	}
	s.Status, s.Owner = work.SegmentDone, ""
	if doubtful {
		_, doubtful = t.resend(s, now, chance)
	}
	if left || doubtful {
		s.Status, s.DueAt = work.SegmentPartly, now.Add(wait)
		if s.Reason != reasonResend {
			s.Reason = reasonAgain
		}
	}
	Count(s)
}

// Repair voids a segment that its worker has left, or that is partly done, and issues one for exactly those who were not sent
// to. Who was started stays in the void one, as unknown; where the terms say that such are sent to again, those get a segment
// of their own. Nothing is issued where nobody is left.
func Repair(s work.Segment, t Terms, now time.Time, chance float64) (void work.Segment, issued []work.Segment) {
	partly := s.Status == work.SegmentPartly
	s, m := copied(s)
	for i := range Len(&s) {
		if m.At(i) == Started {
			doubt(&s, m, i)
		}
	}
	// Members who wait for the end of quiet hours had no try. They get a segment of the same pass, whose owner asks when the hours end.
	if next, some := issue(&s, m, func(i int) bool { return partly && restsNow(&s, m, i) }); some {
		if s.Reason == reasonResend {
			next.Reason = reasonResend
		}
		next.Pass, next.DoubtedAt = s.Pass, s.DoubtedAt
		issued = append(issued, next)
	}
	if next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unsent }); some {
		if s.Reason == reasonResend {
			next.Reason = reasonResend
		}
		if next.DoubtedAt = s.DoubtedAt; partly {
			next.Pass, next.DueAt = s.Pass+1, s.DueAt
		}
		issued = append(issued, next)
	}
	if due, ok := t.resend(&s, now, chance); ok {
		if next, some := issue(&s, m, func(i int) bool { return m.At(i) == Unknown }); some {
			next.Pass, next.DueAt, next.DoubtedAt = s.Pass+1, due, cmp.Or(s.DoubtedAt, s.BeganAt)
			issued = append(issued, next)
		}
	}
	s.Status, s.Owner = work.SegmentVoid, ""
	s.Token++ // whoever had it writes no more
	return sealed(s, m), issued
}

// Resend issues a segment for those members of another one of whom nobody knows whether they were reached: a person has it sent to them
// again. Only one that nobody works on any more has such; some is false without any.
func Resend(s work.Segment) (ended, issued work.Segment, some bool) {
	if s.Status != work.SegmentDone && s.Status != work.SegmentVoid {
		return s, issued, false
	}
	s, m := copied(s)
	if issued, some = issue(&s, m, func(i int) bool { return m.At(i) == Unknown }); !some {
		return s, issued, false
	}
	issued.Pass, issued.DoubtedAt, issued.Reason = s.Pass, cmp.Or(s.DoubtedAt, s.BeganAt, s.CreatedAt), reasonResend
	s.Status = work.SegmentVoid
	s.Token++
	return sealed(s, m), issued, true
}

// issue makes a segment of some of another one, and says there that they are elsewhere.
func issue(s *work.Segment, m Map, who func(place int) bool) (next work.Segment, some bool) {
	from, to := -1, -1
	for i := range Len(s) {
		if who(i) {
			if from < 0 {
				from = i
			}
			to = i
		}
	}
	if from < 0 {
		return next, false
	}
	left := NewMap(to - from + 1)
	for i := from; i <= to; i++ {
		if who(i) {
			m.set(i, Elsewhere)
		} else {
			left.set(i-from, Elsewhere)
		}
	}
	next = work.Segment{
		ID: posthouse.NewID(), Campaign: s.Campaign, Tenant: s.Tenant, First: s.First + int64(from), Last: s.First + int64(to), RepairedFrom: s.ID,
	}
	if len(s.Via) > 0 {
		next.Accounts, next.Via = s.Accounts, slices.Clone(s.Via[viaBytes*from:viaBytes*(to+1)])
	}
	return sealed(next, left), true
}

// Witness is a segment that nobody works on with what a late answer of the provider proves of a member: one of whom nobody
// knew was reached, or was not. false says that it proves nothing new.
func Witness(s work.Segment, place int, to Outcome, why work.SegmentReason) (work.Segment, bool) {
	s, m := copied(s)
	if m.At(place) != Unknown || m.Step(place, to) != nil {
		return s, false
	}
	if to == Failed || to == Undelivered {
		Note(&s, place, why)
	}
	Count(&s)
	return s, true
}
