package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/pacer"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// tempo sees to the rates of a route's accounts.
type tempo struct{ of *route }

// pace is an account's, made when it has something to send first. Nil where the channel has none. The route is locked.
func (t tempo) pace(a *account, now time.Time) *rate.Pace {
	r, s := t.of, a.rate
	if s == nil {
		return nil
	}
	if a.pace == nil {
		hour, best := r.ends(a.Name)
		a.pace = rate.NewPace(now, rate.Settings{Base: s.Base}, best)
		a.pace.Surround(rate.Surroundings{Hour: hour, Room: r.Settings.MaxInflight, Time: r.timeFactor})
		t.heard(a.Name, r.gates[a.Name].Gate, now)
	}
	a.pace.Flights(a.inflight)
	return a.pace
}

// heard tells an account's pace of a punishment that its gate remembers. The route is locked.
func (t tempo) heard(account string, g work.Gate, now time.Time) {
	if g.Learned <= 0 {
		return
	}
	if p := t.of.account(account).pace; p != nil {
		p.Heard(now, g.Until, g.Learned)
	}
}

// learned is what an account bears that was punished, in calls a second of this process; 0 where it was not, or has no
// rate. The route is locked.
func (t tempo) learned(account string, res channel.Result, now time.Time) float64 {
	if res.Class != posthouse.ClassRate || !rate.Punishes(res.After) {
		return 0
	}
	if p := t.of.account(account).pace; p != nil {
		return p.Punished(now)
	}
	return 0
}

// mayCall is how many calls an account may begin now by its rate, and where none, when to look again. The route is locked.
func (t tempo) mayCall(a *account, now time.Time) (calls int, next time.Time) {
	p := t.pace(a, now)
	if p == nil {
		return maxCalls, now
	}
	calls, next = p.Free(now)
	if calls == 0 && (t.of.fleet != nil || slices.ContainsFunc(posthouse.Priorities(), t.of.isDue)) {
		p.Short()
	}
	return calls, next
}

// maxCalls is more than any claim takes.
const maxCalls = 1 << 20

// spend counts calls that an account begins.
func (t tempo) spend(account string, calls int) {
	r := t.of
	if !r.rated || calls == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := t.pace(r.account(account), time.Now()); p != nil {
		p.Spend(calls)
	}
}

// saw notes what a provider said to a call.
func (t tempo) saw(account string, results []channel.Result, took time.Duration) {
	r := t.of
	if !r.rated || len(results) == 0 || results[0].AtOnce != "" { // how many at once says nothing of how many a second
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := t.pace(r.account(account), time.Now()); p != nil {
		p.Saw(time.Now(), results[0].Class, took, results[0].After)
	}
}

// Of is the channel.
func (t tempo) Of() *state.Channel { return t.of.Channel }

// TimeFactor is that of the time of day, as it was set last.
func (t tempo) TimeFactor() float64 {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.of.timeFactor
}

// Surround takes over what all processes have seen, and what time it is.
func (t tempo) Surround(factor float64) {
	r := t.of
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeFactor = factor
	for _, a := range r.crew("") {
		if a.pace != nil {
			hour, _ := r.ends(a.Name)
			a.pace.Surround(rate.Surroundings{Hour: hour, Room: r.Settings.MaxInflight, Time: factor})
		}
	}
}

// Rates are those of the accounts that have sent, in the order of the accounts.
func (t tempo) Rates(now time.Time) []posthouse.Rate {
	return t.rates(now, func(*rate.Pace) bool { return true })
}

// Stirred are the rates of the accounts that have called, or heard of a punishment, since they were asked for last.
func (t tempo) Stirred(now time.Time) []posthouse.Rate { return t.rates(now, (*rate.Pace).Stirred) }

func (t tempo) rates(now time.Time, wanted func(*rate.Pace) bool) []posthouse.Rate {
	r := t.of
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []posthouse.Rate
	for _, a := range r.crew("") {
		if a.pace != nil && wanted(a.pace) {
			a.pace.Flights(a.inflight)
			f := a.pace.Factors(now)
			f.Account = a.Name
			list = append(list, f)
		}
	}
	return list
}

// Rates are how fast the accounts of a channel may go, as this process sees it: of those that it has sent by.
func (rs *Routes) Rates(tenant, channel string) []posthouse.Rate {
	r := rs.route(tenant, channel)
	if r == nil {
		return nil
	}
	return tempo{r}.Rates(time.Now())
}

// Paced are the channels whose accounts have rates.
func (rs *Routes) Paced() []pacer.Channel {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	var list []pacer.Channel
	for _, r := range rs.routes {
		if r.rated {
			list = append(list, tempo{r})
		}
	}
	return list
}

// bound is the window of a configured base.
func (t tempo) bound(a *account) (limit.Bound, bool) {
	windows := rate.Windows(a.rate)
	return limit.Bound{Key: t.of.accountKey(a) + ":rate", Windows: windows, Lease: a.Name != ""}, len(windows) > 0
}

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
