package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
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
	if !r.rated || len(results) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := t.pace(r.account(account), time.Now()); p != nil {
		p.Saw(results[0].Class, took, results[0].After)
	}
}

// surround takes over what all processes have seen, and what time it is.
func (t tempo) surround(factor float64) {
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

// rates are those of the accounts that have sent, in the order of the accounts.
func (t tempo) rates(now time.Time) []posthouse.Rate {
	r := t.of
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []posthouse.Rate
	for _, a := range r.crew("") {
		if a.pace != nil {
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
	return tempo{r}.rates(time.Now())
}

// paced are the routes whose accounts have rates.
func (rs *Routes) paced() []*route {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	var list []*route
	for _, r := range rs.routes {
		if r.rated {
			list = append(list, r)
		}
	}
	return list
}

// pacer keeps the rates' surroundings up to date, and shows them.
type pacer struct {
	rollup  *rollup.Rollup
	routes  *Routes
	rosters rule.Rosters
	life    *life.Life
	log     *slog.Logger
	metrics *metrics.Metrics
}

// follow looks at the counts of all processes and at the clock until the engine stops.
func (p *pacer) follow(ctx context.Context) {
	for more := true; more; more = p.life.Pause(life.Spread(readEvery)) {
		p.succeeded(p.rollup.Read(ctx))
		for k, n := range p.routes.shaper.Tokens(time.Now()) {
			p.metrics.Tokens.WithLabelValues(k.Tenant, string(k.Priority)).Set(n)
		}
		p.metrics.Rate.Reset()
		for _, r := range p.routes.paced() {
			tempo{r}.surround(p.factor(ctx, r))
			for _, f := range (tempo{r}).rates(time.Now()) {
				p.show(r, &f)
			}
		}
	}
}

// readEvery is how often the counts of all processes are read.
const readEvery = 10 * time.Second

// succeeded shows the success rates of the channels that are open.
func (p *pacer) succeeded(ends map[rollup.AccountKey]rate.Ends) {
	if ends == nil {
		return // the last known ones stay
	}
	p.metrics.Success.Reset()
	for of, n := range ends {
		if n.Good+n.Bad > 0 && p.routes.route(of.Tenant, of.Channel) != nil {
			p.metrics.Success.WithLabelValues(of.Tenant, of.Channel, of.Account).Set(float64(n.Good) / float64(n.Good+n.Bad))
		}
	}
}

// show sets the metrics of a rate.
func (p *pacer) show(r *route, f *posthouse.Rate) {
	for name, v := range map[string]float64{"rate": f.Rate, "base": f.Base, "health": f.Health, "success": f.Success, "load": f.Load, "time": f.Time} {
		p.metrics.Rate.WithLabelValues(r.Key.Tenant, r.Key.Channel, f.Account, name).Set(v)
	}
}

// factor is that of the time of day. Where the calendar cannot be read, it stays as it was.
func (p *pacer) factor(ctx context.Context, r *route) float64 {
	s := r.Settings.Rate
	if s == nil || s.Hours == nil {
		return 1
	}
	h, now := s.Hours, p.life.Now().In(r.Settings.Location)
	off := now.Weekday() == time.Saturday || now.Weekday() == time.Sunday
	if h.Calendar != "" {
		roster, found, err := p.rosters.Roster(ctx, r.Key.Tenant, h.Calendar)
		if err != nil || !found {
			p.log.Warn("the calendar of working hours cannot be read", "channel", r.Key.Channel, "calendar", h.Calendar, "error", err)
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.timeFactor
		}
		off = rate.DayOff(&roster, now)
	}
	return rate.Hour(h, now, off)
}

// bound is the window of a configured base.
func (t tempo) bound(a *account) (limit.Bound, bool) {
	windows := rate.Windows(a.rate)
	return limit.Bound{Key: t.of.accountKey(a) + ":rate", Windows: windows, Lease: a.Name != ""}, len(windows) > 0
}
