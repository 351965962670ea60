package work

import "time"

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
}

// Rejection is a row of the outbox that can not be accepted as things are.
type Rejection struct {
	Row      string
	Failures int           // the row's, as it was read; another count means that somebody was faster
	Error    string        // for people
	Wait     time.Duration // until it is tried again
}
