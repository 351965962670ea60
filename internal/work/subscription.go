package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// The states of a subscription.
const (
	SubscriptionActive = "active"
	SubscriptionPaused = "paused"
)

// SealedSecrets are the signing keys of a subscription as they are stored.
type SealedSecrets struct{ Subscription, Secrets string }

// Subscription is an address that gets the events of deliveries.
type Subscription struct {
	ID, Tenant string
	Target
	// Secrets are the signing keys, sealed.
	Secrets       string
	State, Reason string
	// At is behind the last event that was taken or given up.
	At         posthouse.FeedPosition
	Failures   int // since the last success
	NextAt     time.Time
	LastError  string
	ToldAt     time.Time
	Told, Dead int64
	LeaseOwner string
	LeaseUntil time.Time
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Target is what was set up.
type Target struct {
	URL         string            `json:"url"`
	Description string            `json:"description,omitempty"`
	Channels    []string          `json:"channels,omitempty"`
	Kinds       []string          `json:"kinds,omitempty"`
	Refs        []string          `json:"refs,omitempty"`
	States      []posthouse.State `json:"states,omitempty"`
	Types       []string          `json:"types,omitempty"`
	Batch       int               `json:"batch,omitempty"`
}

// DeadLetter is an event that a subscriber did not take.
type DeadLetter struct {
	Subscription, Tenant string
	At                   posthouse.FeedPosition
	GivenUpAt            time.Time
	Tries                int
	Error                string
}
