package campaign

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
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

// Where a long window is full, of the channel or of each of its accounts, a campaign says so and until when; one that opens in a moment makes it
// slower and no more.
func TestACampaignSaysThatAWindowIsFull(t *testing.T) {
	t.Parallel()
	now := time.Now()
	window := func(account string, left int, opens time.Duration) wire.Window {
		return wire.Window{Account: account, Max: 100, Per: posthouse.Duration(time.Hour), Left: left, OpensAt: now.Add(opens)}
	}
	two := []*state.Account{{Account: posthouse.Account{Name: "a"}}, {Account: posthouse.Account{Name: "b"}}}
	for name, c := range map[string]struct {
		windows  []wire.Window
		accounts []*state.Account
		known    string
		why      string
		until    time.Duration
	}{
		"none":                  {nil, nil, "", "", 0},
		"open":                  {[]wire.Window{window("", 5, time.Hour)}, nil, "", "", 0},
		"a moment":              {[]wire.Window{window("", 0, time.Second)}, nil, "", "", 0},
		"the channel's":         {[]wire.Window{window("", 0, time.Minute), window("", 0, time.Hour)}, nil, "", "the window of 100 in 1h of its channel is full", time.Hour},
		"of one account of two": {[]wire.Window{window("a", 0, time.Hour)}, two, "", "", 0},
		"of each account":       {[]wire.Window{window("a", 0, time.Hour), window("b", 0, 30*time.Minute)}, two, "", "the window of 100 in 1h of its account b is full", 30 * time.Minute},
		"a look that was known": {[]wire.Window{window("a", 0, time.Hour), window("b", 0, 30*time.Minute)}, two, "none may send", "none may send", 30 * time.Minute},
	} {
		d := &Desk{o: Options{
			Channel: func(string, string) *state.Channel { return &state.Channel{Opened: state.Opened{Accounts: c.accounts}} },
			Windows: func(context.Context, string, string) ([]wire.Window, error) { return c.windows, nil },
		}}
		p := wire.CampaignProgress{Waits: c.known}
		if c.known != "" {
			p.Until = now.Add(time.Second)
		}
		err := d.full(t.Context(), &work.Campaign{}, &p, now)
		if p.Waits != c.why || c.why != "" && !p.Until.Equal(now.Add(c.until)) || err != nil {
			t.Errorf("%s: %q until %s, %v; want %q in %s", name, p.Waits, p.Until, err, c.why, c.until)
		}
	}
}

// A template's own windows count for how long a campaign takes.
func TestATemplatesWindowsBoundItsCampaigns(t *testing.T) {
	t.Parallel()
	hourly := []posthouse.Limit{{Max: 50, Per: posthouse.Duration(time.Hour)}}
	ch := &state.Channel{Settings: state.Settings{Tiers: state.Tiers{Template: map[string][]posthouse.Limit{state.AnyTemplate: hourly, "free": nil}}}}
	for template, want := range map[string]time.Duration{"spring": 39 * time.Hour, "free": 0, "": 0} {
		if got := Takes(1951, ch, template); got != want {
			t.Errorf("%q takes %s, want %s", template, got, want)
		}
	}
}

// The windows of each account count, those that hold for all accounts too; an account that has windows of its own, or none, goes by these.
func TestAccountsWindowsBoundTheirCampaigns(t *testing.T) {
	t.Parallel()
	one := []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Second)}}
	of := func(limits ...[]posthouse.Limit) (list []*state.Account) {
		for _, l := range limits {
			list = append(list, &state.Account{Account: posthouse.Account{AccountSettings: posthouse.AccountSettings{Limits: l}}})
		}
		return list
	}
	for name, c := range map[string]struct {
		accounts []*state.Account
		want     time.Duration
	}{
		"of its own":       {nil, 29 * time.Second},
		"three":            {of(nil, nil, nil), 9 * time.Second},
		"one that has its": {of(nil, []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Minute)}}), 14 * time.Minute},
		"one without any":  {of([]posthouse.Limit{}), 0},
	} {
		ch := &state.Channel{Settings: state.Settings{Tiers: state.Tiers{Account: one}}, Opened: state.Opened{Accounts: c.accounts}}
		if got := Takes(30, ch, ""); got != c.want {
			t.Errorf("%s: it takes %s, want %s", name, got, c.want)
		}
		if _, list := Forecast(30, ch, "", 0, time.Unix(0, 0)); (len(list) > 0) != (c.want > 0) {
			t.Errorf("%s: a forecast of %d", name, len(list))
		}
	}
}
