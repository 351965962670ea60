// Package work is what the engine and the store hand to each other: what is to be
// stored, claimed and changed. It holds plain values only; the engine decides, the
// store keeps, and neither imports the other.
package work

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Entry is one message with its deliveries, ready to be stored. Deliveries are pending, or
// suppressed with a reason.
type Entry struct {
	Message    posthouse.Message
	Deliveries []posthouse.Delivery
	// DedupWindow is how long the message's DedupKey holds.
	DedupWindow time.Duration
	// Shared says that others may hand in the same message, by its id: it is stored once.
	Shared bool
	// Gathered is by what each delivery is gathered, in their order. Nil where none is.
	Gathered []Gathered
	// Sealed is the content of a sensitive message, nil for others.
	Sealed *Sealed
	// MentionAll says that the message calls everybody in a group.
	MentionAll bool
}

// Submission is what one caller wants stored: all of it or nothing. It has at least one entry, or a plan.
type Submission struct {
	// ID stands for the submission in its Key. Defaults to the first message's id; one without entries
	// that has a Key needs it.
	ID     string
	Tenant string
	// Endpoint and Key scope an Idempotency-Key; an empty Key means none was given.
	Endpoint, Key string
	// Hash is of the canonical body, KeyTTL how long the key is kept.
	Hash    string
	KeyTTL  time.Duration
	Entries []Entry
	// Plans are written with the entries, each over the version that was read.
	Plans []Plan
	// Routed are messages that plans send later. They are answered after the entries.
	Routed []Routed
	// Payer is the id of the key whose quota the messages count against. Empty for none.
	Payer string
}

// Routed is a message that follows a route: its plans send it, by messages of their own.
type Routed struct {
	ID    string
	Plans []Plan
	// DedupScope and DedupKey make a second one a duplicate of the first, for DedupWindow and as long as a plan of the first waits. An
	// empty key is none.
	DedupScope, DedupKey string
	DedupWindow          time.Duration
	// Sealed is the content of a sensitive message, nil for others.
	Sealed *Sealed
}

// Name is what stands for the submission in its Key.
func (s *Submission) Name() string {
	if s.ID == "" && len(s.Entries) > 0 {
		return s.Entries[0].Message.ID
	}
	return s.ID
}

// AllPlans are its plans and those of its messages that follow routes.
func (s *Submission) AllPlans() []Plan {
	list := s.Plans
	for i := range s.Routed {
		list = slices.Concat(list, s.Routed[i].Plans)
	}
	return list
}

// MessageID is the id of its first message.
func (s *Submission) MessageID() string {
	if len(s.Entries) == 0 {
		return s.Routed[0].ID
	}
	return s.Entries[0].Message.ID
}

// Outcome answers one submission. Err is its own fault: a key reused for another body, or a conflict
// where a plan has moved on since it was read. Replayed marks the first answer to a repeated key.
type Outcome struct {
	// Accepted has one for each entry. A submission without entries has one for each plan, with its id.
	Accepted []posthouse.Accepted
	Replayed bool
	// Asked says of each entry whether it asked for a seat: who gives seats knows of it, whether it has begun or is due. Nil where none
	// did.
	Asked []bool
	Err   error
}

// SeatAsked reports whether an entry asked for a seat.
func (o *Outcome) SeatAsked(i int) bool { return o.Asked != nil && o.Asked[i] }

// Lane is what is dispatched together: one priority of one channel.
type Lane struct {
	Tenant, Channel string
	Priority        posthouse.Priority
	// Pin is which accounts may send what waits in it.
	Pin Pin
	// Pulled lanes are those that agents fetch from; there, what has failed before waits in a lane of its own.
	Pulled, Again bool
}

// Item is one claimed delivery with its message.
type Item struct {
	Delivery posthouse.Delivery
	Message  *posthouse.Message
	Past     Failures // nil where it was not read
	// Language is the text of the template that is sent, by its tag; empty for the template's own.
	Language string
	// Elsewhere says that another account could send it at once, after a refusal of the one that tried.
	Elsewhere bool
}

// HeldBack is a pending delivery that waits for a reason of its recipient, with its message's kind.
type HeldBack struct {
	Delivery posthouse.Delivery
	Kind     string
}

// Failures are how often a delivery failed, by class.
type Failures map[posthouse.Class]int

// Change is one delivery's step, or steps, through the state machine. It holds only if the
// delivery still has Before's version, token and state.
type Change struct {
	Before posthouse.Delivery
	After  posthouse.Delivery // Version and UpdatedAt are set by the store
	// Events are the steps, at least one. The store numbers and dates them; Events[i].From
	// follows from the one before.
	Events []posthouse.Event
	// Await is set where the provider is to be asked later what became of the delivery.
	Await *Awaited
	// Of is the delivery's message, where it is at hand: those who get the change need not read it.
	Of *posthouse.Message
}

// Selection says which deliveries to lock and decide on. Exactly one of IDs and Due is set.
type Selection struct {
	// Tenant is required with IDs: the rows of another tenant are not found.
	Tenant string
	IDs    []string
	Due    Due
	Max    int       // with Due
	Since  time.Time // with Due: what was due before is left out. Defaults to the beginning
	Lane   Lane      // with Stranded
}

// Due names a kind of overdue delivery; the store finds them by its own clock.
type Due string

// The kinds.
const (
	LeaseLost    Due = "lease_lost"    // sending, and the lease has ended
	PastDeadline Due = "past_deadline" // pending or not started, and the deadline has passed
	HoldOver     Due = "hold_over"     // unknown, without a query, and its due time has come
	QueryDue     Due = "query_due"     // unknown, and it is time to ask its provider
	Stranded     Due = "stranded"      // pending and due in a lane that is pinned to an account
)

// ReasonEpochHold says that a delivery, a campaign or a row of the outbox may have been sent by the database's other copy, since a new
// epoch began.
const ReasonEpochHold = "epoch_hold"
