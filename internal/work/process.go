package work

import "time"

// Process is one that works on the database.
type Process struct {
	ID      string // the owner of its leases
	Host    string
	Version string
	Schema  int64 // the newest version of the schema that it knows
	Epoch   int64
	// Key is the id of the newest key of its keyring, Keyring a fingerprint of them all.
	Key, Keyring string
	AcceptOnly   bool
	Untrusted    bool // requests came by a proxy that it does not trust
	Started      time.Time
	Seen         time.Time // when it last said that it is there, by the clock of the database
}
