package engine

import (
	"maps"
	"slices"

	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

// tiers are bounds with the words for them.
func (r *route) tiers(account string) []state.Tier {
	return ownTiers(r, r.sharedTiers(), r.account(account))
}

// sharedTiers are those of all accounts together.
func (r *route) sharedTiers() []state.Tier {
	var list []state.Tier
	if len(r.tenantLimits) > 0 {
		list = append(list, state.Tier{Name: state.TierTenant, Bound: limit.Bound{Key: state.TenantKey(r.Key.Tenant), Windows: r.tenantLimits}})
	}
	if len(r.Settings.Limits) > 0 {
		list = append(list, state.Tier{Name: state.TierChannel, Bound: limit.Bound{Key: r.Key.LimitKey(), Windows: r.Settings.Limits}})
	}
	return list
}

// ownTiers adds those of an account alone. Neither names nor limits ever change.
func ownTiers(r *route, list []state.Tier, a *account) []state.Tier {
	if len(a.limits) > 0 {
		list = append(list, state.Tier{Name: state.TierAccount, Bound: limit.Bound{Key: r.accountKey(a), Windows: a.limits, Lease: a.Name != ""}})
	}
	if base, some := (tempo{r}).bound(a); some {
		list = append(list, state.Tier{Name: state.TierRate, Bound: base})
	}
	return list
}

func (r *route) accountKey(a *account) string { return r.Key.LimitKey() + "/" + a.Name }

// Windows are the tiers that hold for all that a channel sends, and then those of its accounts: of all, where none is named. Open is
// false where the channel is not open in this process, or agents fetch what it has, who have limits of their own.
func (rs *Routes) Windows(tenant, channel string, accounts []string) (list []state.Counted, open bool) {
	r := rs.route(tenant, channel)
	if r == nil || r.Settings.Pulled {
		return nil, false
	}
	add := func(account string, tiers []state.Tier) {
		for _, t := range tiers {
			list = append(list, state.Counted{Account: account, Tier: t})
		}
	}
	add("", r.sharedTiers())
	if r.fleet == nil {
		add("", ownTiers(r, nil, r.only))
		return list, true
	}
	if accounts == nil {
		accounts = slices.Sorted(maps.Keys(r.accounts))
	}
	for _, name := range accounts {
		if a := r.accounts[name]; a != nil {
			add(name, ownTiers(r, nil, a))
		}
	}
	return list, true
}
