package engine

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// worthMoving is how long an account cannot send before what waits for it moves: a short wait for a rate limit is no reason.
const worthMoving = 5 * time.Second

// Stranded are the lanes in which something may be due for an account that cannot send for a while, or is gone, of channels
// between whose accounts messages move.
func (rs *Routes) Stranded(now time.Time) (lanes []work.Lane) {
	for _, r := range rs.failingOver() {
		lanes = append(lanes, strandedOf(r, now)...)
	}
	return lanes
}

// Refuge is the account of a channel that is to have what is stranded, empty where none can send.
func (rs *Routes) Refuge(k state.Key, now time.Time) string {
	if r := rs.route(k.Tenant, k.Channel); r != nil && r.fleet != nil {
		return refugeIn(r, now)
	}
	return ""
}

// Moved notes that an account was given so many deliveries of a priority.
func (rs *Routes) Moved(k state.Key, account string, p posthouse.Priority, n int) {
	if r := rs.route(k.Tenant, k.Channel); r != nil {
		gave(r, account, n)
		r.rouse(work.ByAccount(account), p)
	}
}

// Pulled reports whether agents fetch what goes by a channel, and whether the channel is open.
func (rs *Routes) Pulled(k state.Key) (pulled, open bool) {
	r := rs.route(k.Tenant, k.Channel)
	return r != nil && r.Settings.Pulled, r != nil
}

// failingOver are the routes with accounts between which messages move.
func (rs *Routes) failingOver() (list []*route) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for _, r := range rs.routes {
		if r.fleet != nil && r.Settings.Failover && !r.Stored.PausedAt(time.Now()) {
			list = append(list, r)
		}
	}
	return list
}

// strandedOf are the lanes in which something may be due for an account that cannot send for a while, or is gone.
func strandedOf(r *route, now time.Time) (lanes []work.Lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet.Asleep(func(of work.Pin, priority posthouse.Priority) {
		if a := r.accounts[of.Account()]; a == nil || r.opens(a, now).Sub(now) >= worthMoving {
			lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: priority, Pin: of})
		}
	})
	return lanes
}

// refugeIn is the account that has had the least of its share among those that can send, empty where none can.
func refugeIn(r *route, now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *account
	for _, a := range r.accounts {
		if now.Before(r.opens(a, now)) || r.probes(a.Name) {
			continue
		}
		if best == nil || a.Had < best.Had || a.Had == best.Had && a.Name < best.Name {
			best = a
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}
