package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Notified decides what becomes of notifications, as pure functions. The store asks it within the transaction that settles a
// notification's deliveries, so that no step begins after the proof that it is not needed.
type Notified interface {
	// Heard is a notification's plan after deliveries of it have changed, and what is not to start any more. changed is false where
	// the plan stays as it is.
	Heard(p Plan, after []posthouse.Delivery, now time.Time) (next Plan, withdraw Withdrawal, changed bool, err error)
	// Withdrawn is what becomes of a delivery that is not to start any more; false is nothing, where it has ended.
	Withdrawn(d posthouse.Delivery, reason string) (Change, bool)
}

// Withdrawal is which deliveries are not to start any more, and the word why.
type Withdrawal struct {
	IDs    []string
	Reason string
}
