package posthouse

import (
	"encoding/json"
	"time"
)

// Agent is a phone or another program that fetches deliveries of pulled channels, sends them itself and
// reports what came of it.
type Agent struct {
	Tenant string `json:"tenant"`
	// ID is chosen by who registers it: 1 to 64 printable characters, no space at either end.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Channels are those it may fetch from. It is handed nothing of others.
	Channels []string `json:"channels"`
	// Capabilities is what it can do, such as operator: cmcc; a channel's needs are compared with it.
	Capabilities map[string]string `json:"capabilities,omitempty"`
	// Limits are the windows of what it is handed that hold together. Defaults to one in 4s and 30 in 1h;
	// an empty list, which is not null, is no limit.
	Limits []Limit    `json:"limits"`
	State  AgentState `json:"state"`
	// Reason is why it is paused or drained.
	Reason string `json:"reason,omitempty"`
	// Key is the id of its API key, empty for one that a shared password let in.
	Key string `json:"key,omitempty"`
	// App is what the program says of itself, such as sms-app/2.1.
	App        string    `json:"app,omitempty"`
	LastSeenAt time.Time `json:"last_seen_at,omitzero"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// AgentState says whether an agent is handed anything.
type AgentState string

// The states of an agent. It may report on what it holds in each of them.
const (
	AgentActive   AgentState = "active"
	AgentPaused   AgentState = "paused"   // a person said so: nothing for now
	AgentDraining AgentState = "draining" // it finishes what it holds: a person is about to take it away
)

// Valid reports whether s is one of the states.
func (s AgentState) Valid() bool { return s == AgentActive || s == AgentPaused || s == AgentDraining }

// AgentLimits are what an agent is handed at most where nothing is said: phones that send faster are
// blocked by their operators.
func AgentLimits() []Limit {
	return []Limit{{Max: 1, Per: Duration(4 * time.Second)}, {Max: 30, Per: Duration(time.Hour)}}
}

// Handout is a delivery that an agent holds under a lease. Who reports on it shows the token.
type Handout struct {
	// Delivery is the delivery's id, Token the fencing token of this hand-out.
	Delivery string `json:"delivery"`
	Token    int64  `json:"token"`
	// IdemKey is the same over all hand-outs of the delivery: an agent that has sent it before must not
	// send it again, and says so in its report.
	IdemKey   string          `json:"idempotency_key"`
	Message   string          `json:"message"`
	Channel   string          `json:"channel"`
	Kind      string          `json:"kind,omitempty"`
	Ref       string          `json:"ref,omitempty"`
	Priority  Priority        `json:"priority"`
	Recipient Recipient       `json:"recipient"`
	Content   Content         `json:"content"`
	Template  string          `json:"template,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"` // do not show or log the content
	// Attempt is the number that a start now would have, from 1; Started whether it has been made already.
	Attempt  int       `json:"attempt"`
	Started  bool      `json:"started,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	// LeaseUntil is by the database's clock; LeaseMillis is what is left of it as this is written, for
	// agents whose clock is wrong.
	LeaseUntil  time.Time `json:"lease_until"`
	LeaseMillis int64     `json:"lease_ms"`
}

// Outcome is what an agent says became of a hand-out.
type Outcome string

// The outcomes.
const (
	OutcomeSent      Outcome = "sent"      // it left
	OutcomeDelivered Outcome = "delivered" // a receipt proves that it arrived
	OutcomeNotSent   Outcome = "not_sent"  // it surely did not leave
	OutcomeUnknown   Outcome = "unknown"   // it may have left
)

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	return []Outcome{OutcomeSent, OutcomeDelivered, OutcomeNotSent, OutcomeUnknown}
}

// Valid reports whether o is one of Outcomes.
func (o Outcome) Valid() bool {
	return o == OutcomeSent || o == OutcomeDelivered || o == OutcomeNotSent || o == OutcomeUnknown
}

// AgentReport is what an agent says became of one hand-out.
type AgentReport struct {
	// ReportID makes a repeat recognisable: it is answered as before. Required, 1 to 64 characters.
	ReportID string  `json:"report_id"`
	Delivery string  `json:"delivery"`
	Token    int64   `json:"token"`
	Outcome  Outcome `json:"outcome"`
	// Code and Error say why it was not sent. An Error of any length is taken, and cut to 500 characters.
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
	// Retry is the agent's advice on what was not sent. Defaults to true; the server decides.
	Retry *bool `json:"retry,omitempty"`
	// Ref is what the agent or its operator calls the message.
	Ref string `json:"provider_ref,omitempty"`
}

// ReportResult answers a report.
type ReportResult string

// The results.
const (
	ReportDone     ReportResult = "done"     // it counts
	ReportEvidence ReportResult = "evidence" // it came late and proves a success: it closed the delivery
	ReportStale    ReportResult = "stale"    // it came late and changes nothing
	ReportMissing  ReportResult = "missing"  // there is no such delivery for this agent
	ReportReused   ReportResult = "reused"   // its id stands for a report on another delivery: it was not looked at
)
