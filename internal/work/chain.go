package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Whole is a message with all that is stored of it: its row, nil where there is none, its deliveries, and all events of these
// in their order.
type Whole struct {
	ID         string
	Message    *posthouse.Message
	Recipients int
	Deliveries []posthouse.Delivery
	Events     []posthouse.Event
}

// Key is a row of what is to happen once: an Idempotency-Key of an endpoint, or a dedup key of a channel, and the id of what it
// stands for.
type Key struct {
	ID, Tenant, Scope, Name string
	// BodyHash and Answer are those of an Idempotency-Key.
	BodyHash, Answer     string
	CreatedAt, ExpiresAt time.Time
	// Freed is set instead of all but the ID where a job was deleted, which gives its dedup key back.
	Freed bool
}

// Checkpoint is a link of the hash chain over what is stored: package chain says what its fields mean.
type Checkpoint struct {
	Seq       int64
	At        time.Time
	Pass      int
	Low, High string
	Keep      time.Duration
	Messages  int
	// Body is empty where a later pass has sealed the same anew.
	Body                 string
	BodyHash, Prev, Hash string
}

// ProofKey is a public key that proofs are signed with.
type ProofKey struct {
	ID, PEM string
	Since   time.Time
}
