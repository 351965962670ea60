package posthouse

import "time"

// Account is one of several accounts with a provider that a channel sends by: an application, a robot.
type Account struct {
	Tenant  string `json:"tenant"`
	Channel string `json:"channel"`
	Name    string `json:"name"`
	// Config holds what differs between the accounts of a channel, such as an application's id and secret. What all
	// of them share is the channel's. Secrets are write-only: reading shows them masked, and writing the mask keeps them.
	Config map[string]any `json:"config,omitempty"`

	AccountSettings

	Paused      bool   `json:"paused,omitempty"`
	PauseReason string `json:"pause_reason,omitempty"`
	// PausedUntil is when it goes on by itself. Zero is when a person resumes it.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// State is whether it sends now, StateReason why not, and StateUntil until when. All three are only shown.
	State       AccountState `json:"state,omitempty"`
	StateReason string       `json:"state_reason,omitempty"`
	StateUntil  time.Time    `json:"state_until,omitzero"`

	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// AccountSettings is what an operator decides about an account, whatever its driver.
type AccountSettings struct {
	// Pools are labels that a message may ask for instead of one account. Defaults to none.
	Pools []string `json:"pools,omitempty"`
	// Weight is its share of what no message has pinned, beside the other accounts, 1 to 1000. Defaults to 1.
	Weight int `json:"weight,omitempty"`
	// BaseRate is how many calls a second it makes at most, when all is well; its rate adapts below that. Defaults to the base
	// of its channel's rate.
	BaseRate float64 `json:"base_rate,omitempty"`
	// Limits are windows of this account, besides those of its channel: all of them must have room; an empty list is no limit.
	// Defaults to the channel's account_limits.
	Limits []Limit `json:"limits,omitzero"`
	// Budget is how much the account may send in a day or a month of the calendar. Defaults to the channel's account_budget.
	Budget *Budget `json:"budget,omitempty"`
}

// PausedAt reports whether a person has paused the account, and it has not gone on by itself by then.
func (a *Account) PausedAt(now time.Time) bool {
	return a.Paused && (a.PausedUntil.IsZero() || now.Before(a.PausedUntil))
}

// AccountState is whether an account sends.
type AccountState string

// The states of an account.
const (
	AccountOpen   AccountState = "open"
	AccountPaused AccountState = "paused" // by a person
	AccountParked AccountState = "parked" // its provider refuses it for a while
	AccountBroken AccountState = "broken" // it cannot be opened
)

// AccountStates lists them all.
func AccountStates() []AccountState {
	return []AccountState{AccountOpen, AccountPaused, AccountParked, AccountBroken}
}
