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

// legal is the state machine: every transition there is. What is not in this
// table does not happen; the store refuses to write it.
var legal = map[EventType][][2]State{
	EventAccept:      {{"", Pending}},
	EventSuppress:    {{"", Suppressed}, {Sending, Suppressed}},
	EventClaim:       {{Pending, Sending}},
	EventStart:       {{Pending, Sending}, {Sending, Sending}},
	EventRelease:     {{Sending, Pending}, {Sending, Unknown}},
	EventLeaseLost:   {{Sending, Pending}, {Sending, Unknown}},
	EventQuarantine:  {{Pending, Quarantined}, {Sending, Quarantined}, {Unknown, Quarantined}},
	EventSent:        {{Sending, Sent}, {Sending, Delivered}},
	EventRetry:       {{Sending, Pending}},
	EventFail:        {{Sending, Failed}, {Pending, Failed}},
	EventAmbiguous:   {{Sending, Unknown}},
	EventResend:      {{Unknown, Pending}},
	EventAssumeSent:  {{Unknown, Sent}},
	EventResolve:     {{Unknown, Sent}, {Unknown, Pending}, {Unknown, Failed}, {Unknown, Unknown}, {Pending, Unknown}},
	EventHoldTimeout: {{Unknown, Failed}},
	EventEvidence: {
		{Unknown, Sent}, {Sending, Sent}, {Pending, Sent}, {Failed, Sent},
		{Unknown, Delivered}, {Sending, Delivered}, {Pending, Delivered}, {Failed, Delivered},
		{Sent, Delivered}, {Sent, Sent},
	},
	EventReceipt:       {{Sent, Delivered}, {Sent, Undelivered}},
	EventCancel:        {{Pending, Cancelled}, {Sending, Cancelled}},
	EventCancelRequest: {{Sending, Sending}, {Unknown, Unknown}},
	EventExpire:        {{Pending, Expired}, {Sending, Expired}},
	EventRequeue:       {{Quarantined, Pending}},
	EventDiscard:       {{Quarantined, Failed}},
	EventEpochHold:     {{Pending, Unknown}, {Sending, Unknown}, {Unknown, Unknown}},
	EventMove:          {{Pending, Pending}},
	EventAdmit:         {{Pending, Pending}},
}

// Legal reports whether the state machine allows an event to lead from one
// state to another. From is empty for a delivery that is being made.
func Legal(from State, event EventType, to State) bool {
	for _, pair := range legal[event] {
		if pair == [2]State{from, to} {
			return true
		}
	}
	return false
}
