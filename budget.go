package posthouse

import (
	"strconv"
	"time"
)

// Budget is how much may be sent in a day or a month of the calendar, as a provider's contract counts it: an account's or a channel's. It
// counts what its limits count. A window slides; a budget begins anew when its period does.
type Budget struct {
	// Max is how much may start in a period, by all priorities together.
	Max int `json:"max"`
	// Per is the period: "day" or "month".
	Per BudgetPeriod `json:"per"`
	// TimeZone is the IANA zone of the provider's calendar. Defaults to the channel's.
	TimeZone string `json:"time_zone,omitempty"`
	// WhenSpent says what goes on when it is spent. Defaults to "wait".
	WhenSpent WhenSpent `json:"when_spent,omitempty"`
	// Reserve is the part of Max that high priority alone may use, where WhenSpent is "high_priority". Defaults to a tenth of Max.
	Reserve int `json:"reserve,omitempty"`
	// WarnAt is the share of Max at which a warning is logged and told to who follows, 0 to 1. Defaults to 0.8.
	WarnAt float64 `json:"warn_at,omitempty"`
}

// BudgetPeriod is a period of the calendar.
type BudgetPeriod string

// The periods of budgets.
const (
	PerDay   BudgetPeriod = "day"
	PerMonth BudgetPeriod = "month"
)

// Valid reports whether it is one of those there are.
func (p BudgetPeriod) Valid() bool { return p == PerDay || p == PerMonth }

// WhenSpent says what goes on when a budget is spent.
type WhenSpent string

// What goes on when a budget is spent.
const (
	// SpentWait has all wait for the next period. What is pinned to no account goes by accounts that have something left.
	SpentWait WhenSpent = "wait"
	// SpentHighPriority keeps Reserve for high priority: all else waits when the rest is spent.
	SpentHighPriority WhenSpent = "high_priority"
	// SpentNextAccount moves what is pinned to the account to another one too.
	SpentNextAccount WhenSpent = "next_account"
)

// Valid reports whether it is one of those there are, or left out.
func (w WhenSpent) Valid() bool {
	return w == "" || w == SpentWait || w == SpentHighPriority || w == SpentNextAccount
}

// DefaultWarnAt is the share of a budget at which a warning is logged where it names none.
const DefaultWarnAt = 0.8

// Warns is how much of it is used when a warning is logged.
func (b *Budget) Warns() int {
	at := b.WarnAt
	if at == 0 {
		at = DefaultWarnAt
	}
	return max(1, int(at*float64(b.Max)))
}

// For is how much of it a priority may use.
func (b *Budget) For(p Priority) int {
	if p == High {
		return b.Max
	}
	return b.Max - b.Reserved()
}

// Reserved is the part of it that high priority alone may use.
func (b *Budget) Reserved() int {
	switch {
	case b.WhenSpent != SpentHighPriority:
		return 0
	case b.Reserve > 0:
		return b.Reserve
	}
	return b.Max / 10
}

// Period is the period of the budget that holds a time, in a zone: from its beginning, which is part of it, to its end, which is not, and
// its name, such as 2026-12 or 2026-12-01.
func (b *Budget) Period(now time.Time, zone *time.Location) (from, to time.Time, name string) {
	y, m, d := now.In(zone).Date()
	if b.Per == PerMonth {
		return time.Date(y, m, 1, 0, 0, 0, 0, zone), time.Date(y, m+1, 1, 0, 0, 0, 0, zone), now.In(zone).Format("2006-01")
	}
	return time.Date(y, m, d, 0, 0, 0, 0, zone), time.Date(y, m, d+1, 0, 0, 0, 0, zone), now.In(zone).Format("2006-01-02")
}

// String is the budget as text: 20000/month@Asia/Shanghai, with /when_spent=high_priority, /reserve=2000 and /warn_at=0.9 before the zone
// where these are set.
func (b Budget) String() string {
	text := strconv.Itoa(b.Max) + "/" + string(b.Per)
	if b.WhenSpent != "" {
		text += "/when_spent=" + string(b.WhenSpent)
	}
	if b.Reserve > 0 {
		text += "/reserve=" + strconv.Itoa(b.Reserve)
	}
	if b.WarnAt > 0 {
		text += "/warn_at=" + strconv.FormatFloat(b.WarnAt, 'g', -1, 64)
	}
	if b.TimeZone != "" {
		text += "@" + b.TimeZone
	}
	return text
}
