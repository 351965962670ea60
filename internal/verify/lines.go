package verify

import (
	"time"

	"github.com/posthouse/posthouse"
)

// ClientLine is one line of the producers' journal: one call and what the caller was told.
type ClientLine struct {
	At     time.Time `json:"at"`    // when the answer came, or was given up
	Asked  time.Time `json:"asked"` // when the call began
	Op     string    `json:"op"`    // send, cancel
	Tenant string    `json:"tenant"`
	Key    string    `json:"key,omitempty"`  // the idempotency key; a line without one is a call of its own
	Body   string    `json:"body,omitempty"` // a hash of the body, or anything that is equal for equal bodies
	Answer string    `json:"answer"`
	Status int       `json:"status,omitempty"` // of HTTP, 0 without an answer
	Code   string    `json:"code,omitempty"`   // of the error
	// Message is the id that a send was answered with, Delivery what a cancel was about.
	Message    string `json:"message,omitempty"`
	Delivery   string `json:"delivery,omitempty"`
	Recipients int    `json:"recipients,omitempty"` // distinct ones of a send, 0 where nobody counted
}

// The calls of a ClientLine.
const (
	OpSend   = "send"
	OpCancel = "cancel"
)

// The answers of a ClientLine. Unknown is no answer, a server error, or outcome_unknown.
const (
	AnswerAccepted = "accepted" // a send: 202
	AnswerReplayed = "replayed" // a send: the first answer once more
	AnswerRefused  = "refused"
	AnswerUnknown  = "unknown"

	AnswerCancelled = "cancelled" // a cancel: no attempt will start
	AnswerTooLate   = "too_late"
	AnswerFinal     = "already_final"
)

// ArrivalLine is one line of the provider's journal: one message for one recipient that reached it,
// as the simulator writes it.
type ArrivalLine struct {
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"` // when the request had been read
	Provider  string    `json:"provider"`
	Path      string    `json:"path"`
	Account   string    `json:"account,omitempty"`
	Key       string    `json:"key,omitempty"` // the delivery's idempotency key
	User      string    `json:"user"`
	Title     string    `json:"title,omitempty"`
	Text      string    `json:"text"`
	Answer    string    `json:"answer"` // accepted, refused, lost (taken, and the sender never told)
	Status    int       `json:"status"`
	ID        string    `json:"id,omitempty"` // the provider's
	Code      string    `json:"code,omitempty"`
	Fault     string    `json:"fault,omitempty"`
	Repeat    bool      `json:"repeat,omitempty"`    // recognised by its key, not taken again
	Duplicate bool      `json:"duplicate,omitempty"` // taken although its key had been taken
}

// The answers of an ArrivalLine.
const (
	ArrivalAccepted = "accepted"
	ArrivalRefused  = "refused"
	ArrivalLost     = "lost"
)

// GrantLine is one line of the limiter's journal: one request for permits, or some given back.
type GrantLine struct {
	At      time.Time         `json:"at"` // on the limiter's clock; of a refund, when the permits were granted
	Key     string            `json:"key"`
	Windows []posthouse.Limit `json:"windows"`
	Op      string            `json:"op"`   // take, refund
	Want    int               `json:"want"` // of a refund, how many
	Granted int               `json:"granted"`
	// RefusedBy is the index of the window that held, -1 where all was granted.
	RefusedBy int `json:"refused_by"`
}

// The calls of a GrantLine.
const (
	OpTake   = "take"
	OpRefund = "refund"
)

// AgentLine is one line of the agents' journal: what an agent asked about one delivery and what it was told.
// A line with the answer unknown may stand before another of the same request.
type AgentLine struct {
	At       time.Time `json:"at"`    // when the answer came, or was given up
	Asked    time.Time `json:"asked"` // when the request began
	Agent    string    `json:"agent"`
	Op       string    `json:"op"` // claim, start, give_back, report
	Delivery string    `json:"delivery"`
	// Token is the hand-out's, 0 where the agent's protocol has none.
	Token   int64             `json:"token,omitempty"`
	Report  string            `json:"report,omitempty"` // the report's id, empty where the protocol has none
	Outcome posthouse.Outcome `json:"outcome,omitempty"`
	// Answer is handed of a claim; ok or refused of a start and of what is given back; of a report its
	// posthouse.ReportResult, or ok or refused where the protocol says no more; unknown of each.
	Answer string `json:"answer"`
}

// The requests of an agent in an AgentLine.
const (
	OpClaim    = "claim" // one line for each delivery that it was handed
	OpStart    = "start"
	OpGiveBack = "give_back"
	OpReport   = "report"
)

// Answers of an AgentLine, besides refused, unknown and those of reports.
const (
	AnswerHanded = "handed"
	AnswerOK     = "ok"
)

// FaultLine is one line of the fault journal: something that was done to the run.
type FaultLine struct {
	At time.Time `json:"at"`
	// Until is when it ended, zero where it took no time.
	Until  time.Time `json:"until,omitzero"`
	Kind   string    `json:"kind"`
	Target string    `json:"target,omitempty"`
	Note   string    `json:"note,omitempty"`
	N      int       `json:"n,omitempty"`
}

// The kinds of a FaultLine that mean something here; any other is timed and counted only.
const (
	// FaultRestore is a database replaced by an older copy. At is when the copy was made and Until
	// when processes worked on it again: what happened between is not in its log.
	FaultRestore = "restore"
	// FaultSeen is no fault: Note names one of Sometimes that only metrics show.
	FaultSeen = "seen"
)
