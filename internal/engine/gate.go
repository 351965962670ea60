package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// gate is an account's, as this process knows it.
type gate struct {
	work.Gate
	told time.Time // since when the others can know of it; its end for as long as they cannot; zero where they said so
}

// Gatekeeper closes the gates of accounts that their provider refuses, and shares them with the other processes.
type Gatekeeper struct {
	store   Gates
	routes  *Routes
	life    *life.Life
	log     *slog.Logger
	metrics *metrics.Metrics
}

// heed parks or reopens an account by what its provider said, in this process at once.
func (k *Gatekeeper) heed(r *route, account string, results []channel.Result) (parked []work.Gate, opened []string) {
	before := false // whether it is an attempt by a config of before
	if r.ctx.Err() != nil {
		now := k.routes.route(r.Key.Tenant, r.Key.Channel)
		if now == nil || r.Remade(now.Channel, account) {
			return nil, nil
		}
		before = r.Renewed(now.Channel, account)
		r = now // which would ask the account again before it reads of the gate
	}
	for _, res := range results {
		switch {
		case before && res.Class != posthouse.ClassRate, res.AtOnce != "":
		case res.Class.Blocks():
			if g, closed := k.refuse(r, account, res); closed {
				parked = append(parked, g)
			}
		case res.Class == posthouse.ClassOK && r.gated():
			if k.reopen(r, account) {
				opened = append(opened, account)
			}
		}
	}
	return parked, opened
}

func (r *route) gated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.gates) > 0
}

// repeatAfter is when a gate that could not be stored is stored again.
const repeatAfter = 2 * time.Second

// refuse closes an account's gate after a result that is about the account, not the delivery:
// nothing of it starts until the wait is over. A rate refusal then goes on as before; any
// other is probed with one delivery at a time.
func (k *Gatekeeper) refuse(r *route, account string, res channel.Result) (work.Gate, bool) {
	r.mu.Lock()
	g := r.gates[account]
	if g.Class == res.Class && time.Now().Before(g.Until) && res.After <= time.Until(g.Until) {
		r.mu.Unlock()
		return g.Gate, false // another attempt of the same moment has said so already
	}
	g.Refusals++
	wait := res.After // the provider's own word on a rate limit is exact
	if res.Class != posthouse.ClassRate || wait <= 0 {
		wait = r.Settings.Profile.TermsOf(res.Class).Schedule.Next(g.Refusals, res.After, rand.Float64())
	}
	until := time.Now().Add(wait)
	if until.Before(g.Until) {
		until = g.Until
	}
	learned := tempo{r}.learned(account, res, time.Now())
	if learned == 0 && remembered(g.Gate, time.Now()) {
		learned = g.Learned
	}
	g = gate{told: until, Gate: work.Gate{
		Tenant: r.Key.Tenant, Channel: r.Key.Channel, Account: account, Until: until,
		Class: res.Class, Code: res.Code, Error: res.Error, Refusals: g.Refusals, Learned: learned, UpdatedAt: time.Now(),
	}}
	g.ChannelVersion, g.AccountVersion = r.Versions(account)
	r.gates[account] = g
	r.mu.Unlock()

	k.metrics.Refusals.WithLabelValues(r.Key.Channel, string(res.Class)).Inc()
	what := state.Refusal(g.Class, "the account") + ": it is parked"
	if g.Class == posthouse.ClassLocal {
		what = "this process cannot send for the moment: the account is parked in it"
	}
	k.log.Warn(what, "tenant", g.Tenant, "channel", g.Channel,
		"account", account, "class", g.Class, "code", g.Code, "until", until, "error", g.Error)
	return g.Gate, true
}

// share tells the other processes, through the database.
func (k *Gatekeeper) share(r *route, parked []work.Gate, opened []string) {
	for _, g := range parked {
		if g.Class == posthouse.ClassLocal {
			continue // the others' machines may be well
		}
		if err := k.store.SetGate(k.life.Context(), time.Now(), g, time.Until(g.Until)); err != nil {
			k.log.Warn("a parked account could not be stored: other processes do not know of it yet", "channel", g.Channel, "error", err)
			continue
		}
		if now := k.routes.route(g.Tenant, g.Channel); now != nil { // r may have been replaced
			now.tell(g)
		}
	}
	for _, account := range opened {
		if err := k.store.ClearGate(k.life.Context(), r.Key.Tenant, r.Key.Channel, account); err != nil {
			k.log.Warn("a parked account could not be cleared", "channel", r.Key.Channel, "error", err)
		}
	}
}

// reopen opens an account's gate after a success.
func (k *Gatekeeper) reopen(r *route, account string) bool {
	r.mu.Lock()
	g, closed := r.gates[account]
	if !closed || (g.Class == posthouse.ClassRate && time.Now().Before(g.Until)) {
		r.mu.Unlock()
		return false
	}
	if g.Class == posthouse.ClassRate && remembered(g.Gate, time.Now()) {
		g.Refusals = 0 // those in a row
		r.gates[account] = g
		r.mu.Unlock()
		return false
	}
	delete(r.gates, account)
	unpark(r)
	r.mu.Unlock()
	r.nudge()
	k.log.Info("the provider accepts the account again", "tenant", r.Key.Tenant, "channel", r.Key.Channel, "account", account)
	return true
}

// remembered reports whether a gate tells of a punishment that is still to be heeded, whether or not it is open.
func remembered(g work.Gate, now time.Time) bool {
	return g.Learned > 0 && now.Before(g.Until.Add(rate.Hold))
}

// refused are the gates of a route's accounts where none of those that may send a delivery can.
func (r *route) refused(d *posthouse.Delivery) []work.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	who := []*account{r.only}
	if r.fleet != nil {
		who = r.crew(work.PinOf(d))
	}
	now := time.Now()
	var list []work.Gate
	for _, a := range who {
		if !now.Before(r.opens(a, now)) {
			return nil
		}
		if g, closed := r.gates[a.Name]; closed && now.Before(g.Until) {
			list = append(list, g.Gate)
		}
	}
	return list
}

// Resume opens all gates of a channel at once: a person says that the cause is gone.
func (k *Gatekeeper) Resume(ctx context.Context, tenant, name string) error {
	if err := k.store.ClearGate(ctx, tenant, name, "*"); err != nil {
		return err
	}
	k.routes.mu.Lock()
	delete(k.routes.known, state.Key{Tenant: tenant, Channel: name}) // which a route that is opened anew begins with
	k.routes.mu.Unlock()
	if r := k.routes.route(tenant, name); r != nil {
		r.mu.Lock()
		r.gates = map[string]gate{}
		unpark(r)
		r.mu.Unlock()
		r.nudge()
	}
	return nil
}

// look takes over what other processes found out about accounts.
func (k *Gatekeeper) look(ctx context.Context) error {
	asked := time.Now()
	gates, err := k.store.Gates(ctx, "")
	if err != nil {
		return err
	}
	stored := map[state.Key]map[string]work.Gate{}
	for _, g := range gates {
		k := state.Key{Tenant: g.Tenant, Channel: g.Channel}
		if stored[k] == nil {
			stored[k] = map[string]work.Gate{}
		}
		stored[k][g.Account] = g
	}
	for r, g := range k.merge(asked, stored) {
		k.share(r, g, nil)
	}
	return nil
}

// merge takes over what was stored when it was asked, and returns the gates of this process that should have been stored
// by then.
func (k *Gatekeeper) merge(asked time.Time, stored map[state.Key]map[string]work.Gate) map[*route][]work.Gate {
	k.routes.mu.Lock()
	defer k.routes.mu.Unlock()
	k.routes.known = stored
	untold := map[*route][]work.Gate{}
	for k, r := range k.routes.routes {
		r.mu.Lock()
		r.merge(asked, stored[k])
		for _, g := range r.gates {
			if g.Class != posthouse.ClassLocal && g.told.Equal(g.Until) && asked.Before(g.Until) && asked.Sub(g.UpdatedAt) > repeatAfter {
				untold[r] = append(untold[r], g.Gate)
			}
		}
		r.mu.Unlock()
	}
	return untold
}

// tell notes that the others can know of a gate from now on.
func (r *route) tell(g work.Gate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if mine := r.gates[g.Account]; mine.told.Equal(g.Until) { // else it was closed anew, or opened, meanwhile
		mine.told = time.Now()
		r.gates[g.Account] = mine
	}
}

// merge adds the gates that were stored when it was asked, and drops those that were not, but for what nobody else could
// know of then. Who waits for a gate that is gone looks again. Of two ends the later one counts: what was stored last need
// not be what was said last.
func (r *route) merge(asked time.Time, stored map[string]work.Gate) {
	for account, mine := range r.gates {
		if _, still := stored[account]; !still && !asked.Before(mine.told) {
			delete(r.gates, account)
			if r.fleet != nil {
				unpark(r)
			}
			r.nudge()
		}
	}
	for account, g := range stored {
		if mine, ok := r.gates[account]; !ok || g.Until.After(mine.Until) {
			r.gates[account] = gate{Gate: g}
			tempo{r}.heard(account, g, time.Now())
		}
	}
}
