package engine

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
)

// account is one of those that a route sends by. Most routes have one, without a name. Its gate is the route's.
type account struct {
	name     string
	limits   []posthouse.Limit
	inflight int       // attempts, and 1 while a claim is made
	held     time.Time // until when its own limits let nothing start
	pace     *rate.Pace
}

// room is what may start now: so many attempts by an account.
type room struct {
	account string
	n       int
	// idle says that nothing of the route was under way when it was counted: it is as old as the number, since slots
	// that come free later make no part of it.
	idle bool
}

// account is the one of a name. An attempt by one that was taken away is counted with the first. The route is locked.
func (r *route) account(name string) *account {
	for _, a := range r.accounts {
		if a.name == name {
			return a
		}
	}
	return r.accounts[0]
}

// probes reports whether an account is tried with one attempt at a time, since its provider refused it for more than
// its rate. The route is locked.
func (r *route) probes(account string) bool {
	g, refused := r.gates[account]
	return refused && g.Class != posthouse.ClassRate
}

// closed reports whether no account may send, and until when the first of them may.
func (r *route) closed() (until time.Time, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, a := range r.accounts {
		at := r.opens(a)
		if _, next := (tempo{r}).mayCall(a, now); next.After(at) {
			at = next
		}
		if !now.Before(at) {
			return at, false
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return until, true
}

// opens is when an account may send. The route is locked.
func (r *route) opens(a *account) time.Time {
	if g := r.gates[a.name]; g.Until.After(a.held) {
		return g.Until
	}
	return a.held
}

// room is how many more attempts may be under way, by the account whose turn it is among those that may send; with
// care, and while a refused account is probed, one.
func (r *route) room(care bool) room {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	free := r.Settings.MaxInflight - r.inflight
	for i := range r.accounts {
		a := r.accounts[(r.turn+i)%len(r.accounts)]
		calls, _ := tempo{r}.mayCall(a, now)
		n := min(free, calls*max(1, r.Settings.Batch))
		switch {
		case now.Before(r.opens(a)):
			continue
		case care:
			n = min(n, 1-r.inflight)
		case r.probes(a.name):
			n = min(n, 1-a.inflight)
		}
		if n > 0 {
			return room{account: a.name, n: n, idle: r.inflight == 0}
		}
	}
	return room{idle: r.inflight == 0}
}

// passTurn lets the account after one go first the next time.
func (r *route) passTurn(account string) {
	if len(r.accounts) == 1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn = slices.Index(r.accounts, r.account(account)) + 1
}

// hold lets an account rest until its own limits have room, and reports whether others may go on meanwhile. Where the limits
// of another key hold, such as the channel's, nothing of the route may.
func (r *route) hold(account, key string, wait time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(account)
	if len(r.accounts) == 1 || key != r.accountKey(a) && key != r.accountKey(a)+":rate" {
		return false
	}
	a.held = time.Now().Add(wait)
	return true
}

// bounds are all that must let a claim by an account through at once: the windows of the tenant, of the channel and of the
// account.
func (r *route) bounds(account string) []limit.Bound {
	var list []limit.Bound
	for _, t := range r.tiers(account) {
		list = append(list, t.Bound)
	}
	return list
}

// tiers are bounds with the words for them.
func (r *route) tiers(account string) []state.Tier {
	var list []state.Tier
	if len(r.tenantLimits) > 0 {
		list = append(list, state.Tier{Name: state.TierTenant, Bound: limit.Bound{Key: state.TenantKey(r.Key.Tenant), Windows: r.tenantLimits}})
	}
	if len(r.Settings.Limits) > 0 {
		list = append(list, state.Tier{Name: state.TierChannel, Bound: limit.Bound{Key: r.Key.LimitKey(), Windows: r.Settings.Limits}})
	}
	if a := r.account(account); len(a.limits) > 0 { // neither names nor limits ever change
		list = append(list, state.Tier{Name: state.TierAccount, Bound: limit.Bound{Key: r.accountKey(a), Windows: a.limits, Lease: a.name != ""}})
	}
	if base, some := (tempo{r}).bound(r.account(account)); some {
		list = append(list, state.Tier{Name: state.TierRate, Bound: base})
	}
	return list
}

func (r *route) accountKey(a *account) string { return r.Key.LimitKey() + "/" + a.name }
