package posthouse

import "time"

// Rate is how fast an account may go now, in calls a second, with all it is made of: base × health × success × load × time.
// The windows of its limits hold besides.
type Rate struct {
	Account string  `json:"account,omitempty"`
	Rate    float64 `json:"rate"` // the product
	Base    float64 `json:"base"` // what was configured, or learned
	// Health is what the provider bears now: it rises while calls succeed, and falls where it refuses, fails or is slow.
	Health float64 `json:"health"`
	// Success is the share of good ends, of the last hundred calls and before that of the last hour.
	Success float64 `json:"success"`
	// Load is below 1 where more than three quarters of the room for calls under way is in use.
	Load float64 `json:"load"`
	// Time is the factor of the time of day.
	Time float64 `json:"time"`
	// Reason is why it last changed, and Since when that began.
	Reason RateReason `json:"reason"`
	Since  time.Time  `json:"since,omitzero"`
	// Parked is until when nothing is called.
	Parked time.Time `json:"parked,omitzero"`
}

// RateReason says why a rate last changed.
type RateReason string

// RateReasons lists the reasons.
func RateReasons() []RateReason {
	return []RateReason{"began", "climbs", "refused", "punished", "failing", "slow", "recovers", "probes", "holds"}
}

// RateSettings let each account of a channel go as fast as its provider bears, within its limits.
type RateSettings struct {
	// Base is the most calls a second of an account. Defaults to 0: it is learned from what the provider answers.
	Base float64 `json:"base,omitempty"`
	// Hours slow the accounts down outside of working hours. Defaults to none.
	Hours *WorkingHours `json:"hours,omitempty"`
}

// WorkingHours say when accounts go at their full rate.
type WorkingHours struct {
	// From and To are local times of the channel's zone, "09:00" and "18:00".
	From string `json:"from"`
	To   string `json:"to"`
	// Calendar names a roster: a day on which it has nobody is a day off. Defaults to Monday to Friday.
	Calendar string `json:"calendar,omitempty"`
	// Outside is the factor at all other times. Defaults to 0.5.
	Outside float64 `json:"outside,omitempty"`
}
