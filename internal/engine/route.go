package engine

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/state"
)

// route is a channel as the engine runs it, with its gate and what is under way.
type route struct {
	*state.Channel

	ctx    context.Context // ends when the route is replaced or removed
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1: something is due, or a slot came free

	mu       sync.Mutex
	inflight int                         // attempts, and 1 while a claim is made
	due      map[posthouse.Priority]bool // lanes that may hold something due
	credits  state.Credits               // weighted shares not yet used
	accounts []*account
	turn     int             // whose it is among the accounts
	gates    map[string]gate // by account
	nextRun  time.Time
	ran      tally         // of the run under way
	idle     chan struct{} // closed and replaced whenever inflight falls to 0

	tenantLimits []posthouse.Limit
	timeFactor   float64 // of the accounts' rates
	ends         func(account string) (hour ends, best float64)
	took         prometheus.ObserverVec // of its calls, by content type
	asking       sync.WaitGroup         // questions to the driver about earlier attempts, which take no slot
}

func newRoute(c *state.Channel, m *metrics.Metrics) *route {
	r := &route{
		Channel: c, wake: make(chan struct{}, 1), due: map[posthouse.Priority]bool{}, credits: state.Credits{}, timeFactor: 1,
		gates: map[string]gate{}, idle: make(chan struct{}), took: m.Duration.MustCurryWith(prometheus.Labels{"channel": c.Key.Channel}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
	for _, a := range c.Opened.Accounts {
		r.accounts = append(r.accounts, &account{name: a.Name, limits: a.Limits})
	}
	if len(r.accounts) == 0 {
		r.accounts = []*account{{}}
	}
	for _, a := range r.accounts {
		if a.limits == nil {
			a.limits = c.Settings.Tiers.Account
		}
	}
	return r
}

// rouse says that a lane may hold something due.
func (r *route) rouse(p posthouse.Priority) {
	r.mu.Lock()
	r.due[p] = true
	r.mu.Unlock()
	r.nudge()
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

// leave is vacate where no slot comes free that the dispatcher does not know of.
func (r *route) leave(account string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inflight -= n
	r.account(account).inflight -= n
	if r.inflight == 0 {
		close(r.idle)
		r.idle = make(chan struct{})
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
