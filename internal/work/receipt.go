package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Awaited is a delivery that its provider has accepted and will say more of: whether it arrived.
type Awaited struct {
	Delivery, Tenant, Channel, Account string
	// Ref is what the provider calls the call that it was sent with; deliveries can share one.
	Ref string
	// Recipient is the recipient of the message. It is read, not written.
	Recipient posthouse.Recipient
	// DueAt is when the provider is asked next, UntilAt when that ends.
	DueAt, UntilAt time.Time
	Asks           int // how often it was asked in vain
}

// Learnt is what asking a provider about deliveries came to. A delivery is in one of Done and Later.
type Learnt struct {
	Changes []Change
	// Done are those that need no further query.
	Done []string
	// Later are those that are asked about again, at At.
	Later []string
	At    time.Time
}
