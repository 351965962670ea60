package admission

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Options are what a channel's admission depends on beside its settings. The zero value bounds nothing, and wakes nobody.
type Options struct {
	// TenantLimits are the windows of all that its tenant sends. Defaults to none.
	TenantLimits []posthouse.Limit
	// Senders are those of the process, Shaper has the tokens of its priorities. Default to none, which bound nothing.
	Senders *Pool
	Shaper  *Shaper
	// Stale reports whether nothing may begin in this process any more; Stuck whether results cannot be written, so that nothing may for
	// now, and Unsure whether one attempt has to find out. Default to no. A channel that found results stuck looks again after Again,
	// which defaults to 250ms.
	Stale, Stuck, Unsure func() bool
	Again                time.Duration
	// Ends are those of an account's calls in the last hour, and the best rate it has had, in all processes. Defaults to nothing known.
	Ends func(account string) (hour rate.Ends, best float64)
	// Wake is called when more may begin than could before: it must not wait. Defaults to nothing.
	Wake func()
	// Shaped is called when a lane begins to wait for tokens. Defaults to nothing.
	Shaped func(posthouse.Priority)
}

func (o *Options) defaults() {
	no := func() bool { return false }
	for _, f := range []*func() bool{&o.Stale, &o.Stuck, &o.Unsure} {
		if *f == nil {
			*f = no
		}
	}
	if o.Ends == nil {
		o.Ends = func(string) (rate.Ends, float64) { return rate.Ends{}, 0 }
	}
	o.Again = cmp.Or(o.Again, 250*time.Millisecond)
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Shaped == nil {
		o.Shaped = func(posthouse.Priority) {}
	}
}

// Account is one of those that a channel sends by. Most channels have one, without a name.
type Account struct {
	Name   string
	Pools  []string
	Weight int     // its share, 0 for 1
	had    float64 // how much it was given, by its weight
	full   bool    // a choice has found no free slot of it

	place    int            // among those of its channel
	is       *state.Account // nil for the one without a name
	limits   []posthouse.Limit
	budget   *posthouse.Budget       // nil for none
	rate     *posthouse.RateSettings // nil for none
	underWay int                     // attempts that have begun and whose results are not stored
}

// Channel is the admission of one channel.
type Channel struct {
	*state.Channel

	of       Options
	only     *Account            // the one without a name; where there are several, those that are gone
	accounts map[string]*Account // those with a name, nil where the channel has none of its own; never changed
	rated    bool                // some account has a rate
	budgeted bool                // it has a budget, or some account has
	moves    bool                // what is pinned to an account goes by another one when its budget is spent

	mu      sync.Mutex
	stages  [scopes][]Stage
	keeping [scopes][]Stage // those that keep account of what is taken
	list    []Stage         // all of them, in their order
	lanes   scheduler
	gates   map[string]gate // by account
	rates   *rates
	limits  *windows
	budgets *budgets
	period  *period
	sharing map[Lane]*sharing // of lanes whose messages share calls, or were found not to

	held     int           // deliveries that are reserved or under way
	underWay int           // deliveries that have begun and whose results are not stored
	open     int           // reservations that are not closed
	idle     chan struct{} // closed and replaced whenever nothing is under way or reserved any more
}

// New is the admission of a channel of which nothing is under way. Any of its lanes may hold something due.
func New(ch *state.Channel, o Options) *Channel {
	o.defaults()
	c := &Channel{Channel: ch, of: o, gates: map[string]gate{}, sharing: map[Lane]*sharing{}, idle: make(chan struct{})}
	c.only = &Account{limits: ch.Settings.Tiers.Account, rate: ch.Settings.Rate}
	c.rated, c.budgeted = ch.Settings.Rate != nil, ch.Stored.Budget != nil
	if ch.Stored.Accounts {
		c.man()
	} else {
		c.lanes = newSingle(c.only, c.Whole())
	}
	for _, s := range stages(c) {
		c.add(s)
	}
	for _, p := range posthouse.Priorities() {
		c.lanes.mark(Lane{Priority: p})
	}
	return c
}

// man gives a channel its accounts.
func (c *Channel) man() {
	c.accounts = make(map[string]*Account, len(c.Opened.Accounts))
	list, split := make([]*Account, len(c.Opened.Accounts)), false
	for i, is := range c.Opened.Accounts {
		a := &Account{Name: is.Name, Pools: is.Pools, Weight: is.Weight, place: i + 1, is: is, limits: c.Settings.LimitsOf(is), rate: rateOf(c.Settings.Rate, is)}
		if a.budget = cmp.Or(is.Budget, c.Stored.AccountBudget); a.budget != nil {
			c.budgeted = true
			split = split || a.budget.Reserved() > 0
			c.moves = c.moves || a.budget.WhenSpent == posthouse.SpentNextAccount
		}
		c.rated = c.rated || a.rate != nil
		c.accounts[a.Name], list[i] = a, a
	}
	f := newFleet(list)
	f.split = split
	c.lanes = f
}

// rateOf is the rate of an account: its own base goes before its channel's.
func rateOf(of *posthouse.RateSettings, a *state.Account) *posthouse.RateSettings {
	if a.BaseRate == 0 {
		return of
	}
	own := posthouse.RateSettings{Base: a.BaseRate}
	if of != nil {
		own.Hours = of.Hours
	}
	return &own
}

// add puts a stage behind those that there are.
func (c *Channel) add(s Stage) {
	c.list = append(c.list, s)
	c.stages[s.scope()] = append(c.stages[s.scope()], s)
	if _, nothing := s.(interface{ keepsNothing() }); !nothing {
		c.keeping[s.scope()] = append(c.keeping[s.scope()], s)
	}
	switch s := s.(type) {
	case *rates:
		c.rates = s
	case *windows:
		c.limits = s
	case *budgets:
		c.budgets = s
	case *period:
		c.period = s
	}
}

// places is how many accounts there are, with the one without a name.
func (c *Channel) places() int { return 1 + len(c.accounts) }

// account is the one of a name. An attempt by one that was taken away is counted with any other.
func (c *Channel) account(name string) *Account {
	if a := c.accounts[name]; a != nil {
		return a
	}
	return c.only
}

// crew are the accounts that may send what has a pin. The channel is locked.
func (c *Channel) crew(of work.Pin) []*Account {
	if f, several := c.lanes.(*fleet); several {
		return f.Of(of)
	}
	return []*Account{c.only}
}

// Mark says that a lane may hold something due.
func (c *Channel) Mark(l Lane) {
	c.mu.Lock()
	c.lanes.mark(l)
	c.mu.Unlock()
	c.of.Wake()
}

// MarkAll says that any lane of what is pinned to nothing may, and wakes nobody.
func (c *Channel) MarkAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range posthouse.Priorities() {
		c.lanes.mark(Lane{Priority: p})
	}
}

// Marked reports whether a lane is marked.
func (c *Channel) Marked(l Lane) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lanes.marked(l)
}

// Any reports whether some lane is marked.
func (c *Channel) Any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lanes.any()
}

// Of is the channel.
func (c *Channel) Of() *state.Channel { return c.Channel }

// Several reports whether the channel has accounts of its own.
func (c *Channel) Several() bool { return c.accounts != nil }

// RunsAt says when the next run of a channel that sends in runs begins.
func (c *Channel) RunsAt(next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.period.next = next
}

// UnderWay is how many deliveries have begun whose results are not stored.
func (c *Channel) UnderWay() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.underWay
}

// Busy reports whether something is under way or reserved; idle is closed when that may have ended.
func (c *Channel) Busy() (busy bool, idle <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.underWay > 0 || c.open > 0, c.idle
}

// rest says so where nothing is under way or reserved any more. The channel is locked.
func (c *Channel) rest() {
	if c.underWay == 0 && c.open == 0 {
		close(c.idle)
		c.idle = make(chan struct{})
	}
}

// opens is when an account may send, as far as that is known. The channel is locked.
func (c *Channel) opens(a *Account, now time.Time) (at time.Time) {
	for _, s := range c.stages[ofAccount] {
		if s, shuts := s.(shutter); shuts {
			if until := s.shut(now, a); until.After(at) {
				at = until
			}
		}
	}
	return at
}

// Closed says why nothing may be sent now, and until when where that is known; empty where something may.
func (c *Channel) Closed(now time.Time) (why string, until time.Time) {
	name := c.Key.Channel
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.stages[ofChannel] {
		if s, closes := s.(closer); closes {
			if why, until = s.closed(now); why != "" {
				return why, until
			}
		}
	}
	var first *Account
	crew := c.crew("")
	for _, a := range crew {
		at := c.opens(a, now)
		if !now.Before(at) {
			return "", time.Time{}
		}
		if first == nil || at.Before(until) {
			first, until = a, at
		}
	}
	if first == nil {
		return "the channel " + name + " has no account", time.Time{}
	}
	why = c.shutBy(first, now)
	if len(crew) > 1 {
		why = fmt.Sprintf("none of %d accounts may send; the first that may again is %s, and %s", len(crew), first.Name, why)
	}
	if until.Equal(never) {
		until = time.Time{}
	}
	return why, until
}

// shutBy says why an account may not send. The channel is locked.
func (c *Channel) shutBy(a *Account, now time.Time) string {
	name := "the account"
	if a.Name != "" {
		name += " " + a.Name
	}
	for _, s := range c.stages[ofAccount] {
		if s, shuts := s.(shutter); shuts && now.Before(s.shut(now, a)) {
			return s.shutBy(a, name)
		}
	}
	return ""
}

// Why lists what holds a delivery, in the order of the stages.
func (c *Channel) Why(now time.Time, q *Question) (out []Wait) {
	for _, s := range c.list {
		out = append(out, s.Why(now, q)...)
	}
	return out
}

// Shut is Why of the stages that shut a channel or its accounts alone: agents who fetch what it has have limits of their own.
func (c *Channel) Shut(now time.Time, q *Question) (out []Wait) {
	for _, s := range c.list {
		_, closes := s.(closer)
		_, shuts := s.(shutter)
		if _, asks := s.(*windows); !asks && (closes || shuts) {
			out = append(out, s.Why(now, q)...)
		}
	}
	return out
}

// allHeld reports whether a stage holds all accounts that may send a delivery. The channel is locked.
func (c *Channel) allHeld(now time.Time, s Stage, q *Question) bool {
	crew := c.crew(q.lane().Pin)
	return len(crew) > 0 && !slices.ContainsFunc(crew, func(a *Account) bool {
		free, _ := s.Free(now, Of{a, q.lane()})
		return !free.none()
	})
}

// Spares reports whether there is another account than one that may send now, of a pool where one is named.
func (c *Channel) Spares(now time.Time, account, pool string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.accounts {
		if a.Name != account && (pool == "" || slices.Contains(a.Pools, pool)) && !now.Before(c.opens(a, now)) && !c.probes(a) {
			return true
		}
	}
	return false
}

// Moves reports whether what is pinned to an account may go by another one.
func (c *Channel) Moves() bool { return c.Settings.Failover || c.moves }

// Stranded are the lanes in which something may be due for an account that cannot send for so long, or is gone; without failover, for one
// whose budget is spent and has what is pinned to it move.
func (c *Channel) Stranded(now time.Time, least time.Duration) (list []Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, several := c.lanes.(*fleet)
	if !several {
		return nil
	}
	f.Asleep(func(l Lane) {
		a := c.accounts[l.Pin.Account()]
		switch {
		case a != nil && c.budgets.moved(now, a):
			list = append(list, l)
		case c.moves && !c.Settings.Failover:
		case a == nil || c.opens(a, now).Sub(now) >= least:
			list = append(list, l)
		}
	})
	return list
}

// Refuge is the account that has had the least of its share among those that can send, empty where none can.
func (c *Channel) Refuge(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best *Account
	for _, a := range c.accounts {
		if now.Before(c.opens(a, now)) || c.probes(a) {
			continue
		}
		if best == nil || a.had < best.had || a.had == best.had && a.Name < best.Name {
			best = a
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

// Moved says that an account was given so many deliveries of a priority that another should have sent.
func (c *Channel) Moved(account string, p posthouse.Priority, n int) {
	c.mu.Lock()
	c.lanes.took(c.account(account), n)
	c.mu.Unlock()
	c.Mark(Lane{work.ByAccount(account), p})
}
