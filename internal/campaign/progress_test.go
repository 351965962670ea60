package campaign

import (
	"math"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// A window that was filled at once is no rate: what is shown of a campaign is no more than its channel's limits let through in a minute, whichever
// of them is the least. A window that is longer may be filled at any rate.
func TestACampaignIsNoFasterThanItsLimits(t *testing.T) {
	t.Parallel()
	limit := func(most int, per time.Duration) posthouse.Limit {
		return posthouse.Limit{Max: most, Per: posthouse.Duration(per)}
	}
	account := func(limits ...posthouse.Limit) *state.Account {
		return &state.Account{Account: posthouse.Account{AccountSettings: posthouse.AccountSettings{Limits: limits}}}
	}
	for name, c := range map[string]struct {
		own      []posthouse.Limit
		accounts []*state.Account
		want     float64
	}{
		"none":                       {nil, nil, math.Inf(1)},
		"of the channel":             {[]posthouse.Limit{limit(60, time.Minute), limit(5, time.Second), limit(9, time.Hour)}, nil, 1},
		"a day's alone":              {[]posthouse.Limit{limit(10_000, 24*time.Hour)}, nil, math.Inf(1)},
		"of the accounts together":   {nil, []*state.Account{account(limit(2, time.Second)), account(limit(3, time.Second))}, 5},
		"of the channel beside them": {[]posthouse.Limit{limit(4, time.Second)}, []*state.Account{account(limit(2, time.Second)), account(limit(3, time.Second))}, 4},
		"an account without":         {nil, []*state.Account{account(limit(2, time.Second)), account()}, math.Inf(1)},
	} {
		ch := &state.Channel{Settings: state.Settings{Limits: c.own}, Opened: state.Opened{Accounts: c.accounts}}
		if got := fastest(ch); got != c.want {
			t.Errorf("%s: %g a second, want %g", name, got, c.want)
		}
	}
}
