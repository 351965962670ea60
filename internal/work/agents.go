package work

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// HandOut asks for due deliveries of pulled channels on behalf of an agent.
type HandOut struct {
	Tenant, Agent string
	// ClaimID makes a repeat find what was handed out, while it is held. It is forgotten an hour after the longest
	// lease; a claim that found nothing leaves none. Empty for none.
	ClaimID  string
	Channels []HandOutChannel // in the order they are asked
	Max      int
	// Start marks what is handed out as started: the agent will not say so itself.
	Start bool
	Epoch int64
	// Request is what the agent asked with, for the log of hand-outs. Bounded.
	Request string
}

// HandOutChannel is one channel that an agent may be handed something of.
type HandOutChannel struct {
	Name  string
	Lease time.Duration
	// Priorities are in the order they are asked.
	Priorities []posthouse.Priority
	// FairAfter is how long a retry waits beyond its due time before it goes ahead of what is new.
	FairAfter time.Duration
}

// HandedOut is what an agent now holds by one claim.
type HandedOut struct {
	Items []Item
	// Repeated is set where the claim id was known: Items are what is still held of it.
	Repeated bool
}

// Owner is the lease_owner of what an agent holds: no process has such a name.
func Owner(agent string) string { return "agent/" + agent }

// AgentOf is the agent whose Owner an owner is, empty for a process.
func AgentOf(owner string) string {
	agent, ok := strings.CutPrefix(owner, Owner(""))
	if !ok {
		return ""
	}
	return agent
}

// Seen is when an agent was last heard of.
type Seen struct {
	Tenant, Agent string
	At            time.Time
	App           string // what it says of itself, empty for nothing new
}

// Hold names a hand-out by its delivery and token.
type Hold struct {
	Delivery string
	Token    int64
}

// Renewed is a lease that lasts longer now.
type Renewed struct {
	Delivery   string
	LeaseUntil time.Time
}

// Report is one line of the log of reports: what an agent said, and what it was answered.
type Report struct {
	ID     string // of the line
	Tenant string
	Agent  string
	posthouse.AgentReport
	Request string // as it came in, bounded
	At      time.Time
	// Answer is empty until it is decided. Repeated is set where the report id was known: then Answer is the
	// first one's, and nothing else was looked at.
	Answer   posthouse.ReportResult
	Repeated bool
	// State is the delivery's after the report, empty where it is missing.
	State posthouse.State
}

// Known is what the store knows of a report's delivery as it is decided on.
type Known struct {
	// Delivery is locked. It is nil where the tenant has none of this id.
	Delivery *posthouse.Delivery
	// Tokens are those that this agent was handed the delivery with, oldest first; none means never.
	Tokens []int64
	// Last is this agent's last report on the delivery that counted, nil for none.
	Last *Report
	// Past reads what has failed of the delivery so far, by class. Where it cannot be read, the report is not written.
	Past func() Failures
}

// Tally counts the deliveries of a pulled channel without looking at them.
type Tally struct {
	New        int // pending, never failed
	Retry      int // pending, failed before
	Processing int // handed out
	Unknown    int
	Success    int // sent or delivered, also those that were deleted since
	Failed     int // failed, undelivered, expired, cancelled or quarantined, also those deleted since
}

// Sealed is the content of a sensitive message, encrypted.
type Sealed struct {
	Message, Tenant string
	Body            string
	ForgetAt        time.Time
}

// Log names one of the three logs, in the form of the wire.
type Log = wire.Log

// Line is a line of one of the three logs, in the form of the wire.
type Line = wire.Line

// The logs.
const (
	ReceiveLog = wire.ReceiveLog
	SendLog    = wire.SendLog
	ReportLog  = wire.ReportLog
)

// LogFilter selects lines of a log, newest first. Tenant is required; Delivery or the times narrow it.
type LogFilter struct {
	Tenant string
	// Sight is what the caller sees. Lines are of no message that could be looked at for all of them, so who sees a part gets those of
	// one delivery alone. Defaults to nothing.
	Sight        Sight
	Log          Log
	Delivery     string
	Agent        string
	Since, Until time.Time
	Cursor       string
	Limit        int // 1 to 1000, defaults to 50
}
