package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// NewAgent is an agent with the secret of its key, which is shown this once.
type NewAgent struct {
	posthouse.Agent
	Secret string `json:"secret" doc:"Its API key: goes behind \"Authorization: Bearer\". It is not kept."`
}

// Agent is an agent with how much it holds.
type Agent struct {
	posthouse.Agent
	Holds int `json:"holds" doc:"How many deliveries it holds now."`
}

// Reassigned says what became of what an agent held.
type Reassigned struct {
	Released int `json:"released" doc:"They had not started: other agents get them at once."`
	Unknown  int `json:"unknown" doc:"They had started and may have left: the channel's on_unknown decides."`
}

// AgentKey is how an agent's key is made anew.
type AgentKey struct {
	RevokeOld bool `json:"revoke_old,omitempty" doc:"End its other keys at once. Defaults to false: they stay valid until they are revoked."`
}

// Claim is what an agent asks for.
type Claim struct {
	ID           string             `json:"claim_id,omitempty" doc:"A new one for each claim, up to 64 bytes: a repeat with it answers what is still held of what it handed out."`
	Max          int                `json:"max,omitempty" doc:"At most that many, 1 to 100. Defaults to 10."`
	Wait         posthouse.Duration `json:"wait,omitempty" doc:"How long to wait where nothing is due, at most 60s. Defaults to 0."`
	Capabilities map[string]string  `json:"capabilities,omitempty" doc:"What it can do now, over what is registered: a channel's needs are compared with it."`
	App          string             `json:"app,omitempty" doc:"What the program says of itself, such as sms-app/2.1."`
}

// Claimed is what an agent was handed.
type Claimed struct {
	Handouts         []posthouse.Handout `json:"handouts"`
	Repeated         bool                `json:"repeated,omitempty" doc:"The claim id was known: these are what is still held of it."`
	Reason           string              `json:"reason,omitempty" doc:"Why there is nothing although there may be work: paused, draining, limited, channel_paused, lacks_capabilities."`
	RetryAfterMillis int64               `json:"retry_after_ms,omitempty" doc:"When to ask again, in milliseconds; missing for at once."`
	ServerTime       time.Time           `json:"server_time"`
}

// RetryAfter is when to ask again.
func (c Claimed) RetryAfter() time.Duration {
	return time.Duration(c.RetryAfterMillis) * time.Millisecond
}

// ReceivedTexts are text messages that an agent got.
type ReceivedTexts struct {
	Texts []ReceivedText `json:"texts" doc:"1 to 100."`
}

// ReceivedText is a text message that an agent got.
type ReceivedText struct {
	ID         string    `json:"text_id" doc:"The agent's own id of the text, 1 to 64 bytes: a repeat with it is answered as before, and changes nothing."`
	Sender     string    `json:"sender" doc:"The number that it came from, such as +8613800138000, or as the phone shows it."`
	Text       string    `json:"text" doc:"What it says. Nothing of it is kept but a word that acknowledges."`
	ReceivedAt time.Time `json:"received_at" doc:"When the phone got it. It means nothing that was sent after that."`
}

// ReceivedResults has an answer for each text, in order.
type ReceivedResults struct {
	Results []ReceivedResult `json:"results"`
}

// ReceivedResult says what became of a text.
type ReceivedResult struct {
	ID           string `json:"text_id"`
	Acknowledged bool   `json:"acknowledged" doc:"It acknowledged a notification. False: by what it says it means none, or none that waits for its sender, or one of several."`
	Repeated     bool   `json:"repeated,omitempty" doc:"The text id was known: this is what it was answered."`
}

// Holds names hand-outs.
type Holds struct {
	Handouts []Hold `json:"handouts" doc:"1 to 500."`
	Reason   string `json:"reason,omitempty" doc:"Of a give-back: why."`
}

// Hold names a hand-out by its delivery and token.
type Hold struct {
	Delivery string `json:"delivery"`
	Token    int64  `json:"token"`
}

// HoldResults has an answer for each hand-out, in order.
type HoldResults struct {
	Results []HoldResult `json:"results"`
}

// HoldResult says what became of a wish about one hand-out.
type HoldResult struct {
	Delivery    string    `json:"delivery"`
	OK          bool      `json:"ok"`
	Reason      string    `json:"reason,omitempty" doc:"Why not: stale, cancelled, expired or missing. What is not ok must not be sent."`
	LeaseUntil  time.Time `json:"lease_until,omitzero"`
	LeaseMillis int64     `json:"lease_ms,omitempty" doc:"What is left of the lease, in milliseconds."`
}

// Held is a delivery that an agent holds. Its token is the hand-out's.
type Held struct {
	posthouse.Delivery
	LeaseMillis int64 `json:"lease_ms" doc:"What is left of the lease, in milliseconds."`
}

// Report is one report, or a list of them.
type Report struct {
	posthouse.AgentReport
	Reports []posthouse.AgentReport `json:"reports,omitempty"`
}

// ReportAnswers has an answer for each report, in order.
type ReportAnswers struct {
	Results []ReportAnswer `json:"results"`
}

// ReportAnswer answers one report.
type ReportAnswer struct {
	ReportID string                 `json:"report_id"`
	Result   posthouse.ReportResult `json:"result" doc:"done: it counts. evidence: it came late and proves a success. stale: it came late and changes nothing. missing: there is no such delivery for this agent."`
	State    posthouse.State        `json:"state,omitempty" doc:"The delivery's now."`
	Repeated bool                   `json:"repeated,omitempty" doc:"The report id was known: this is what it was answered."`
}
