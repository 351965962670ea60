package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// MinuteKey names what is counted of a minute.
type MinuteKey struct {
	At                       time.Time // its beginning
	Tenant, Channel, Account string
	// Type is the content type, Outcome the class of the results.
	Type, Outcome string
}

// Minute counts attempts that ended in a minute.
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
