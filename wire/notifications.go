package wire

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// Ack acknowledges a message or a notification.
type Ack struct {
	By       string          `json:"by,omitempty" doc:"Who has taken note. The name or an address of a user whom the notification means or has told stands for that user. Defaults to the key's or the person's name."`
	User     string          `json:"user,omitempty" doc:"Of a message with several notifications, the person whose it is. Defaults to all of them."`
	Evidence json.RawMessage `json:"evidence,omitempty" doc:"What came with it, as a JSON object of at most 4096 bytes."`
}

// RoutePreview is who would get what when, if a message followed a route now.
type RoutePreview struct {
	Notifications []PreviewedNotification `json:"notifications" doc:"One for each recipient, or one for all."`
}

// PreviewedNotification is what one person, or any of several, would get.
type PreviewedNotification struct {
	To    []posthouse.Recipient `json:"to" doc:"Who is to be told."`
	Steps []PreviewedStep       `json:"steps" doc:"In their order."`
}

// PreviewedStep is one step, should it come to that.
type PreviewedStep struct {
	Step       int                `json:"step" doc:"Its number, from 1."`
	Round      int                `json:"round,omitempty" doc:"How often the steps have begun by then, where a route repeats them: 2 and more. Missing in the first round."`
	After      posthouse.Duration `json:"after" doc:"How long after the start it begins at the latest, unless something before it waits without a bound."`
	Until      posthouse.Proof    `json:"until" doc:"What would end the route."`
	Messages   []PreviewedMessage `json:"messages" doc:"What it would send."`
	Skipped    string             `json:"skipped,omitempty" doc:"Why it would be passed over."`
	WaitsUntil *time.Time         `json:"waits_until,omitempty" doc:"When it would begin, where something holds it until then. What comes after moves with it."`
	Reason     string             `json:"reason,omitempty" doc:"Why it would wait, such as quiet_hours."`
	Detail     string             `json:"detail,omitempty" doc:"More of that."`
	Ends       string             `json:"ends,omitempty" doc:"Why no step after it would begin, such as capped: what leaves a person alone, no step goes around."`
}

// PreviewedMessage is one message of a step.
type PreviewedMessage struct {
	Channel  string              `json:"channel" doc:"The channel."`
	To       posthouse.Recipient `json:"to" doc:"Whom it is for."`
	Template string              `json:"template,omitempty" doc:"The template, where it has one."`
	Language string              `json:"language,omitempty" doc:"The language of its text, of a template that has several."`
	Problem  string              `json:"problem,omitempty" doc:"Why it would not be accepted."`
	Skipped  string              `json:"skipped,omitempty" doc:"Why it would be accepted and not sent, such as address_suppressed or capped."`

	WaitsUntil *time.Time `json:"waits_until,omitempty" doc:"When it would be sent, where something holds it longer than its step."`
	Reason     string     `json:"reason,omitempty" doc:"Why it would wait, such as capped or quiet_hours."`
	Detail     string     `json:"detail,omitempty" doc:"More of why it is not sent."`
}
