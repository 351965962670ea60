package digest

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

const reasonAnew = state.ReasonComposedAnew

// Law is what the store asks in the transactions that accept and settle what is gathered.
type Law struct{}

// Both decides of plans of two types: collections, and others as Others says.
type Both struct{ Others work.Notified }

// Heard is work.Notified's.
func (b Both) Heard(p work.Plan, after []posthouse.Delivery, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
	if p.Type == work.PlanCollection {
		return Law{}.Heard(p, after, now)
	}
	return b.Others.Heard(p, after, now)
}

// Withdrawn is work.Notified's.
func (b Both) Withdrawn(kind work.PlanType, d posthouse.Delivery, by work.Withdrawal, now time.Time) (work.Change, bool) {
	if kind == work.PlanCollection {
		return Law{}.Withdrawn(kind, d, by, now)
	}
	return b.Others.Withdrawn(kind, d, by, now)
}

// Open is work.Gathering's.
func (Law) Open(g work.Gathered, m *posthouse.Message, d *posthouse.Delivery, now time.Time) (work.Plan, error) {
	at, err := moment(&g.Digest, now)
	if err != nil {
		return work.Plan{}, err
	}
	c := collection{
		Collection: posthouse.Collection{
			ID: g.ID, Tenant: d.Tenant, Digest: g.Digest.Name, DigestVersion: g.Digest.Version, Channel: d.Channel, To: d.Recipient, By: g.By, Kind: m.Kind,
			State: posthouse.CollectionWaiting, LeavesAt: at, Members: []posthouse.CollectionMember{}, CreatedAt: now,
		},
		Follows: g.Digest, Key: g.Key,
	}
	c.add(m, d, now)
	return c.plan()
}

// Join is work.Gathering's.
func (Law) Join(p work.Plan, m *posthouse.Message, d *posthouse.Delivery, now time.Time) (work.Plan, bool, error) {
	c, err := read(p)
	if err != nil || c.Closed || c.State != posthouse.CollectionWaiting {
		return p, false, err
	}
	c.add(m, d, now)
	next, err := c.plan()
	return next, err == nil, err
}

// Leads is work.Gathering's.
func (Law) Leads(p work.Plan) (string, error) {
	c, err := read(p)
	return c.Delivery, err
}

// MayLeave is work.Gathering's: until the collection's delivery has begun for the first time.
func (Law) MayLeave(lead posthouse.Delivery) bool {
	return lead.State == posthouse.Pending && lead.Attempts == 0 && lead.ClaimLosses == 0
}

// MayReplay is work.Gathering's: what left in one text is sent again by the delivery of that text, and told once.
func (Law) MayReplay(p work.Plan, delivery string) error {
	c, err := read(p)
	if err != nil || delivery == c.Delivery {
		return err
	}
	at := slices.IndexFunc(c.Members, func(m posthouse.CollectionMember) bool { return m.Delivery == delivery })
	switch {
	case at < 0:
		return posthouse.Errorf(posthouse.CodeConflict, "the messages of the delivery %s left otherwise: it was one text of the collection %s", delivery, c.ID)
	case !c.Members[at].Left && c.Delivery != "":
		return posthouse.Errorf(posthouse.CodeConflict, "the delivery %s left with others, as the delivery %s of the collection %s: replay that one", delivery, c.Delivery, c.ID)
	}
	return nil
}

// Heard is work.Notified's.
func (Law) Heard(p work.Plan, after []posthouse.Delivery, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
	c, err := read(p)
	if err != nil {
		return p, work.Withdrawal{}, false, err
	}
	w, changed := c.hear(after, now)
	if !changed {
		return p, w, false, nil
	}
	next, err := c.plan()
	return next, w, true, err
}

// Withdrawn is work.Notified's.
func (Law) Withdrawn(_ work.PlanType, d posthouse.Delivery, by work.Withdrawal, now time.Time) (work.Change, bool) {
	switch {
	case by.As != nil:
		return state.Shared(d, *by.As)
	case by.Alone:
		return state.Alone(d, now)
	case by.Into != nil:
		return state.Regathered(d, by.Into.ID)
	}
	return state.Withdrawn(d, by.Reason)
}
