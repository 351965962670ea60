package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Filter selects messages or deliveries. Empty fields select all, but for Tenant and Sight, which are required.
type Filter struct {
	Tenant  string
	Channel string
	Kind    string
	Ref     string
	User    string
	States  []posthouse.State
	// Sight is what the caller sees at all. Defaults to nothing.
	Sight Sight
	// Tried narrows which pending deliveries a list of deliveries has.
	Tried Tried
	// Since and Until bound when the message was handed in: from Since, before Until.
	Since, Until time.Time
	// Account narrows a list to what an account sent, or what is pinned to it. A first attempt that is under way right now is left
	// out: who makes it is said when it ends.
	Account string
	// Reason narrows a list of deliveries that stopped, such as unknown or failed ones, to why they stopped.
	Reason string
	// Priority narrows a list of deliveries to those of one.
	Priority posthouse.Priority
	// KnownAs narrows a list of deliveries to those to this address, and those whose provider calls them so.
	KnownAs string
	// Forms are other ways to write that address, such as those that the tenant's channels keep.
	Forms []string
	// ChangedUntil leaves out, of such a list, what has changed since.
	ChangedUntil time.Time
	// Look bounds about how many rows a page of a list goes through where no index answers its filter: the page may then be short, and
	// the next one goes on behind them. Defaults to all.
	Look int
	// Cursor is where the page before this one ended, empty for the first.
	Cursor string
	// Limit is the length of a page, 1 to 1000. Defaults to 50.
	Limit int
}

// Tried says of a pending delivery whether a try of it has failed before.
type Tried int

// All pending deliveries, those that failed before, those that never did.
const (
	TriedOrNot Tried = iota
	TriedBefore
	NeverTried
)

// Counts is how many deliveries there are in each state; a state without any is missing.
type Counts map[posthouse.State]int

// Summary is a message in a list: with how its deliveries stand.
type Summary struct {
	Message    posthouse.Message
	Recipients int
	Counts     Counts
}

// Depth is how many deliveries of a lane are in one open state.
type Depth struct {
	Lane
	State posthouse.State
	Count int
	// Oldest is the earliest due time among them, zero where none has one.
	Oldest time.Time
	// Unreadable rows have a state or priority that this binary does not know: no role will ever move them.
	Unreadable bool
}

// Settled is how many deliveries of a channel ended in one state.
type Settled struct {
	Channel string
	State   posthouse.State
	Count   int
}

// Stopped is how many deliveries of a channel are in a state for one reason.
type Stopped struct {
	Channel, Reason string
	Count           int
}

// Replay is what became of the wish to send a delivery again.
type Replay struct {
	Of  string // the old delivery
	ID  string // the new one, empty with Err
	Err error  // not_found, or conflict where its state does not allow it
	// Shared is set beside Err of one that went in one text with others: the delivery of that text is what is sent again.
	Shared bool
}
