// Package trial measures one queue at one piece of work: Run fills an empty database
// through a Queue, lets it work, and says how long that took and what it cost.
//
// It knows no library. Each has an adapter that implements Queue, and every trial runs
// in a process of its own, so that its memory and its CPU time are its own too. What is
// compared with what, and how often, is decided by the program above.
package trial

import (
	"context"
	"strings"
	"time"
)

// Kind is a piece of work.
type Kind string

// The kinds of work.
const (
	// Accept hands messages in for a while, and counts those that are durable.
	Accept Kind = "accept"
	// Drain empties a queue that was filled before, results recorded.
	Drain Kind = "drain"
	// Flow hands messages in while they are worked off, until all is durable.
	Flow Kind = "flow"
	// Pace hands messages in at a steady rate, and notes how long each took to its handler.
	Pace Kind = "pace"
)

// Spec is one trial. All of it but Library, DSN and Kind has a meaning for some kinds only.
type Spec struct {
	Library string `json:"library"`
	DSN     string `json:"dsn"`
	Kind    Kind   `json:"kind"`
	// Producers hand in at once, Batch messages a call; a steady pace hands in one a call where it is left out.
	Producers int `json:"producers,omitempty"`
	Batch     int `json:"batch,omitempty"`
	// Workers is how many messages may be in their handlers at once.
	Workers int `json:"workers,omitempty"`
	// Post is where the handler posts each message; "" for a handler that does nothing.
	Post string `json:"post,omitempty"`
	// N is how many messages a drain has, and a flow at most.
	N int `json:"n,omitempty"`
	// For is how long messages are handed in.
	For time.Duration `json:"for,omitempty"`
	// Within bounds a drain or a flow: one that takes longer is cut, and what is done by then counts.
	Within time.Duration `json:"within,omitempty"`
	// Rate is how many messages a second are handed in at a steady pace.
	Rate int `json:"rate,omitempty"`
	// Server is the process id of the database server, 0 for none.
	Server int `json:"server,omitempty"`
	// Profile is the file that a CPU profile of the measured part goes to, "" for none.
	Profile string `json:"profile,omitempty"`
}

// Outcome is what a trial measured.
type Outcome struct {
	// N messages were done in Took.
	N    int           `json:"n"`
	Took time.Duration `json:"took"`
	// Cut says that Within ended it: N is what the handlers had seen by then.
	Cut bool `json:"cut,omitempty"`
	// P50 and P99 are from the call of accept until the handler is called, with Pace.
	P50 time.Duration `json:"p50,omitempty"`
	P99 time.Duration `json:"p99,omitempty"`
	// Own is the CPU time of this process, Server that of the database server.
	Own    time.Duration `json:"own"`
	Server time.Duration `json:"server,omitempty"`
	// Peak is the largest resident memory of this process, in bytes, 0 where the system does not say.
	Peak int64 `json:"peak,omitempty"`
}

// PerSecond is the rate.
func (o Outcome) PerSecond() float64 { return float64(o.N) / o.Took.Seconds() }

// PerMessage is the CPU time of client and database server for each message.
func (o Outcome) PerMessage() time.Duration { return (o.Own + o.Server) / time.Duration(max(1, o.N)) }

// Queue is one library on one empty database. A trial calls its methods in this order:
// Accept, Prepare, Start, Accept, Close; Ended after Start, and before more is accepted too. Only Accept
// is called by many goroutines.
type Queue interface {
	// Accept stores messages and returns when they are durable: one by the library's
	// call for one, more by its fastest call for many.
	Accept(ctx context.Context, texts []string) error
	// Prepare does what comes before Start and is not measured.
	Prepare(ctx context.Context, h Handling) error
	// Start begins to work.
	Start(ctx context.Context) error
	// Ended is how many of the accepted messages are finished for good, their results
	// recorded, at most accepted. Before all are, it may count those whose handler was called.
	Ended(ctx context.Context, accepted int) (int, error)
	Close(ctx context.Context) error
}

// Handling is what a queue does with its messages.
type Handling struct {
	// Workers is how many may be handled at once.
	Workers int
	// Handle is called with each text.
	Handle func(ctx context.Context, text string) error
	// Handled is how often Handle has returned.
	Handled func() int
	// Post is where Handle posts; a library that has its own way to do so may use it.
	Post string
}

// Size is the length of a text in bytes.
const Size = 256

// text is a message that begins with a word.
func text(word string) string {
	return word + strings.Repeat(" posthouse", Size/10+1)[:Size-len(word)]
}

// texts is n messages.
func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text("message")
	}
	return out
}
