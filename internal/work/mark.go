package work

import "time"

// Mark is what a caller of the compatibility face has said of a job, which is a message or a reminder.
type Mark struct {
	Job string
	// Status is the one the job was given, in the document's numbers, -1 for none.
	Status  int
	Deleted bool
	// By is who said it last.
	By string
	At time.Time
}

// DedupRow names what keeps a second message from being made: a message's key on its channel.
type DedupRow struct{ Message, Channel, Key string }
