package wire

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// Explanation says why a delivery is where it is.
type Explanation struct {
	Delivery string          `json:"delivery"`
	State    posthouse.State `json:"state"`
	Summary  string          `json:"summary"`
	Waits    []Wait          `json:"waits" doc:"All the causes that hold it."`
	Notes    []string        `json:"notes,omitempty" doc:"What else became of it, in sentences: the text of a digest in which it went, and the delivery by which it was sent again."`
}

// Wait is one cause that holds a delivery.
type Wait struct {
	Cause  string    `json:"cause"`
	Detail string    `json:"detail"`
	Until  time.Time `json:"until,omitzero" doc:"Missing where only a person or an event ends it."`
}

// Reveal asks for the hidden content of a sensitive message.
type Reveal struct {
	Reason string `json:"reason" doc:"Why: it stands in the audit log."`
}

// Revealed is the content of a sensitive message.
type Revealed struct {
	ID      string            `json:"id" doc:"The message."`
	Content posthouse.Content `json:"content" doc:"What is sent."`
	Payload json.RawMessage   `json:"payload,omitempty" doc:"What fills its template."`
}

// Story is all that is known of a delivery, each part oldest first.
type Story struct {
	Delivery  posthouse.Delivery  `json:"delivery"`
	Message   posthouse.Message   `json:"message"`
	Events    []posthouse.Event   `json:"events" doc:"Every transition it made."`
	Attempts  []posthouse.Attempt `json:"attempts" doc:"Every try to send it."`
	Received  []Line              `json:"receive_log" doc:"The request it came with, where that was one to the SMS front door."`
	HandedOut []Line              `json:"send_log" doc:"Each hand-out to an agent, at most the latest 1000."`
	Reported  []Line              `json:"report_log" doc:"Each report of an agent, stale ones too, at most the latest 1000."`
	More      bool                `json:"more,omitempty" doc:"There is more of something than one answer has room for: read it page by page, at /events, /attempts and /v1/logs."`
}

// Log names one of the three logs.
type Log string

// The logs.
const (
	ReceiveLog Log = "receive" // each request to the SMS front door
	SendLog    Log = "send"    // each hand-out to an agent
	ReportLog  Log = "report"  // each report of an agent
)

// Logs lists every log.
func Logs() []Log { return []Log{ReceiveLog, SendLog, ReportLog} }

// Line is one line of a log. Which fields are set depends on the log.
type Line struct {
	ID        string    `json:"id"`
	Log       Log       `json:"log"`
	Tenant    string    `json:"tenant"`
	At        time.Time `json:"created_at"`
	Delivery  string    `json:"task_id,omitempty"`
	Agent     string    `json:"app_id,omitempty"`   // send, report
	Token     int64     `json:"token,omitempty"`    // send, report
	ClaimID   string    `json:"claim_id,omitempty"` // send
	ReportID  string    `json:"report_id,omitempty"`
	Outcome   string    `json:"outcome,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	Error     string    `json:"error_message,omitempty"`
	RequestID string    `json:"request_id,omitempty"`   // receive
	Phone     string    `json:"phone_number,omitempty"` // receive, send
	Content   string    `json:"content,omitempty"`      // receive, send; empty where it is sensitive
	Templated bool      `json:"use_template,omitempty"`
	SourceIP  string    `json:"source_ip,omitempty"`
	UserAgent string    `json:"user_agent,omitempty"`
	// Request and Response are what came and what went, as JSON: where it was none, or too long to be kept whole, a text.
	Request  json.RawMessage `json:"request_data,omitempty" json_kind:"any"`
	Response json.RawMessage `json:"response_data,omitempty" json_kind:"any"`
	Status   int             `json:"status_code,omitempty"`
}

// Replay says how one delivery is sent again.
type Replay struct {
	ForceNew bool `json:"force_new,omitempty" doc:"Give the provider a new idempotency key, so that one who remembers the old one sends again."`
}

// Replayed is what became of the wish to send a delivery again.
type Replayed struct {
	Of     string         `json:"of" doc:"The old delivery."`
	ID     string         `json:"id,omitempty" doc:"The new delivery; missing where there is none."`
	Code   posthouse.Code `json:"code,omitempty" doc:"Why there is none."`
	Reason string         `json:"reason,omitempty"`
}

// ReplayAll selects what is sent again.
type ReplayAll struct {
	Channel  string            `json:"channel,omitempty"`
	Kind     string            `json:"kind,omitempty"`
	Ref      string            `json:"ref,omitempty"`
	User     string            `json:"user,omitempty"`
	Account  string            `json:"account,omitempty" doc:"Only what this account of the channel tried to send."`
	Reason   string            `json:"reason,omitempty" doc:"Only what stopped for this reason, such as tries_used_up."`
	States   []posthouse.State `json:"states,omitempty" doc:"Of failed, expired, quarantined and undelivered. Defaults to all of them."`
	Since    time.Time         `json:"since,omitzero"`
	Until    time.Time         `json:"until,omitzero"`
	ForceNew bool              `json:"force_new,omitempty" doc:"Give the provider new idempotency keys."`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Only count."`
	Max      int               `json:"max,omitempty" doc:"At most that many. Defaults to 1000; 100000 is the most."`
}

// ReplayedAll answers a replay by filter.
type ReplayedAll struct {
	Matched  int        `json:"matched" doc:"How many deliveries fit, up to max."`
	Replayed int        `json:"replayed" doc:"How many are being sent again."`
	Shared   int        `json:"shared,omitempty" doc:"How many of those that fit went in the text of a digest: its delivery is sent again, once for all of them. A dry run says it too."`
	DryRun   bool       `json:"dry_run"`
	Replays  []Replayed `json:"replays" doc:"The first 1000 of them, one by one."`
}

// Outcome is a person's word on a delivery that is unknown or quarantined.
type Outcome string

// The outcomes: it arrived, it did not, or it did not and shall be tried again.
const (
	OutcomeSent    Outcome = "sent"
	OutcomeNotSent Outcome = "not_sent"
	OutcomeRetry   Outcome = "retry"
)

// Outcomes lists every outcome.
func Outcomes() []Outcome { return []Outcome{OutcomeSent, OutcomeNotSent, OutcomeRetry} }

// Resolve is a person's word on one delivery.
type Resolve struct {
	Outcome Outcome `json:"outcome"`
}

// ResolveAll is a person's word on everything a filter selects.
type ResolveAll struct {
	Outcome Outcome           `json:"outcome"`
	Channel string            `json:"channel,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Ref     string            `json:"ref,omitempty"`
	User    string            `json:"user,omitempty"`
	Account string            `json:"account,omitempty" doc:"Only what this account of the channel sent."`
	Reason  string            `json:"reason,omitempty" doc:"Only what stopped for this reason, such as epoch_hold after a restore."`
	States  []posthouse.State `json:"states,omitempty" doc:"Of unknown and quarantined. Defaults to unknown."`
	Since   time.Time         `json:"since,omitzero"`
	Until   time.Time         `json:"until,omitzero"`
	DryRun  bool              `json:"dry_run,omitempty" doc:"Only count, and answer what confirms it."`
	Confirm string            `json:"confirm,omitempty" doc:"What the count with dry_run answered as confirm. Required without dry_run: nothing is decided that was not counted."`
	Max     int               `json:"max,omitempty" doc:"At most that many. Defaults to 1000; 100000 is the most."`
}

// ResolvedAll answers a decision by filter.
type ResolvedAll struct {
	Matched  int    `json:"matched" doc:"How many deliveries fit, up to max."`
	Resolved int    `json:"resolved" doc:"How many were decided. Those that changed since they were counted are left alone."`
	DryRun   bool   `json:"dry_run"`
	Confirm  string `json:"confirm,omitempty" doc:"Of a count: send it with the same filter to decide just these."`
	Stopped  string `json:"stopped,omitempty" doc:"Why it ended before all were decided; the same request goes on."`
}
