package admission

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
)

// windows are the limits of a tenant, a channel and its accounts. They are counted for all processes together, which takes a call: so a
// reservation says what it asks of them, and is narrowed by what they grant. What they have refused to an account holds it until they
// have room.
type windows struct {
	silent
	c    *Channel
	held []time.Time // by account: until when its own limits let nothing start
}

func (s *windows) scope() scope { return ofAccount }

func (s *windows) shut(_ time.Time, a *Account) time.Time { return s.held[a.place] }

func (s *windows) shutBy(_ *Account, name string) string { return name + " has used up its limits" }

// Free is Stage's.
func (s *windows) Free(now time.Time, of Of) (Room, time.Time) {
	return open(now, s.held[of.Account.place])
}

// refused lets an account rest until its own limits have room, and reports whether others may go on meanwhile. Where the limits of
// another key hold, such as the channel's, nothing of the channel may.
func (s *windows) refused(a *Account, key string, until time.Time) bool {
	if s.c.accounts == nil || key != s.c.accountKey(a) && key != s.c.accountKey(a)+":rate" {
		return false
	}
	s.held[a.place] = until
	return true
}

// Why is Stage's: the window that holds a delivery, by the account that it could leave by first.
func (s *windows) Why(now time.Time, q *Question) []Wait {
	c := s.c
	of := c.Settings.Tiers.OfRecipient(c.Key, q.Delivery)
	c.mu.Lock()
	crew := c.crew(q.lane().Pin)
	c.mu.Unlock()
	var first Wait
	for _, a := range crew[:min(len(crew), mostNamed)] {
		tiers := append(c.tiers(a), of...)
		if len(tiers) == 0 {
			return nil
		}
		bounds := make([]limit.Bound, len(tiers))
		for i := range tiers {
			bounds[i] = tiers[i].Bound
		}
		g, err := q.Peek(bounds)
		if err != nil || g.N > 0 {
			return nil
		}
		if until := now.Add(g.Wait); first.Cause == "" || until.Before(first.Until) {
			held, of := inWords(tiers, g, a.Name)
			first = Wait{"limit", fmt.Sprintf("the window of %d in %s of its %s is full", held.Max, held.Per, of), until}
		}
	}
	if first.Cause == "" {
		return nil
	}
	return []Wait{first}
}

// inWords is the limit that holds, and what it counts, in words.
func inWords(tiers []state.Tier, g limit.Grant, account string) (held posthouse.Limit, of string) {
	for i := range tiers {
		t := &tiers[i]
		switch {
		case t.Key != g.Key:
		case t.Name == state.TierAccount && account != "":
			return t.Meant(g.Held), t.Name + " " + account
		default:
			return t.Meant(g.Held), t.Name
		}
	}
	return g.Held, "channel"
}

// bounds are all that must let a claim by an account through at once: the windows of the tenant, of the channel and of the account, and
// the budgets.
func (r *Reservation) bounds(a *Account) (list []limit.Bound) {
	for _, t := range append(r.c.tiers(a), r.budgets(a)...) {
		list = append(list, t.Bound)
	}
	return list
}

// tiers are bounds with the words for them.
func (c *Channel) tiers(a *Account) []state.Tier { return c.ownTiers(c.sharedTiers(), a) }

// sharedTiers are those of all accounts together.
func (c *Channel) sharedTiers() (list []state.Tier) {
	if len(c.of.TenantLimits) > 0 {
		list = append(list, state.TierOf(state.TierTenant, "", state.TenantKey(c.Key.Tenant), c.of.TenantLimits))
	}
	if len(c.Settings.Limits) > 0 {
		list = append(list, state.TierOf(state.TierChannel, "", c.Key.LimitKey(), c.Settings.Limits))
	}
	return list
}

// ownTiers adds those of an account alone. Neither names nor limits ever change.
func (c *Channel) ownTiers(list []state.Tier, a *Account) []state.Tier {
	leased := func(t state.Tier) state.Tier {
		t.Lease = a.Name != ""
		return t
	}
	if len(a.limits) > 0 {
		list = append(list, leased(state.TierOf(state.TierAccount, "", c.accountKey(a), a.limits)))
	}
	if base := rate.Windows(a.rate); len(base) > 0 {
		list = append(list, leased(state.TierOf(state.TierRate, "", c.accountKey(a)+":rate", base)))
	}
	return list
}

func (c *Channel) accountKey(a *Account) string { return c.Key.AccountKey(a.Name) }

// Windows are the tiers that hold for all that the channel sends, and then those of its accounts: of all, where none is named. Budgets are
// those of now, with all that high priority may use.
func (c *Channel) Windows(now time.Time, accounts []string) (list []state.Counted) {
	add := func(account string, tiers []state.Tier) {
		for _, t := range tiers {
			list = append(list, state.Counted{Account: account, Tier: t})
		}
	}
	add("", append(c.sharedTiers(), c.budgetsOf(now, &Account{}, posthouse.High)...))
	if c.accounts == nil {
		add("", c.ownTiers(nil, c.only))
		return list
	}
	if accounts == nil {
		accounts = slices.Sorted(maps.Keys(c.accounts))
	}
	for _, name := range accounts {
		if a := c.accounts[name]; a != nil {
			add(name, c.ownTiers(nil, a))
			for _, t := range c.budgetsOf(now, a, posthouse.High) {
				if !t.Spends.Whole {
					add(name, []state.Tier{t})
				}
			}
		}
	}
	return list
}
