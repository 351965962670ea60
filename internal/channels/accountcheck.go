package channels

import (
	"fmt"
	"regexp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// The bounds of an account's settings.
const (
	maxPools    = 20
	maxWeight   = 1000
	maxBaseRate = 100_000
)

// checkAccount finds what is wrong with an account besides its driver's own fields.
func checkAccount(a *posthouse.Account) []posthouse.Problem {
	var f finder
	const name = "want 1 to 63 of letters, digits, '-', '_' and '.', the first a letter or digit"
	if !accountName.MatchString(a.Name) {
		f.add("name", "is %.80q: %s", a.Name, name)
	}
	if len(a.Pools) > maxPools {
		f.add("pools", "has %d labels: want at most %d", len(a.Pools), maxPools)
	}
	for i, pool := range a.Pools[:min(len(a.Pools), maxPools)] {
		if !accountName.MatchString(pool) {
			f.add(fmt.Sprintf("pools[%d]", i), "is %.80q: %s", pool, name)
		}
	}
	if a.Weight < 0 || a.Weight > maxWeight {
		f.add("weight", "is %d: want 1 to %d", a.Weight, maxWeight)
	}
	if !(a.BaseRate >= 0 && a.BaseRate <= maxBaseRate) { // not a number is neither
		f.add("base_rate", "is %g: want 0 to %d messages a second", a.BaseRate, maxBaseRate)
	}
	f.budget("budget", a.Budget)
	for _, p := range limit.Check(a.Limits) {
		f.add("limits"+p.Path, "%s", p.Message)
	}
	return f
}
