package channels

import (
	"time"

	"github.com/posthouse/posthouse"
)

// mostBudget bounds a budget as limits are bounded.
const mostBudget = 1_000_000_000

// budgets finds budgets that cannot be kept.
func (f *finder) budgets(s posthouse.ChannelSettings, pulled bool) {
	for _, of := range []struct {
		path string
		b    *posthouse.Budget
	}{{"budget", s.Budget}, {"account_budget", s.AccountBudget}} {
		switch {
		case of.b == nil:
		case pulled:
			f.add(of.path, "means nothing where agents fetch: an agent has limits of its own, so leave it out")
		default:
			f.budget(of.path, of.b)
		}
	}
	if s.AccountBudget != nil && !s.Accounts {
		f.add("account_budget", "is of each of several accounts: only a channel with accounts has any, so use budget")
	}
	if s.Budget != nil && s.Budget.WhenSpent == posthouse.SpentNextAccount {
		f.add("budget.when_spent", "is next_account, and the channel's budget is of all its accounts: want wait or high_priority")
	}
}

// budget finds what is wrong with one.
func (f *finder) budget(path string, b *posthouse.Budget) {
	if b == nil {
		return
	}
	if b.Max < 1 || b.Max > mostBudget {
		f.add(path+".max", "is %d, must be from 1 to %d; no budget is to leave it out", b.Max, mostBudget)
	}
	if !b.Per.Valid() {
		f.add(path+".per", "is %.60q: want day or month", b.Per)
	}
	if !b.WhenSpent.Valid() {
		f.add(path+".when_spent", "is %.60q: want wait, high_priority or next_account", b.WhenSpent)
	}
	switch {
	case b.Reserve < 0 || b.Reserve > 0 && b.Reserve >= b.Max:
		f.add(path+".reserve", "is %d: want less than max, which is %d", b.Reserve, b.Max)
	case b.Reserve > 0 && b.WhenSpent != posthouse.SpentHighPriority:
		f.add(path+".reserve", "is for high priority: it goes with when_spent high_priority alone")
	}
	if !(b.WarnAt >= 0 && b.WarnAt <= 1) { // not a number is neither
		f.add(path+".warn_at", "is %g: want a share of max from 0 to 1, such as 0.8", b.WarnAt)
	}
	if b.TimeZone == "" {
		return
	}
	if _, err := time.LoadLocation(b.TimeZone); err != nil || b.TimeZone == "Local" {
		f.add(path+".time_zone", "is %.60q, which is not an IANA time zone such as Asia/Shanghai", b.TimeZone)
	}
}
