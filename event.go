package posthouse

import "time"

// EventType names a transition. The event log holds one Event for each, written
// in the transaction that made it.
type EventType string

// The events, with the numbers they carry in docs/states.md.
const (
	EventAccept        EventType = "accept"         // T1
	EventSuppress      EventType = "suppress"       // T2, T24
	EventClaim         EventType = "claim"          // T4, by an agent that starts later
	EventStart         EventType = "start"          // T4 for push (claim and start in one), T8
	EventRelease       EventType = "release"        // T5
	EventLeaseLost     EventType = "lease_lost"     // T6, T13
	EventQuarantine    EventType = "quarantine"     // T7, T25
	EventSent          EventType = "sent"           // T9
	EventRetry         EventType = "retry"          // T10
	EventFail          EventType = "fail"           // T11
	EventAmbiguous     EventType = "ambiguous"      // T12
	EventResend        EventType = "resend"         // T14
	EventAssumeSent    EventType = "assume_sent"    // T15
	EventResolve       EventType = "resolve"        // T15, T16, by a query or a person
	EventHoldTimeout   EventType = "hold_timeout"   // T17
	EventEvidence      EventType = "evidence"       // T18
	EventReceipt       EventType = "receipt"        // T19, T20
	EventCancel        EventType = "cancel"         // T21
	EventCancelRequest EventType = "cancel_request" // T22: the state stays
	EventExpire        EventType = "expire"         // T23
	EventRequeue       EventType = "requeue"        // T26, a person lets it out of quarantine
	EventDiscard       EventType = "discard"        // T26
	EventEpochHold     EventType = "epoch_hold"     // T28
	EventMove          EventType = "move"           // T29, from one account to another
	EventAdmit         EventType = "admit"          // T30, those before it in line are settled
	EventGather        EventType = "gather"         // T32, what became of its collection's delivery, or it leaves its collection
	EventRecall        EventType = "recall"         // T33, the provider was asked to take it back: the state stays
	EventWake          EventType = "wake"           // T34, its recipient's quiet hours end sooner than when it was put off
)

// Event is one line of the event log. Version numbers a delivery's events from 1
// without a gap. Attempt, Class, Code, Ref, Request and Response are set where an
// attempt starts or ends.
type Event struct {
	Delivery   string    `json:"delivery"`
	Version    int64     `json:"version"`
	Tenant     string    `json:"tenant"`
	At         time.Time `json:"db_ts"`
	Type       EventType `json:"type"`
	From       State     `json:"from,omitempty"`
	To         State     `json:"to"`
	Token      int64     `json:"token"`
	Attempt    int       `json:"attempt,omitempty"`
	Owner      string    `json:"owner,omitempty"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
	Due        time.Time `json:"due,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	Epoch      int64     `json:"epoch"`
	Account    string    `json:"account,omitempty"`
	Tries      int       `json:"tries,omitempty"`
	Class      Class     `json:"class,omitempty"`
	Code       string    `json:"code,omitempty"`
	Error      string    `json:"error,omitempty"`
	Ref        string    `json:"ref,omitempty"`
	Request    string    `json:"request,omitempty"`
	Response   string    `json:"response,omitempty"`

	// Filled in when the log is read, from the delivery the event belongs to.
	Message  string    `json:"message,omitempty"`
	Idem     string    `json:"idem,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	Policy   Policy    `json:"policy,omitempty"`
}
