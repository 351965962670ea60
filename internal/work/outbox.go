package work

import "time"

// Kind is what a row of the outbox holds, as far as its text can tell at a glance: the reader must be able to
// deal with either.
type Kind string

// The kinds.
const (
	Drafts     Kind = "drafts"
	TaskEvents Kind = "task_events"
)

// Enqueued is a row of the outbox whose time has come.
type Enqueued struct {
	ID     string
	Tenant string
	Draft  string // JSON, as its sender wrote it
	// CreatedAt is when the row was written, by the database's clock unless its writer set it.
	CreatedAt time.Time
	Failures  int // how often it could not be accepted
}

// Relay is a row of the outbox, ready to be stored.
type Relay struct {
	Row        string
	Submission *Submission // without a key
	// Keep is how long the message's id leads to the one that it turns out to be a duplicate of. Zero where
	// nobody was told the id.
	Keep time.Duration
}

// Rejection is a row of the outbox that cannot be accepted as things are.
type Rejection struct {
	Row      string
	Failures int           // the row's, as it was read; another count means that another process was faster
	Error    string        // for people
	Wait     time.Duration // until it is tried again
}

// Box is how a tenant's outbox stands.
type Box struct {
	Waiting, Rejected int
	// Rows are those that could not be accepted so far, the oldest first.
	Rows []Held
}

// Held is a row of the outbox that could not be accepted so far.
type Held struct {
	ID, Draft string
	CreatedAt time.Time
	// FailedAt is when it was tried last, Failures how often; DueAt is when it is tried again, far away for
	// one that waits for a person.
	FailedAt, DueAt time.Time
	Failures        int
	Error           string
}
