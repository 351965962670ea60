package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// ChannelTest is a message that is really sent and not queued.
type ChannelTest struct {
	To      posthouse.Recipient `json:"to,omitzero" doc:"Without it the driver only checks that its provider can be reached, where it can."`
	Content posthouse.Content   `json:"content,omitzero" doc:"Defaults to a short text that says it is a test."`
}

// ChannelTested says how the provider answered.
type ChannelTested struct {
	OK       bool            `json:"ok"`
	Class    posthouse.Class `json:"class"`
	Code     string          `json:"code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Ref      string          `json:"provider_ref,omitempty"`
	Request  string          `json:"request,omitempty" doc:"Redacted."`
	Response string          `json:"response,omitempty" doc:"Redacted."`
}

// Driver describes a kind of channel: what a form needs.
type Driver struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	TitleZH string `json:"title_zh"`
	Doc     string `json:"doc"`
	DocZH   string `json:"doc_zh"`
	// RecipientURLs is set where a channel's egress.recipient_urls means something.
	RecipientURLs bool `json:"recipient_urls,omitempty"`
	// Callbacks is set where the provider can call the server.
	Callbacks bool    `json:"callbacks,omitempty" doc:"Whether the provider can call the server at an address of the channel's."`
	Fields    []Field `json:"fields"`
}

// FieldKind says what a setting of a driver holds, such as string, secret or duration.
type FieldKind string

// Field is one setting of a driver.
type Field struct {
	Name     string    `json:"name"`
	Label    string    `json:"label"`
	LabelZH  string    `json:"label_zh"`
	Help     string    `json:"help,omitempty"`
	HelpZH   string    `json:"help_zh,omitempty"`
	Kind     FieldKind `json:"kind"`
	Required bool      `json:"required"`
	Secret   bool      `json:"secret" doc:"Encrypted at rest and never shown."`
	Account  bool      `json:"account,omitempty" doc:"Each account of a channel has a value of its own."`
	Default  any       `json:"default,omitempty"`
	Choices  []Choice  `json:"choices,omitempty" doc:"The values that it may have, where it has one of a few."`
	Min      int       `json:"min,omitempty"`
	Max      int       `json:"max,omitempty"`
	Group    string    `json:"group,omitempty" doc:"What a field that is rarely needed is for. Forms fold the fields of a group."`
	GroupZH  string    `json:"group_zh,omitempty" doc:"What a field that is rarely needed is for, in Chinese."`
}

// Choice is one of the values that a setting may have.
type Choice struct {
	Value   string `json:"value" doc:"What is stored."`
	Label   string `json:"label" doc:"What a form calls it."`
	LabelZH string `json:"label_zh" doc:"What a form calls it, in Chinese."`
}

// Tally counts the deliveries of a pulled channel.
type Tally struct {
	New        int `json:"new" doc:"Pending, never failed."`
	Retry      int `json:"retry" doc:"Pending, failed before."`
	Processing int `json:"processing" doc:"Handed out."`
	Unknown    int `json:"unknown"`
	Success    int `json:"success" doc:"Sent or delivered, also those deleted since."`
	Failed     int `json:"failed" doc:"Failed, undelivered, expired, cancelled or quarantined, also those deleted since."`
}

// Window says how full a window is that bounds the sends of a channel.
type Window struct {
	Of      WindowOf           `json:"of" doc:"Whose sends it counts: the tenant's, the channel's, an account's, an account's by its base rate, or what is a budget's."`
	Account string             `json:"account,omitempty" doc:"The account, of a channel that has several."`
	Max     int                `json:"max" doc:"How many may start in it."`
	Per     posthouse.Duration `json:"per" doc:"How long it is."`
	Used    int                `json:"used" doc:"How many count in it now. What a process has reserved for the next two seconds is among them; after a limit was lowered there may be more than max."`
	Left    int                `json:"left" doc:"How many may start now."`
	OpensAt time.Time          `json:"opens_at,omitzero" doc:"When the next may start, where none may now."`

	Budget   posthouse.BudgetPeriod `json:"budget,omitempty" doc:"The period of the calendar that it is the budget of; empty for a window that slides."`
	Reserve  int                    `json:"reserve,omitempty" doc:"How many of max are kept for high priority."`
	From     time.Time              `json:"from,omitzero" doc:"When the budget's period began, in its zone."`
	To       time.Time              `json:"to,omitzero" doc:"When the next period begins."`
	WarnAt   int                    `json:"warn_at,omitempty" doc:"How many are used when a warning is logged."`
	Forecast int                    `json:"forecast,omitempty" doc:"How many will be used when the period ends, if it goes on as it has gone since its beginning."`
	SpentAt  time.Time              `json:"spent_at,omitzero" doc:"When the budget will be spent at this rate, where that is before its period ends: all of it but the reserve, so that from then on messages wait that are not of high priority."`
}

// WindowOf says whose sends a window counts.
type WindowOf string

// RateHistory says how fast an account could go, and what made it so.
type RateHistory struct {
	Account string             `json:"account,omitempty" doc:"The account, of a channel that has several."`
	Step    posthouse.Duration `json:"step" doc:"How long each point is: 1m up to four hours back, beyond that 10m."`
	Points  []RatePoint        `json:"points" doc:"The oldest first. Where the account made no call there is none."`
}

// RatePoint is how fast an account could go for a minute or ten: base × health × success × load × time. Of several processes that sent by
// it, rate and base are added up, and the factors are their means.
type RatePoint struct {
	At        time.Time            `json:"at" doc:"Its beginning."`
	Processes int                  `json:"processes" doc:"How many processes sent by the account."`
	Rate      float64              `json:"rate" doc:"Calls a second."`
	Base      float64              `json:"base" doc:"What was configured, or learned."`
	Health    float64              `json:"health" doc:"What the provider bore."`
	Success   float64              `json:"success" doc:"The share of good ends."`
	Load      float64              `json:"load" doc:"Below 1 where most of the room for calls under way was in use."`
	Time      float64              `json:"time" doc:"The factor of the time of day."`
	Reason    posthouse.RateReason `json:"reason" doc:"Why it had last changed, where it was lowest."`
}
