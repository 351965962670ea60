package state

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// Spends is a budget in one of its periods.
type Spends struct {
	posthouse.Budget
	From, To time.Time // in its zone; To is no part of it
	Whole    bool      // it is of all that a channel sends, by whatever account
}

// A period is counted by a key of its own, in a window that is longer than it. So nothing that is counted leaves the window before the
// period ends, and the next one begins with nothing: exactly over all processes, wherever windows are kept. The lengths are constants, so
// that clocks which are set, and another zone, leave the window as it is.
const (
	dayWindow   = posthouse.Duration(48 * time.Hour)
	monthWindow = posthouse.Duration(33 * 24 * time.Hour)
)

// TierOfBudget is what counts a budget for a priority at a time: the key names whose it is. Its zone is the one given where it names none.
func TierOfBudget(now time.Time, key string, b *posthouse.Budget, p posthouse.Priority, zone *time.Location) Tier {
	if own, err := time.LoadLocation(b.TimeZone); err == nil && b.TimeZone != "" {
		zone = own
	}
	if zone == nil {
		zone = time.UTC
	}
	s := &Spends{Budget: *b}
	var name string
	s.From, s.To, name = b.Period(now, zone)
	per := dayWindow
	if b.Per == posthouse.PerMonth {
		per = monthWindow
	}
	return Tier{
		Name:   TierBudget,
		Bound:  limit.Bound{Key: key + budgetKey + name, Windows: []posthouse.Limit{{Max: b.For(p), Per: per}}},
		Limits: []posthouse.Limit{{Max: b.For(p), Per: posthouse.Duration(s.To.Sub(s.From))}},
		Spends: s,
	}
}

// budgetKey stands in the keys of budgets, between what they are of and their period.
const budgetKey = ":budget:"
