package work

import (
	"time"
)

// CallbackAddress is an address at which a provider calls us on behalf of one channel, or one account of it. It says nothing of
// whose it is, and it cannot be guessed.
type CallbackAddress struct {
	Address, Tenant, Channel, Account string
	CreatedAt                         time.Time
}

// Heard is what a provider has told us by itself: what became of what was sent with a call.
type Heard struct {
	Tenant, Channel string
	// Ref is what the provider calls the call; Address is one of its recipients, empty for all.
	Ref, Address string
	Delivered    bool
	// Code and Error are the provider's, for what was not delivered.
	Code, Error string
	// Until is for how long it is kept, zero of what is not.
	Until time.Time
}
