package posthouse

import (
	"encoding/json"
	"time"
)

// Draft is a message as its sender hands it in: what POST /v1/messages takes, one or many,
// and what the Go client and the outbox send.
type Draft struct {
	// Channel names a configured channel, or Route a route that says which channels are tried. One of both is required.
	Channel string `json:"channel,omitempty"`
	Route   string `json:"route,omitempty"`
	// To are the recipients, 1 to 1000. A recipient named twice is told once. Beside a Route whose steps all name their own it may be empty.
	To []Recipient `json:"to,omitempty"`
	// Content is the finished text; or Template and Payload make it. At most one of both: without
	// either, the template that is named "<kind>.<channel>", or else "<kind>", is used.
	Content  *Content        `json:"content,omitempty"`
	Template string          `json:"template,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	// Kind and Ref say what the message is about in the sender's own words.
	Kind string `json:"kind,omitempty"`
	Ref  string `json:"ref,omitempty"`
	// Priority defaults to normal.
	Priority Priority `json:"priority,omitempty"`
	// Digest names a digest that gathers it with others: they leave as one. A critical message does not wait for that. Defaults to none.
	Digest string `json:"digest,omitempty"`
	// Account is the one account of the channel that is to send it; or Pool is the label of those that may. Defaults to the
	// account that can send soonest.
	Account string `json:"account,omitempty"`
	Pool    string `json:"pool,omitempty"`
	// OrderingKey keeps the messages of one channel that have the same in line: one begins when those before it are settled,
	// in the order in which they come due. Defaults to none: in no order.
	OrderingKey string `json:"ordering_key,omitempty"`
	// NotBefore and Deadline bound the start of sending.
	NotBefore time.Time `json:"not_before,omitzero"`
	Deadline  time.Time `json:"deadline,omitzero"`
	// DedupKey makes a second message with it a duplicate_of the first, within the
	// channel's dedup_window.
	DedupKey string `json:"dedup_key,omitempty"`
	// DedupWindow overrides the channel's, at most 3650d. With a route it defaults to 7d, and the key holds at least as long as a
	// notification of the first message waits.
	DedupWindow Duration `json:"dedup_window,omitempty"`
	// Clock adds fields to the payload at the moment of sending. It needs a template.
	Clock  *Clock `json:"clock,omitempty"`
	Source string `json:"source,omitempty"`
	// Sensitive keeps the content sealed, hides it from pages, answers and logs, and deletes it ForgetAfter
	// the message was accepted: for one-time passwords. A delivery that is still open by then expires.
	Sensitive bool `json:"sensitive,omitempty"`
	// Critical is sent in quiet hours and beyond caps too. The caller's key needs the grant critical, or the scope admin.
	Critical bool `json:"critical,omitempty"`
	// ForgetAfter needs Sensitive. Defaults to 24h, at most 90d.
	ForgetAfter Duration `json:"forget_after,omitempty"`
	// OnUnknown overrides the channel's policy.
	OnUnknown Policy `json:"on_unknown,omitempty"`
	// ID is the message's, where who makes the draft needs to know it before. Defaults to a new one.
	ID string `json:"-"`
	// Reminder is the reminder whose slot the message is.
	Reminder string `json:"-"`
	// Notification, Step, FallbackOf and StepUntil are as a Message's.
	Notification string    `json:"-"`
	Step         int       `json:"-"`
	FallbackOf   string    `json:"-"`
	StepUntil    time.Time `json:"-"`
	// Collection is as a Message's.
	Collection string `json:"-"`
}

// Accepted is what a sender is told about one draft: it is committed.
type Accepted struct {
	ID string `json:"id"`
	// DuplicateOf is the message that already stands for the draft's dedup_key; nothing was
	// created then, and ID is the same.
	DuplicateOf string             `json:"duplicate_of,omitempty"`
	CreatedAt   time.Time          `json:"created_at"`
	Deliveries  []AcceptedDelivery `json:"deliveries"`
}

// AcceptedDelivery is one delivery as it was accepted: pending, or suppressed with a reason.
type AcceptedDelivery struct {
	ID     string `json:"id"`
	User   string `json:"user,omitempty"`
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
}
