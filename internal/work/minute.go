package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// MinuteKey names what is counted of a minute.
type MinuteKey struct {
	At                       time.Time // its beginning
	Tenant, Channel, Account string
	// Type is the content type, Outcome the class of the results, or Accepted or GaveUp.
	Type, Outcome string
}

// Accepted is the outcome under which deliveries are counted that were taken from callers: no class of results has this name.
const Accepted = "accepted"

// GaveUp is the outcome under which attempts are counted once more after which nothing is tried again although their class would let it: it was the
// last try, or the deadline comes first. No class of results has this name.
const GaveUp = "gave_up"

// Minute counts attempts that ended in a minute, or deliveries that were accepted in it.
type Minute struct {
	MinuteKey
	N    int
	Took time.Duration // by their calls together
}

// RateMinute is how fast an account could go at the beginning of a minute, as one process saw it.
type RateMinute struct {
	At              time.Time // the minute
	Tenant, Channel string
	Process         int64 // tells the rows of several processes apart
	posthouse.Rate        // without Since and Parked
}
