package work

import "time"

// Media is a file that was handed in to be sent. It never changes.
type Media struct {
	ID, Tenant string
	// Name is under which name recipients get it, Type its media type.
	Name, Type string
	Size       int64
	// Sum is the SHA-256 of its bytes, in hex.
	Sum       string
	CreatedAt time.Time
	// ExpiresAt is when it is deleted.
	ExpiresAt time.Time
}
