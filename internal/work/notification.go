package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Notified decides what becomes of notifications and collections, as pure functions. The store asks it within the transaction that settles
// their deliveries, so that no step begins after the proof that it is not needed.
type Notified interface {
	// Heard is such a plan after deliveries of it have changed, and what is not to start any more. changed is false where
	// the plan stays as it is.
	Heard(p Plan, after []posthouse.Delivery, now time.Time) (next Plan, withdraw Withdrawal, changed bool, err error)
	// Withdrawn is what becomes of a delivery by a withdrawal; false is nothing, where it has ended.
	Withdrawn(kind PlanType, d posthouse.Delivery, by Withdrawal, now time.Time) (Change, bool)
}

// Withdrawal is which deliveries are not to start any more, and the word why.
type Withdrawal struct {
	IDs    []string
	Reason string
	// As is the delivery whose fate they share. Nil for those that are withdrawn.
	As *posthouse.Delivery
	// Alone lets them leave their collection, by themselves.
	Alone bool
	// Into is a new collection that takes them over, all or none. Nil for none.
	Into *Plan
}

// Gathering decides of collections, as pure functions. The store asks it within the transaction that accepts what they gather.
type Gathering interface {
	// Open is the plan of a new collection for a delivery, and Join is a stored one with that delivery too. joined is false where it takes no
	// more.
	Open(g Gathered, m *posthouse.Message, d *posthouse.Delivery, now time.Time) (Plan, error)
	Join(p Plan, m *posthouse.Message, d *posthouse.Delivery, now time.Time) (next Plan, joined bool, err error)
	// Leads is the delivery by which a collection leaves, empty for none, and MayLeave reports whether a member may still be taken out of
	// its text.
	Leads(p Plan) (delivery string, err error)
	MayLeave(lead posthouse.Delivery) bool
	// MayReplay is an error of code conflict where a delivery of a collection cannot be sent again by itself.
	MayReplay(p Plan, delivery string) error
}

// Gathered is by what a delivery is gathered.
type Gathered struct {
	// ID is that of the collection, where the delivery opens one.
	ID     string
	Digest posthouse.Digest
	// By is the value of the digest's expression, and Key stands for all that a collection's deliveries have in common. An empty key is of a
	// delivery that leaves by itself.
	By, Key string
}

// GatherScope is where the keys of collections lie among dedup keys: no channel and no route has such a name.
const GatherScope = "//"
