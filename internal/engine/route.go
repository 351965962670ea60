package engine

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/fleet"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rate"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/internal/shape"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// route is a channel as the engine runs it, with its gate and what is under way.
type route struct {
	*state.Channel

	ctx    context.Context // ends when the route is replaced or removed
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1: something is due, or a slot came free

	mu       sync.Mutex
	inflight int                         // attempts, and 1 while a claim is made
	promised promise                     // to the claims of this round
	due      map[posthouse.Priority]bool // lanes that may hold something due
	credits  state.Credits               // weighted shares not yet used
	only     *account                    // the one without a name; where there are several, those that are gone
	fleet    *fleet.Fleet                // where there are several accounts
	accounts map[string]*account         // those of the fleet, by name; never changed
	pinsFrom time.Time                   // when the poller may look again for what is pinned to them; its own
	gates    map[string]gate             // by account
	nextRun  time.Time
	ran      sum           // of the run under way
	idle     chan struct{} // closed and replaced whenever inflight falls to 0

	shapes       shapes
	calls        calls         // of all accounts together
	pool         *senders.Pool // nil where their number has no bound
	tenantLimits []posthouse.Limit
	rated        bool    // some account of it has a rate
	timeFactor   float64 // of the accounts' rates
	ends         func(account string) (hour rate.Ends, best float64)
	took         prometheus.ObserverVec // of its calls, by content type
	asking       sync.WaitGroup         // questions to the driver about earlier attempts, which take no slot
}

func newRoute(c *state.Channel, s *shape.Shaper, m *metrics.Metrics) *route {
	r := &route{
		shapes:  shapes{shaper: s, tenant: c.Key.Tenant, channel: c.Key.Channel, waits: m.Shaped, shut: map[posthouse.Priority]time.Time{}},
		Channel: c, wake: make(chan struct{}, 1), due: map[posthouse.Priority]bool{}, credits: state.Credits{}, timeFactor: 1,
		gates: map[string]gate{}, idle: make(chan struct{}), took: m.Duration.MustCurryWith(prometheus.Labels{"channel": c.Key.Channel}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
	r.only = &account{limits: c.Settings.Tiers.Account, rate: c.Settings.Rate}
	r.rated = c.Settings.Rate != nil
	if c.Stored.Accounts {
		man(r)
	}
	return r
}

// man gives a route its accounts.
func man(r *route) {
	r.accounts = make(map[string]*account, len(r.Opened.Accounts))
	seats := make([]*fleet.Seat, len(r.Opened.Accounts))
	for i, of := range r.Opened.Accounts {
		a := &account{Seat: fleet.Seat{Name: of.Name, Pools: of.Pools, Weight: of.Weight}, is: of, limits: of.Limits, rate: rateOf(r.Settings.Rate, of)}
		if of.Limits == nil {
			a.limits = r.Settings.Tiers.Account
		}
		r.rated = r.rated || a.rate != nil
		r.accounts[a.Name], seats[i] = a, &a.Seat
	}
	r.fleet = fleet.New(seats)
	for _, p := range posthouse.Priorities() {
		r.fleet.Rouse("", p)
	}
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

// whenWoken is a wait that only a wake-up ends: the poller looks for what nobody announced.
const whenWoken = time.Hour

// share is how much of the next claim goes to one priority.
type share struct {
	pin      work.Pin
	priority posthouse.Priority
	n        int
}

// promise is what claims that are being made may yet begin by an account or a route: deliveries, and the calls that these take.
type promise struct{ n, calls int }

func (p *promise) add(other promise) { p.n, p.calls = p.n+other.n, p.calls+other.calls }

// sum is what one run did.
type sum struct {
	claimed, ok, failed int
	// began is the database's time of the run's first claim: a delivery that fails in this run
	// comes due after it and so waits for the next one.
	began time.Time
}

// rouse says that a lane may hold something due.
func (r *route) rouse(pin work.Pin, p posthouse.Priority) {
	r.mu.Lock()
	if r.fleet != nil {
		r.fleet.Rouse(pin, p)
	} else {
		r.due[p] = true
	}
	r.mu.Unlock()
	r.nudge()
}

// isDue reports whether a lane may hold something due. The route is locked.
func (r *route) isDue(p posthouse.Priority) bool { return r.due[p] }

// onlyOf is the one priority that is open, or whether there are several.
func onlyOf(open func(posthouse.Priority) bool) (only posthouse.Priority, several bool) {
	for _, p := range posthouse.Priorities() {
		switch {
		case !open(p):
		case only != "":
			return "", true
		default:
			only = p
		}
	}
	return only, false
}

// anyDue reports whether any lane may.
func (r *route) anyDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fleet != nil {
		return true // bid knows, and when what is asleep wakes
	}
	for _, due := range r.due {
		if due {
			return true
		}
	}
	return false
}

func (r *route) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// crowded reports whether so many attempts are under way that more of them will end in a moment.
func (r *route) crowded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inflight >= crowd
}

const crowd = 16

// occupy and vacate count attempts from the claim until their results are recorded: that is
// what a crash can leave unknown.
func (r *route) occupy(account string, n int) {
	r.mu.Lock()
	r.inflight += n
	r.account(account).inflight += n
	r.mu.Unlock()
}

func (r *route) vacate(account string, n int) {
	r.leave(account, n)
	r.nudge()
}

// leave frees the slots without waking the dispatcher, which knows of them.
func (r *route) leave(account string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inflight -= n
	a := r.account(account)
	a.inflight -= n
	if r.fleet != nil {
		r.fleet.Freed(&a.Seat)
	}
	if r.inflight == 0 {
		close(r.idle)
		r.idle = make(chan struct{})
	}
}

// callBegan and callEnded count the calls of an account that are under way.
func (r *route) callBegan(account string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range []*calls{&r.calls, &r.account(account).calls} {
		c.n++
		c.most.Began(c.n)
	}
}

// callEnded also learns from the results of a call how many may be under way at once. A call that was not made has none.
func (r *route) callEnded(account string, results []channel.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := []*calls{&r.calls, &r.account(account).calls}
	for _, c := range of {
		c.n--
	}
	if len(results) == 0 {
		return
	}
	switch scope := results[0].AtOnce; {
	case scope == channel.OfChannel:
		of[0].most.Refused(time.Now(), of[0].n)
	case scope == channel.OfAccount:
		of[1].most.Refused(time.Now(), of[1].n)
	case results[0].Class == posthouse.ClassOK:
		for _, c := range of {
			c.most.Accepted()
		}
	}
}

// settle waits until nothing of the route is under way.
func (r *route) settle(ctx context.Context) {
	for {
		r.mu.Lock()
		n, idle := r.inflight, r.idle
		r.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}
