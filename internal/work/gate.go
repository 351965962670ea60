package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Gate is an account that a provider refused: nothing of it starts before Until, then one
// probe does. An empty Account is the whole channel.
type Gate struct {
	Tenant   string          `json:"tenant"`
	Channel  string          `json:"channel"`
	Account  string          `json:"account,omitempty"`
	Until    time.Time       `json:"until"`
	Class    posthouse.Class `json:"class"`
	Code     string          `json:"code,omitempty"`
	Error    string          `json:"error,omitempty"`
	Refusals int             `json:"refusals"` // in a row
	// Learned is how many calls a second the process bore that was punished for more; 0 where nobody was. Such a gate stays
	// after it has opened, so that no process forgets it.
	Learned   float64   `json:"learned,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	// ChannelVersion and AccountVersion are of what was refused: what a provider refused of a config that somebody has replaced
	// meanwhile does not count. Zero is whatever there is.
	ChannelVersion int64 `json:"-"`
	AccountVersion int64 `json:"-"`
}

// ChannelRow is a stored channel. Err says why its settings cannot be used, such as a field
// that only a newer version knows; what could be read is in Channel, and the other channels
// of a list are not affected.
type ChannelRow struct {
	Channel posthouse.Channel
	Err     error
	// Fleet rises with every change of the channel's accounts.
	Fleet int64
}

// AccountRow is a stored account. Err says why it cannot be used; the others are not affected.
type AccountRow struct {
	Account posthouse.Account
	Err     error
}
