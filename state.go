package posthouse

import "slices"

// State is where a delivery stands. docs/states.md draws the whole machine.
type State string

// The states of a delivery. Pending, Sending, Unknown and Quarantined are open:
// the engine or a person still has something to do. All others are settled.
const (
	Pending     State = "pending"     // waits for its time, its turn or its next try
	Sending     State = "sending"     // claimed by a worker or an agent under a lease
	Unknown     State = "unknown"     // an attempt began and nobody knows whether it arrived
	Quarantined State = "quarantined" // cannot be read, or took its worker down too often
	Sent        State = "sent"        // accepted by the provider
	Delivered   State = "delivered"   // a receipt says it arrived
	Undelivered State = "undelivered" // a receipt says it did not arrive
	Failed      State = "failed"      // refused for good, or its tries are used up
	Cancelled   State = "cancelled"   // withdrawn before it started
	Expired     State = "expired"     // its deadline passed before it started
	Suppressed  State = "suppressed"  // a rule said no; the reason is kept
)

// States lists every state, open ones first, in the order pages show them.
func States() []State {
	return []State{
		Pending, Sending, Unknown, Quarantined,
		Sent, Delivered, Undelivered, Failed, Cancelled, Expired, Suppressed,
	}
}

// Open reports whether the engine or a person still has something to do.
func (s State) Open() bool {
	return s == Pending || s == Sending || s == Unknown || s == Quarantined
}

// Valid reports whether s is one of States.
func (s State) Valid() bool { return slices.Contains(States(), s) }

// Settled reports whether nothing more will happen by itself: every state that
// is not open, and unknown where the policy leaves it to a person.
func (s State) Settled(onUnknown Policy) bool {
	return !s.Open() || (s == Unknown && onUnknown == Hold)
}

// Policy says what follows an ambiguous attempt: one that may have arrived.
type Policy string

// The policies for an ambiguous attempt. Which of them risk a second copy:
// only Retry.
const (
	Retry      Policy = "retry"       // try again with the same idempotency token
	Hold       Policy = "hold"        // stay unknown until a receipt, a person or a timer decides
	Query      Policy = "query"       // ask the provider; no answer holds
	AssumeSent Policy = "assume_sent" // count it as sent, unconfirmed
)

// Policies lists every policy.
func Policies() []Policy { return []Policy{Retry, Hold, Query, AssumeSent} }

// Valid reports whether p is one of Policies.
func (p Policy) Valid() bool { return slices.Contains(Policies(), p) }

// Priority orders what is dispatched together. Shares between priorities are
// weighted (6:3:1), so that low never starves.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Priorities lists every priority, most urgent first.
func Priorities() []Priority { return []Priority{High, Normal, Low} }

// Valid reports whether p is one of Priorities.
func (p Priority) Valid() bool { return slices.Contains(Priorities(), p) }

// Class is what an attempt's result means for the delivery, its account and
// its channel. A driver tells the engine what to do by the class it returns.
type Class string

// The classes of a result.
const (
	ClassOK        Class = "ok"        // accepted
	ClassTransient Class = "transient" // not accepted, may be tried again; burns a try
	ClassRate      Class = "rate"      // too fast; parks the account for the provider's wait, burns nothing
	ClassAuth      Class = "auth"      // credentials refused; refreshed once, then as account; burns nothing
	ClassAccount   Class = "account"   // quota, balance, permission: parks the account and probes it; burns nothing
	ClassBlocked   Class = "blocked"   // our own rules do not let it go: nothing left; as account, burns nothing
	ClassLocal     Class = "local"     // our own machine could not: parks the channel in this process for a moment; burns nothing
	ClassRecipient Class = "recipient" // this recipient cannot be reached: final
	ClassContent   Class = "content"   // this content is refused: final
	ClassRequest   Class = "request"   // our request is malformed: final
	ClassUnknown   Class = "unknown"   // may have arrived: the channel's policy decides
)

// Classes lists every class.
func Classes() []Class {
	return []Class{
		ClassOK, ClassTransient, ClassRate, ClassAuth, ClassAccount, ClassBlocked, ClassLocal,
		ClassRecipient, ClassContent, ClassRequest, ClassUnknown,
	}
}

// Valid reports whether c is one of Classes.
func (c Class) Valid() bool { return slices.Contains(Classes(), c) }

// Final reports whether the class ends a delivery as failed at once.
func (c Class) Final() bool {
	return c == ClassRecipient || c == ClassContent || c == ClassRequest
}

// Blocks reports whether the class is about the account or our machine, not the
// delivery: the account pauses and no try is burned.
func (c Class) Blocks() bool {
	return c == ClassRate || c == ClassAuth || c == ClassAccount || c == ClassBlocked || c == ClassLocal
}
