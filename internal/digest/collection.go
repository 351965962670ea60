package digest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// early is how long before the deadline of a member a collection leaves at the latest.
const early = time.Minute

// collection is the document of a plan: what is shown of a collection, and the digest that it follows.
type collection struct {
	posthouse.Collection
	// Follows is the digest as it was when the first member came.
	Follows posthouse.Digest `json:"follows"`
	// Key stands for what its members have in common.
	Key string `json:"key"`
	// Mixed is set where its members are of several kinds.
	Mixed bool `json:"mixed,omitempty"`
	// Closed is set once it takes no more members.
	Closed bool `json:"closed,omitempty"`
	// Most is how many messages its next text has at the most, where the provider has refused a longer one. 0 is as many as there are.
	Most int `json:"most,omitempty"`

	failures int // how often its moment came in vain, in a row
}

func read(p work.Plan) (collection, error) {
	var c collection
	if err := json.Unmarshal(p.Doc, &c); err != nil {
		return c, fmt.Errorf("the collection %s cannot be read: %w", p.ID, err)
	}
	c.ID, c.Tenant, c.Version, c.Error = p.ID, p.Tenant, p.Version, p.Error
	c.LeavesAt, c.CreatedAt, c.UpdatedAt, c.failures = p.NextAt, p.CreatedAt, p.UpdatedAt, p.Failures
	return c, nil
}

// Read is the collection of a plan.
func Read(p work.Plan) (posthouse.Collection, error) {
	c, err := read(p)
	return c.Collection, err
}

// plan is a collection as it is stored, over the version that was read.
func (c *collection) plan() (work.Plan, error) {
	doc, err := json.Marshal(c)
	var frees *work.Freed
	if c.State != posthouse.CollectionWaiting || c.Closed {
		frees = &work.Freed{Scope: work.GatherScope, Key: c.Key}
	}
	return work.Plan{
		Tenant: c.Tenant, Type: work.PlanCollection, ID: c.ID, Kind: c.Kind, State: string(c.State), Doc: doc,
		Version: c.Version, NextAt: c.LeavesAt, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, Frees: frees, Failures: c.failures, Error: c.Error,
	}, err
}

// live are the members that are in the text, or will be.
func (c *collection) live() (ids []string) {
	for _, m := range c.Members {
		if !m.Left {
			ids = append(ids, m.Delivery)
		}
	}
	return ids
}

// add takes one more member. A full collection leaves at once.
func (c *collection) add(m *posthouse.Message, d *posthouse.Delivery, now time.Time) {
	c.Members = append(c.Members, posthouse.CollectionMember{Delivery: d.ID, State: d.State})
	if len(c.Members) > 1 && c.Kind != m.Kind {
		c.Kind, c.Mixed = "", true
	}
	if !d.Deadline.IsZero() {
		c.LeavesAt = sooner(c.LeavesAt, later(d.Deadline.Add(-early), now)).Truncate(time.Microsecond)
	}
	if len(c.live()) >= c.Follows.Max || len(c.Members) >= 2*mostMax {
		c.LeavesAt, c.Closed = now, true
	}
}

// end is a collection of which nothing leaves.
func (c *collection) end(state posthouse.CollectionState) {
	c.State, c.LeavesAt, c.Closed = state, time.Time{}, true
	c.failures, c.Error = 0, ""
}

// hear writes down what became of deliveries, and says which others share that, or are not to start any more. changed is false where nothing
// is new.
func (c *collection) hear(after []posthouse.Delivery, now time.Time) (w work.Withdrawal, changed bool) {
	for i := range after {
		if d := &after[i]; d.ID == c.Delivery && c.shorten(d, now) {
			changed = true
		} else if d.ID == c.Delivery && seen(d.State) != c.Outcome {
			c.Outcome, changed = seen(d.State), true
			if c.State = posthouse.CollectionLeaving; !d.State.Open() {
				c.State = posthouse.CollectionSettled
			}
			lead := *d
			w = work.Withdrawal{IDs: c.live(), As: &lead}
		}
	}
	left := false
	for i := range after {
		d := &after[i]
		at := slices.IndexFunc(c.Members, func(m posthouse.CollectionMember) bool { return m.Delivery == d.ID })
		if at < 0 || c.Members[at].State == seen(d.State) && (c.Members[at].Left || d.Gathered || !d.State.Open()) {
			continue
		}
		m := &c.Members[at]
		m.State, changed = seen(d.State), true
		if !m.Left && !d.Gathered && m.State != c.Outcome {
			m.Left, left = true, true
		}
	}
	if !left {
		return w, changed
	}
	switch {
	case c.State == posthouse.CollectionWaiting && len(c.live()) == 0:
		c.end(posthouse.CollectionEmpty)
	case c.State == posthouse.CollectionLeaving && c.Outcome == posthouse.Pending: // the store lets none leave once it has begun
		w = work.Withdrawal{IDs: []string{c.Delivery}, Reason: reasonAnew}
		c.State, c.Delivery, c.Outcome, c.LeavesAt, c.Closed = posthouse.CollectionWaiting, "", "", now, true
	}
	return w, changed
}

// shorten has a collection leave as two where the provider refuses what its text says, and reports whether that is so: each of its messages was
// accepted for itself. What the first attempt refused has not arrived.
func (c *collection) shorten(lead *posthouse.Delivery, now time.Time) bool {
	n := len(c.live())
	if lead.State != posthouse.Failed || lead.Reason != string(posthouse.ClassContent) || lead.Attempts != 1 || lead.ClaimLosses > 0 || n < 2 {
		return false
	}
	c.again(now)
	c.State, c.Delivery, c.Outcome, c.Most = posthouse.CollectionWaiting, "", "", n/2
	return true
}

// seen is a state as a collection knows it: who holds a delivery is not told to it.
func seen(s posthouse.State) posthouse.State {
	if s == posthouse.Sending {
		return posthouse.Pending
	}
	return s
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
