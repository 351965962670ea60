package state

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/transition"
	"github.com/posthouse/posthouse/internal/work"
)

const (
	// ReasonDigest is of a delivery that waits in its collection.
	ReasonDigest = "digest"
	// ReasonComposedAnew is of a collection's delivery that was withdrawn before it began, since a member has left: another one follows.
	ReasonComposedAnew = "composed_anew"
)

// Withdrawn is AfterCancel with a reason of its own.
func Withdrawn(d posthouse.Delivery, reason string) (work.Change, bool) {
	c, ok := AfterCancel(d)
	if ok && c.After.State == posthouse.Cancelled {
		c.After.Reason = reason
		c.Events[len(c.Events)-1].Reason = reason
	}
	return c, ok
}

// Shared is what becomes of a member of a collection by its collection's delivery (T32): the same, but that it has no attempts of its own. What
// is under way or set aside says nothing yet.
func Shared(d, lead posthouse.Delivery) (work.Change, bool) {
	to := lead.State
	if to == d.State || to == posthouse.Sending || to == posthouse.Quarantined || !transition.Legal(d.State, posthouse.EventGather, to) {
		return work.Change{}, false
	}
	step := begin(d)
	reason := lead.Reason
	if to == posthouse.Pending {
		reason = ReasonDigest
	}
	e := step.to(posthouse.EventGather, to, reason)
	a := &step.change.After
	a.Error = cmp.Or(lead.Error, a.Error)
	if to == posthouse.Unknown { // its lead's policy decides, and no timer of its own
		a.DueAt = time.Time{}
	}
	if to == posthouse.Pending {
		a.DueAt = lead.DueAt
	}
	if e.Owner, e.Error = work.CollectionOwner+d.Collection, lead.Error; to.Open() {
		e.Due = a.DueAt
	}
	return step.change, true
}

// Regathered puts a member of a collection into another one (T32).
func Regathered(d posthouse.Delivery, into string) (work.Change, bool) {
	if d.State != posthouse.Pending || !d.Gathered {
		return work.Change{}, false
	}
	step := begin(d)
	e := step.to(posthouse.EventGather, posthouse.Pending, ReasonDigest)
	step.change.After.Collection = into
	e.Owner, e.Due = work.CollectionOwner+into, d.DueAt
	return step.change, true
}

// Alone lets a member of a collection go by itself (T32).
func Alone(d posthouse.Delivery, now time.Time) (work.Change, bool) {
	if d.State != posthouse.Pending || !d.Gathered {
		return work.Change{}, false
	}
	step := begin(d)
	e := step.to(posthouse.EventGather, posthouse.Pending, "")
	a := &step.change.After
	a.Gathered, a.DueAt = false, now
	e.Owner, e.Due = work.CollectionOwner+d.Collection, a.DueAt
	return step.change, true
}
