package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// NewSubscription is an address to be told of what happens to deliveries.
type NewSubscription struct {
	URL         string            `json:"url" doc:"Where events are posted, http or https, signed as Standard Webhooks describes it."`
	Description string            `json:"description,omitempty" doc:"For people, up to 255 bytes."`
	Channels    []string          `json:"channels,omitempty" doc:"Only events of these channels; of a notification, where all that its route uses are among them. Defaults to all."`
	Kinds       []string          `json:"kinds,omitempty" doc:"Only events of messages of these kinds. Defaults to all."`
	Refs        []string          `json:"refs,omitempty" doc:"Only events of messages with these refs. Defaults to all."`
	States      []posthouse.State `json:"states,omitempty" doc:"Only events that lead to these states. Defaults to all."`
	Types       []string          `json:"types,omitempty" doc:"Only events of these types, or whose type begins with these words: delivery for status changes, notification for whether persons were told, budget for budgets that come to their warning or end, callback for what providers tell by themselves, notification.not_told. Defaults to all."`
	Batch       int               `json:"batch,omitempty" doc:"How many events one call may hold, 1 to 500. Above 1, data is a list, and type is deliveries.changed, notifications.changed or callbacks.told. Defaults to 1."`
	Since       time.Time         `json:"since,omitzero" doc:"Begin with what happened at this time, as far as events are kept. Defaults to now."`
	Behind      string            `json:"behind,omitempty" doc:"Begin behind the event with this id."`
}

// Subscription is one that there is.
type Subscription struct {
	ID          string             `json:"id" doc:"The subscription's id."`
	URL         string             `json:"url" doc:"Where events are posted."`
	Description string             `json:"description,omitempty" doc:"For people."`
	Channels    []string           `json:"channels,omitempty" doc:"Only events of these channels."`
	Kinds       []string           `json:"kinds,omitempty" doc:"Only events of messages of these kinds."`
	Refs        []string           `json:"refs,omitempty" doc:"Only events of messages with these refs."`
	States      []posthouse.State  `json:"states,omitempty" doc:"Only events that lead to these states."`
	Types       []string           `json:"types,omitempty" doc:"Only events of these types, or whose type begins with these words."`
	Batch       int                `json:"batch" doc:"How many events one call may hold."`
	State       string             `json:"state" doc:"active or paused."`
	Reason      string             `json:"reason,omitempty" doc:"Why it is paused: by a person, or gone, where the address has answered 410."`
	Lag         posthouse.Duration `json:"lag" doc:"How long ago the first event happened that it was not told of. 0s where it has come to the end."`
	Failures    int                `json:"failures" doc:"How often telling failed since it last succeeded."`
	NextTryAt   time.Time          `json:"next_try_at,omitzero" doc:"When it is tried again after a failure."`
	LastError   string             `json:"last_error,omitempty" doc:"What the last failure was."`
	LastToldAt  time.Time          `json:"last_told_at,omitzero" doc:"When it last took something."`
	Told        int64              `json:"told" doc:"How many events it took."`
	Dead        int64              `json:"dead" doc:"How many events it did not take at the end of all tries."`
	CreatedAt   time.Time          `json:"created_at"`
	Warnings    []string           `json:"warnings,omitempty" doc:"What is stored and will not work as this server runs, such as an address that it may not call."`
}

// SubscriptionWithSecret is a subscription with its new signing secret, which is shown this once.
type SubscriptionWithSecret struct {
	Subscription
	Secret string    `json:"secret" doc:"Verifies what is posted, with any library of Standard Webhooks. It is not shown again."`
	Since  time.Time `json:"since,omitzero" doc:"From when on what happens is told without a gap."`
}

// RotateSecret makes a signing secret anew.
type RotateSecret struct {
	Overlap *posthouse.Duration `json:"overlap,omitempty" doc:"How long the old secret still signs beside the new one, at most 30d. Defaults to 24h."`
}

// SubscriptionTest is what became of a test.
type SubscriptionTest struct {
	Taken   bool   `json:"taken" doc:"Whether the address has answered with a status of 2xx."`
	Problem string `json:"problem,omitempty" doc:"What was wrong."`
}

// ReplayEvents says from where a subscriber is told again.
type ReplayEvents struct {
	Since  time.Time `json:"since,omitzero" doc:"From this time on, and a little before."`
	Behind string    `json:"behind,omitempty" doc:"Behind the event with this id."`
}

// DeadLetter is an event that a subscriber did not take.
type DeadLetter struct {
	Event     string    `json:"event" doc:"The event's id."`
	GivenUpAt time.Time `json:"given_up_at" doc:"When the last try failed."`
	Tries     int       `json:"tries" doc:"How often it was tried."`
	Error     string    `json:"error" doc:"What the last failure was."`
}
