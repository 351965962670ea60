package work

import "time"

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
