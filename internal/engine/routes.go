package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/pacer"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/rescue"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/upkeep"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Routes are the channels as they are open now.
type Routes struct {
	rules        rule.Env
	zone         *time.Location
	tenantLimits map[string][]posthouse.Limit
	admits       admission.Options // of every channel
	shift        *shift
	log          *slog.Logger
	metrics      *metrics.Metrics
	ends         func(of rollup.AccountKey) (hour rate.Ends, best float64) // of an account, in all processes
	changed      func()                                                    // a channel was set
	pulled       func(keys ...state.Key)                                   // agents may be handed something of these channels
	standing     func(l work.LineKey)                                      // somebody stands in a line
	serve        func(r *route)                                            // dispatches what is due of a route; nil for a front door

	mu      sync.RWMutex
	started bool
	routes  map[state.Key]*route
	known   map[state.Key]map[string]work.Gate // what was stored of gates when it was last looked, by account
}

// SetChannel adds a channel, or replaces it as it now is. Calls under way finish with the old settings; what has not begun is given back,
// and begins with the new. The error says which setting cannot work.
func (rs *Routes) SetChannel(ch posthouse.Channel, o state.Opened) error {
	opened, err := state.Open(ch, o, rs.rules, rs.zone)
	if err != nil {
		return err
	}
	of := rs.admits
	of.TenantLimits = rs.limitsOf(ch.Tenant)
	of.Ends = func(account string) (rate.Ends, float64) {
		return rs.ends(rollup.AccountKey{Tenant: ch.Tenant, Channel: ch.Name, Account: account})
	}
	r := newRoute(opened, of, rs.metrics)
	factor := firstFactor(&r.Settings, time.Now())
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if old := rs.routes[r.Key]; old != nil {
		rs.retire(old)
		if sameHours(&r.Settings, &old.Settings) {
			factor = old.admission.TimeFactor()
		}
		r.admission.Inherit(old.admission)
	} else {
		r.admission.Know(rs.known[r.Key])
	}
	r.admission.Surround(factor)
	rs.routes[r.Key] = r
	rs.metrics.Begin(measured(r))
	rs.changed() // what an agent may be handed can be another now
	if rs.started {
		rs.begin(r)
	}
	return nil
}

// firstFactor is the factor of the time of day until the pacer has looked. Whether a calendar has a day off is the pacer's to find out:
// until then the channel goes as outside of its hours.
func firstFactor(s *state.Settings, now time.Time) float64 {
	if s.Rate == nil || s.Rate.Hours == nil {
		return 1
	}
	local := now.In(s.Location)
	weekend := local.Weekday() == time.Saturday || local.Weekday() == time.Sunday
	return rate.Hour(s.Rate.Hours, local, weekend || s.Rate.Hours.Calendar != "")
}

// sameHours reports whether two settings have the same working hours.
func sameHours(a, b *state.Settings) bool {
	hours := func(s *state.Settings) posthouse.WorkingHours {
		if s.Rate == nil || s.Rate.Hours == nil {
			return posthouse.WorkingHours{}
		}
		return *s.Rate.Hours
	}
	return hours(a) == hours(b) && a.Location.String() == b.Location.String()
}

// limitsOf are the windows of a tenant.
func (rs *Routes) limitsOf(tenant string) []posthouse.Limit {
	if own, named := rs.tenantLimits[tenant]; named {
		return own
	}
	return rs.tenantLimits["*"]
}

// CheckChannel says which setting of a channel cannot work, without changing anything.
func (rs *Routes) CheckChannel(ch posthouse.Channel, o state.Opened) error {
	_, err := state.Open(ch, o, rs.rules, rs.zone)
	return err
}

// RemoveChannel ends a channel's dispatching.
func (rs *Routes) RemoveChannel(tenant, name string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.routes[state.Key{Tenant: tenant, Channel: name}]; r != nil {
		rs.retire(r)
		delete(rs.routes, r.Key)
	}
}

// ForgetChannel is RemoveChannel for one that is gone for good: its metrics go too, unless another tenant has a channel of
// its name.
func (rs *Routes) ForgetChannel(tenant, name string) {
	gone := rs.route(tenant, name)
	rs.RemoveChannel(tenant, name)
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for k := range rs.routes {
		if k.Channel == name {
			return
		}
	}
	c := metrics.Channel{Name: name}
	if gone != nil {
		c = measured(gone)
	}
	rs.metrics.End(c)
}

// measured is what a route's metrics are named by.
func measured(r *route) metrics.Channel {
	c := metrics.Channel{Name: r.Key.Channel, Pulled: r.Settings.Pulled, Outcomes: []string{string(verdictRelease), string(verdictWindow), string(verdictQuarantine)}}
	if r.Settings.Every > 0 {
		c.Job = r.Settings.Job
	}
	return c
}

// retire ends a route's dispatching, and closes its driver when what is under way has ended.
func (rs *Routes) retire(r *route) {
	r.cancel()
	if !rs.started || !slices.ContainsFunc(r.Opened.Drivers(), closes) {
		return
	}
	rs.shift.loop(func(ctx context.Context) {
		r.settle(ctx)
		r.asking.Wait()
		if err := r.Opened.Close(); err != nil {
			rs.log.Warn("a channel's driver could not be closed", "channel", r.Key.Channel, "error", err)
		}
	})
}

func closes(d channel.Driver) bool {
	_, ok := d.(io.Closer)
	return ok
}

// begin starts the role that serves the route.
func (rs *Routes) begin(r *route) {
	if rs.serve == nil || rs.shift.resting.Load() || r.Settings.Pulled {
		return // of what is pulled, agents ask for it
	}
	rs.shift.claimers.Add(1)
	rs.shift.loop(func(context.Context) {
		defer rs.shift.claimers.Done()
		rs.serve(r)
	})
}

// start begins to serve all routes, and those that are added from now on.
func (rs *Routes) start() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.started = true
	for _, r := range rs.routes {
		rs.begin(r)
	}
}

func (rs *Routes) isStarted() bool {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	return rs.started
}

// rest ends all dispatching.
func (rs *Routes) rest() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.routes {
		r.cancel()
	}
}

// close ends the connections of all channels.
func (rs *Routes) close() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var errs []error
	for key, r := range rs.routes {
		errs = append(errs, r.Opened.Close())
		delete(rs.routes, key)
	}
	return errors.Join(errs...)
}

func (rs *Routes) route(tenant, channel string) *route {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	return rs.routes[state.Key{Tenant: tenant, Channel: channel}]
}

// halted returns why nothing may begin by a route any more: its channel was paused or removed, or is another by now. What was claimed
// before that, or meanwhile, begins by the settings that are in force: a claim that was under way finds what was accepted after it.
func (rs *Routes) halted(r *route) string {
	if !r.replaced() {
		return ""
	}
	if now := rs.route(r.Key.Tenant, r.Key.Channel); now == nil || now.Stored.PausedAt(time.Now()) {
		return state.ReasonPaused
	}
	return state.ReasonReplaced
}

// Ask is a channel for a question to its driver, nil where it is not open. The driver stays open until done is called.
func (rs *Routes) Ask(tenant, channel string) (c *state.Channel, done func()) {
	rs.mu.RLock() // retiring the route waits for every question that found it
	defer rs.mu.RUnlock()
	r := rs.routes[state.Key{Tenant: tenant, Channel: channel}]
	if r == nil {
		return nil, func() {}
	}
	r.asking.Add(1)
	return r.Channel, r.asking.Done
}

// Names lists a tenant's channels, for an error that says what is allowed.
func (rs *Routes) Names(tenant string) []string {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	var names []string
	for k := range rs.routes {
		if k.Tenant == tenant {
			names = append(names, k.Channel)
		}
	}
	return names
}

// Rouse says that a channel may have something due of a priority.
func (rs *Routes) Rouse(k state.Key, p posthouse.Priority, pin work.Pin) {
	r := rs.route(k.Tenant, k.Channel)
	switch line := pin.Line(); {
	case line != "":
		rs.standing(work.LineKey{Tenant: k.Tenant, Channel: k.Channel, Name: line})
	case r == nil:
	case r.Settings.Pulled:
		rs.pulled(k)
	case r.Settings.Every == 0:
		r.rouse(pin, p)
	}
}

// Channel is an open channel, nil where there is none of this name.
func (rs *Routes) Channel(tenant, name string) *state.Channel {
	if r := rs.route(tenant, name); r != nil {
		return r.Channel
	}
	return nil
}

// Settings are a channel's, or cautious ones where it is not open.
func (rs *Routes) Settings(k state.Key) *state.Settings {
	if r := rs.route(k.Tenant, k.Channel); r != nil {
		return &r.Settings
	}
	return state.Cautious(rs.zone)
}

// Closed says why nothing may be sent on a channel now, and until when where that is known; empty where something may.
func (rs *Routes) Closed(tenant, channel string) (why string, until time.Time) {
	if r := rs.route(tenant, channel); r != nil {
		return r.admission.Closed(time.Now())
	}
	return "the channel " + channel + " is not open here", time.Time{}
}

// Rates are how fast the accounts of a channel may go, as this process sees it: of those that it has sent by.
func (rs *Routes) Rates(tenant, channel string) []posthouse.Rate {
	if r := rs.route(tenant, channel); r != nil {
		return r.admission.Rates(time.Now())
	}
	return nil
}

// Paced are the channels whose accounts have rates.
func (rs *Routes) Paced() (list []pacer.Channel) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for _, r := range rs.routes {
		if r.admission.Rated() {
			list = append(list, r.admission)
		}
	}
	return list
}

// Windows are the tiers that hold for all that a channel sends, and then those of its accounts: of all, where none is named. Open is
// false where the channel is not open in this process, or agents fetch what it has, who have limits of their own.
func (rs *Routes) Windows(tenant, channel string, accounts []string) (list []state.Counted, open bool) {
	r := rs.route(tenant, channel)
	if r == nil || r.Settings.Pulled {
		return nil, false
	}
	return r.admission.Windows(time.Now(), accounts), true
}

// Budgets are those of the channels that are open in this process, and of their accounts.
func (rs *Routes) Budgets(now time.Time) (list []upkeep.Budget) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for k, r := range rs.routes {
		for _, t := range r.admission.Budgets(now) {
			list = append(list, upkeep.Budget{Tenant: k.Tenant, Channel: k.Channel, Account: t.Account, Budget: t.Spends.Budget, Bound: t.Bound, To: t.Spends.To})
		}
	}
	return list
}

// Open are the names of a tenant's channels that are open in this process.
func (rs *Routes) Open(tenant string) (names []string) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for k := range rs.routes {
		if k.Tenant == tenant {
			names = append(names, k.Channel)
		}
	}
	return names
}

// Hours are the quiet hours of channels that have any, by channel. A channel's zone is that of who has none.
func (rs *Routes) Hours() map[state.Key]rescue.Hours {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	hours := map[state.Key]rescue.Hours{}
	for k, r := range rs.routes {
		if len(r.Settings.Quiet) > 0 {
			hours[k] = rescue.Hours{Own: r.Settings.Quiet, Zone: r.Settings.Location.String()}
		}
	}
	return hours
}

// worthMoving is how long an account cannot send before what waits for it moves: a short wait for a rate limit is no reason.
const worthMoving = 5 * time.Second

// Stranded are the lanes in which something may be due for an account that cannot send for a while, or is gone, of channels
// between whose accounts messages move.
func (rs *Routes) Stranded(now time.Time) (lanes []work.Lane) {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	for _, r := range rs.routes {
		if !r.admission.Moves() || r.Stored.PausedAt(now) {
			continue
		}
		for _, l := range r.admission.Stranded(now, worthMoving) {
			lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: l.Priority, Pin: l.Pin})
		}
	}
	return lanes
}

// Refuge is the account of a channel that is to have what is stranded, empty where none can send.
func (rs *Routes) Refuge(k state.Key, now time.Time) string {
	if r := rs.route(k.Tenant, k.Channel); r != nil {
		return r.admission.Refuge(now)
	}
	return ""
}

// Moved notes that an account was given so many deliveries of a priority.
func (rs *Routes) Moved(k state.Key, account string, p posthouse.Priority, n int) {
	if r := rs.route(k.Tenant, k.Channel); r != nil {
		r.admission.Moved(account, p, n)
	}
}

// Pulled reports whether agents fetch what goes by a channel, and whether the channel is open.
func (rs *Routes) Pulled(k state.Key) (pulled, open bool) {
	r := rs.route(k.Tenant, k.Channel)
	return r != nil && r.Settings.Pulled, r != nil
}
