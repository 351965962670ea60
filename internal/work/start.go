package work

import "time"

// Seats are what messages may begin with as they are accepted. They are asked for within the transaction that accepts, and answer from
// memory, at once.
type Seats interface {
	// Run begins a run of the transaction: what the run before was given goes back. What begins in this run holds its lease
	// from since on, at the earliest.
	Run(since time.Time)
	// Ask asks for up to n seats of a lane. What gets none is due.
	Ask(lane Lane, n int) Seating
}

// Seating is what was given of a lane.
type Seating struct {
	// N is how many may begin; 0 for none.
	N int
	// Accounts are those that they are sent by, one each. Nil where the channel has one account without a name.
	Accounts []string
	Owner    string
	Lease    time.Duration
	// Epoch is the epoch this process was started in; in another all is due.
	Epoch int64
	// Flight is the id of their start, by which it is found where the answer to the commit is lost.
	Flight string
}

// Start is what has begun as it was accepted: a claim that nobody had to make.
type Start struct {
	Flight string
	Items  []Item
}
