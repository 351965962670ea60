package engine

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/fleet"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// account is one of those that a route sends by. Most routes have one, without a name. Its gate is the route's.
type account struct {
	fleet.Seat
	is       *state.Account // nil for the one without a name
	limits   []posthouse.Limit
	inflight int                     // attempts, and 1 while a claim is made
	promised promise                 // to the claims of this round
	held     time.Time               // until when its own limits let nothing start
	rate     *posthouse.RateSettings // nil for none
	pace     *rate.Pace
	calls    calls
}

// calls are those that are under way, and how many may be at once as far as that was learned.
type calls struct {
	n    int
	most rate.AtOnce
}

// free is how many more may begin.
func (c *calls) free() int { return c.most.Most() - c.n }

// room is what may start now: so many attempts by an account.
type room struct {
	account string
	n       int
	// senders are those that were taken for the claim; it is short where fewer were free than it wanted.
	senders int
	short   bool
	// idle says that nothing of the route was under way when it was counted: it is as old as the number, since slots
	// that come free later make no part of it.
	idle bool
}

// account is the one of a name. An attempt by one that was taken away is counted with any other. The route is locked.
func (r *route) account(name string) *account {
	if a := r.accounts[name]; a != nil {
		return a
	}
	return r.only
}

// crew are the accounts that may send what has a pin. The route is locked.
func (r *route) crew(of work.Pin) []*account {
	if r.fleet == nil {
		return []*account{r.only}
	}
	seats := r.fleet.Of(of)
	list := make([]*account, len(seats))
	for i, s := range seats {
		list[i] = r.accounts[s.Name]
	}
	return list
}

// probes reports whether an account is tried with one attempt at a time, since its provider refused it for more than
// its rate. The route is locked.
func (r *route) probes(account string) bool {
	g, refused := r.gates[account]
	return refused && g.Class != posthouse.ClassRate
}

// spares reports whether a route has another account than one that may send now, of a pool where one is named.
func spares(r *route, account, pool string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fleet == nil {
		return false
	}
	now := time.Now()
	for _, a := range r.accounts {
		if a.Name != account && (pool == "" || slices.Contains(a.Pools, pool)) && !now.Before(r.opens(a, now)) && !r.probes(a.Name) {
			return true
		}
	}
	return false
}

// closed reports whether nothing of the route may start, and until when. What waits for one of several accounts is asleep
// for as long as that may not send.
func (r *route) closed() (until time.Time, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fleet != nil {
		return time.Time{}, false
	}
	now := time.Now()
	until = r.opens(r.only, now)
	if _, next := (tempo{r}).mayCall(r.only, now); next.After(until) {
		until = next
	}
	return until, now.Before(until)
}

// never is when an account may send that waits for a person.
var never = time.Unix(1<<40, 0)

// opens is when an account may send. The route is locked.
func (r *route) opens(a *account, now time.Time) time.Time {
	at := a.held
	if g := r.gates[a.Name]; g.Until.After(at) {
		at = g.Until
	}
	switch {
	case a.is == nil:
	case a.is.Err != nil:
		return never
	case a.is.PausedAt(now) && a.is.PausedUntil.IsZero():
		return never
	case a.is.PausedAt(now) && a.is.PausedUntil.After(at):
		return a.is.PausedUntil
	}
	return at
}

// room is how many more attempts may be under way by the one account of a route; with care, and while it is probed since
// its provider refused it, one.
func (r *route) room(care bool) room {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	n := r.Settings.MaxInflight - r.inflight
	calls, _ := tempo{r}.mayCall(r.only, now)
	calls = max(0, min(calls, r.calls.free(), r.only.calls.free()))
	n = min(n, calls*max(1, r.Settings.Batch))
	switch {
	case now.Before(r.opens(r.only, now)):
		n = 0
	case care, r.probes(""):
		n = min(n, 1-r.inflight)
	}
	if only, several := onlyOf(r.isDue); r.pool != nil && only == "" && !several {
		n = 0 // whatever is free, nothing is to be claimed
	}
	n = max(n, 0)
	taken := r.pool.Take(now, min(n, calls), r, r.nudge)
	return room{n: min(n, taken*max(1, r.Settings.Batch)), senders: taken, short: taken*max(1, r.Settings.Batch) < n, idle: r.inflight == 0}
}

// bid is what a route with several accounts claims next, by one of them, and promises it. Without a share, wait says when to look
// again.
func (r *route) bid(care bool) (at room, shares []share, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	most := r.Settings.ChannelInflight - r.inflight - r.promised.n
	if care {
		most = 1 - r.inflight - r.promised.n
	}
	taken := r.pool.Take(now, min(most, r.calls.free()-r.promised.calls), r, r.nudge)
	if most <= 0 || taken <= 0 {
		return room{}, nil, whenWoken // a slot or a sender that comes free wakes us
	}
	free := most
	most = min(most, taken*max(1, r.Settings.Batch))
	for {
		next, wake := r.fleet.Next(now, func(p posthouse.Priority) bool { return !r.shapes.closed(p, now) }, func(s *fleet.Seat) (int, time.Time) {
			return freeOf(r, s, now, most)
		})
		if next.By == nil {
			r.pool.Began(taken, 0, 0)
			return room{}, nil, r.shapes.until(now, wake)
		}
		n := r.shapes.take(now, next.Priority, next.N, r.Settings.Batch)
		if n == 0 {
			r.fleet.Rouse(next.Pin, next.Priority)
			continue
		}
		a := r.accounts[next.By.Name]
		calls, _ := tempo{r}.mayCall(a, now)
		calls = min(calls, a.calls.free())
		at = room{account: a.Name, n: n, senders: min(taken, n, calls-a.promised.calls), short: n >= most && most < free, idle: r.inflight+r.promised.n == 0}
		r.pool.Began(taken-at.senders, 0, 0)
		keep(r, a, promise{at.n, at.senders})
		return at, []share{{pin: next.Pin, priority: next.Priority, n: n}}, 0
	}
}

// gave notes how much an account was given.
func gave(r *route, account string, n int) {
	if r.fleet == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet.Took(&r.account(account).Seat, n)
}

// unpark lets what waits for accounts look again whether they can send: one can that could not. The route is locked.
func unpark(r *route) {
	if r.fleet != nil {
		r.fleet.Gather()
		return
	}
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
}

// hold lets an account rest until its own limits have room, and reports whether others may go on meanwhile. Where the limits
// of another key hold, such as the channel's, nothing of the route may.
func (r *route) hold(account, key string, wait time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(account)
	if r.fleet == nil || key != r.accountKey(a) && key != r.accountKey(a)+":rate" {
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
