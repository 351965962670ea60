package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// leastRateWait is the least a delivery waits after a refusal of its account.
const leastRateWait = time.Second

// refuse closes an account's gate after a result that is about the account, not the delivery:
// nothing of it starts until the wait is over. A rate refusal then goes on as before; any
// other is probed with one delivery at a time.
func (e *Engine) refuse(r *route, account string, res channel.Result) (work.Gate, bool) {
	r.mu.Lock()
	g := r.gates[account]
	if g.Class == res.Class && time.Now().Before(g.Until) && res.After <= time.Until(g.Until) {
		r.mu.Unlock()
		return g, false // another attempt of the same moment has said so already
	}
	g.Refusals++
	wait := res.After // the provider's own word on a rate limit is exact
	if res.Class != posthouse.ClassRate || wait <= 0 {
		wait = r.settings.profile.TermsOf(res.Class).Schedule.Next(g.Refusals, res.After, rand.Float64())
	}
	r.probing = r.probing || res.Class != posthouse.ClassRate
	until := time.Now().Add(wait)
	if until.Before(g.Until) {
		until = g.Until
	}
	g = work.Gate{
		Tenant: r.key.tenant, Channel: r.key.channel, Account: account, Until: until,
		Class: res.Class, Code: res.Code, Error: res.Error, Refusals: g.Refusals, UpdatedAt: time.Now(),
	}
	r.gates[account] = g
	r.mu.Unlock()

	e.metrics.refusals.WithLabelValues(r.key.channel, string(res.Class)).Inc()
	e.log.Warn("the provider refuses the account: it is parked", "tenant", g.Tenant, "channel", g.Channel,
		"account", account, "class", g.Class, "code", g.Code, "until", until, "error", g.Error)
	return g, true
}

// shareGateChanges tells the other processes, through the database.
func (e *Engine) shareGateChanges(r *route, parked []work.Gate, opened []string) {
	for _, g := range parked {
		if err := e.o.Store.SetGate(e.bg, time.Now(), g, time.Until(g.Until)); err != nil {
			e.log.Warn("a parked account could not be stored: other processes do not know of it yet", "channel", g.Channel, "error", err)
		}
	}
	for _, account := range opened {
		if err := e.o.Store.ClearGate(e.bg, r.key.tenant, r.key.channel, account); err != nil {
			e.log.Warn("a parked account could not be cleared", "channel", r.key.channel, "error", err)
		}
	}
}

// reopen opens an account's gate after a success.
func (e *Engine) reopen(r *route, account string) bool {
	r.mu.Lock()
	g, closed := r.gates[account]
	if !closed || (g.Class == posthouse.ClassRate && time.Now().Before(g.Until)) {
		r.mu.Unlock()
		return false
	}
	delete(r.gates, account)
	r.probing = false
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
	r.mu.Unlock()
	r.nudge()
	e.log.Info("the provider accepts the account again", "tenant", r.key.tenant, "channel", r.key.channel, "account", account)
	return true
}

// closedUntil is when the route's account may start again, zero when it may now.
func (r *route) closedUntil(account string) (work.Gate, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, ok := r.gates[account]
	return g, ok && time.Now().Before(g.Until)
}

// Resume opens all gates of a channel at once: a person says that the cause is gone.
func (e *Engine) Resume(ctx context.Context, tenant, name string) error {
	if err := e.o.Store.ClearGate(ctx, tenant, name, "*"); err != nil {
		return err
	}
	if r := e.route(tenant, name); r != nil {
		r.mu.Lock()
		r.gates, r.probing = map[string]work.Gate{}, false
		for _, p := range posthouse.Priorities() {
			r.due[p] = true
		}
		r.mu.Unlock()
		r.nudge()
	}
	return nil
}

// shareGates takes over what other processes found out about accounts.
func (e *Engine) shareGates(ctx context.Context) error {
	gates, err := e.o.Store.Gates(ctx, "")
	if err != nil {
		return err
	}
	stored := map[routeKey]map[string]work.Gate{}
	for _, g := range gates {
		k := routeKey{g.Tenant, g.Channel}
		if stored[k] == nil {
			stored[k] = map[string]work.Gate{}
		}
		stored[k][g.Account] = g
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for k, r := range e.routes {
		r.mu.Lock()
		r.merge(stored[k])
		r.mu.Unlock()
	}
	return nil
}

// merge replaces the gates by the stored ones, keeping what was set within the last moment and
// may not be stored yet. Who waits for a gate that is gone looks again.
func (r *route) merge(stored map[string]work.Gate) {
	for account, g := range r.gates {
		if _, still := stored[account]; !still && time.Since(g.UpdatedAt) > 2*time.Second {
			delete(r.gates, account)
			r.nudge()
		}
	}
	r.probing = false
	for account, g := range stored {
		if mine, ok := r.gates[account]; !ok || g.Until.After(mine.Until) {
			r.gates[account] = g
		}
	}
	for _, g := range r.gates {
		r.probing = r.probing || g.Class != posthouse.ClassRate
	}
}
