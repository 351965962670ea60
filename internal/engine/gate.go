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
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

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
		case res.Class == posthouse.ClassOK && r.admission.Gated():
			if k.reopen(r, account) {
				opened = append(opened, account)
			}
		}
	}
	return parked, opened
}

// passing is how long a gate is closed at least that is worth a line of the log and a word to the other processes. A rate that is
// learned meets a refusal now and then by its nature.
const passing = time.Second

// refuse closes an account's gate after a result that is about the account, not the delivery. It reports whether that is worth telling.
func (k *Gatekeeper) refuse(r *route, account string, res channel.Result) (work.Gate, bool) {
	g, closed := r.admission.Refuse(time.Now(), account, res, rand.Float64())
	if !closed {
		return g, false
	}
	k.metrics.Refusals.WithLabelValues(r.Key.Channel, string(res.Class)).Inc()
	if g.Class == posthouse.ClassRate && g.Until.Sub(g.UpdatedAt) < passing { // over before another process reads of it
		return g, false
	}
	what := state.Refusal(g.Class, "the account") + ": it is parked"
	if g.Class == posthouse.ClassLocal {
		what = "this process cannot send for the moment: the account is parked in it"
	}
	k.log.Warn(what, "tenant", g.Tenant, "channel", g.Channel,
		"account", account, "class", g.Class, "code", g.Code, "until", g.Until, "error", g.Error)
	return g, true
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
			now.admission.Tell(time.Now(), g)
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
	if !r.admission.Reopen(time.Now(), account) {
		return false
	}
	k.log.Info("the provider accepts the account again", "tenant", r.Key.Tenant, "channel", r.Key.Channel, "account", account)
	return true
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
		r.admission.OpenAll()
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
		if list := r.admission.Merge(time.Now(), asked, stored[k]); len(list) > 0 {
			untold[r] = list
		}
	}
	return untold
}
