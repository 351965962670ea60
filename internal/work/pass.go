package work

import "time"

// PassKind is what a pass is good for.
type PassKind string

// The kinds of passes.
const (
	PassLink    PassKind = "link"    // lets in once
	PassSession PassKind = "session" // lets in until it ends
	PassHalf    PassKind = "half"    // of a person who has yet to show a one-time code: it becomes a session
)

// Pass lets a person into the console.
type Pass struct {
	Mark                      string // the hash of what the person shows
	Kind                      PassKind
	Person                    string
	Source                    string // the address it was made for
	CreatedAt, SeenAt, EndsAt time.Time
}

// TOTP is how a person makes one-time codes (RFC 6238), and what is left of the recovery codes.
type TOTP struct {
	Secret string    // sealed, empty for none
	Since  time.Time // when it was set up
	Step   int64     // of the last code that was taken: no code is taken twice
	Spare  []string  // the hashes of recovery codes that are left
	// Wrong counts the wrong codes since WrongSince, and since the last right one.
	Wrong      int
	WrongSince time.Time
}

// SealedTOTP is a person's sealed secret.
type SealedTOTP struct{ Person, Secret string }
