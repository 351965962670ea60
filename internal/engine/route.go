package engine

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
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
	due      map[posthouse.Priority]bool // lanes that may hold something due
	credit   map[posthouse.Priority]int  // weighted shares not yet used
	gates    map[string]gate             // by account
	probing  bool
	nextRun  time.Time
	ran      tally         // of the run under way
	idle     chan struct{} // closed and replaced whenever inflight falls to 0

	asking sync.WaitGroup // questions to the driver about earlier attempts, which take no slot
}

// weights are the shares of the priorities while all of them have work.
var weights = map[posthouse.Priority]int{posthouse.High: 6, posthouse.Normal: 3, posthouse.Low: 1}

// SetChannel adds a channel, or replaces it as it now is. What is under way finishes with the
// old settings, but what has not begun is given back where it is paused. The error says which setting can not work.
func (e *Engine) SetChannel(ch posthouse.Channel, o state.Opened) error {
	opened, err := state.Open(ch, o, e.o.Rosters, e.o.Location)
	if err != nil {
		return err
	}
	r := &route{
		Channel: opened, wake: make(chan struct{}, 1), due: map[posthouse.Priority]bool{}, credit: map[posthouse.Priority]int{},
		gates: map[string]gate{}, idle: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for _, p := range posthouse.Priorities() {
		r.due[p] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.routes[r.Key]; old != nil {
		e.retire(old)
		old.mu.Lock()
		r.gates, r.probing = old.gates, old.probing
		old.gates = map[string]gate{}
		old.mu.Unlock()
	}
	e.routes[r.Key] = r
	e.desk.wakeAll() // what an agent may be handed can be another now
	if e.started && !e.o.AcceptOnly {
		e.begin(r)
	}
	return nil
}

// CheckChannel says which setting of a channel can not work, without changing anything.
func (e *Engine) CheckChannel(ch posthouse.Channel, o state.Opened) error {
	_, err := state.Open(ch, o, e.o.Rosters, e.o.Location)
	return err
}

// RemoveChannel ends a channel's dispatching.
func (e *Engine) RemoveChannel(tenant, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.routes[state.Key{Tenant: tenant, Channel: name}]; r != nil {
		e.retire(r)
		delete(e.routes, r.Key)
	}
}

// retire ends a route's dispatching, and closes its driver when what is under way has ended.
func (e *Engine) retire(r *route) {
	r.cancel()
	closer, ok := r.Opened.Driver.(io.Closer)
	if !ok || !e.started {
		return
	}
	e.loop(func(ctx context.Context) {
		r.settle(ctx)
		r.asking.Wait()
		if err := closer.Close(); err != nil {
			e.log.Warn("a channel's driver could not be closed", "channel", r.Key.Channel, "error", err)
		}
	})
}

// begin starts the role that serves the route.
func (e *Engine) begin(r *route) {
	if e.resting.Load() || r.Settings.Pulled {
		return // of what is pulled, agents ask for it
	}
	role := e.dispatch
	if r.Settings.Every > 0 {
		role = e.runPeriodically
	}
	e.claimers.Add(1)
	e.loop(func(context.Context) {
		defer e.claimers.Done()
		role(r)
	})
}

func (e *Engine) route(tenant, channel string) *route {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.routes[state.Key{Tenant: tenant, Channel: channel}]
}

// halted reports whether a channel was paused or removed since its route was replaced. What was claimed before that,
// or meanwhile, may not begin.
func (e *Engine) halted(r *route) bool {
	if r.ctx.Err() == nil {
		return false
	}
	now := e.route(r.Key.Tenant, r.Key.Channel)
	return now == nil || now.Stored.Paused
}

// askThrough returns a channel's route for a question to its driver, nil where it is not open. The driver stays open until
// done is called.
func (e *Engine) askThrough(tenant, channel string) (r *route, done func()) {
	e.mu.RLock() // whoever retires the route waits for every question that found it
	defer e.mu.RUnlock()
	r = e.routes[state.Key{Tenant: tenant, Channel: channel}]
	if r == nil {
		return nil, func() {}
	}
	r.asking.Add(1)
	return r, r.asking.Done
}

// names lists a tenant's channels, for an error that says what is allowed.
func (e *Engine) names(tenant string) []string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var names []string
	for k := range e.routes {
		if k.Tenant == tenant {
			names = append(names, k.Channel)
		}
	}
	return names
}

// mostTurned bounds the deliveries that one look moves from lane to lane: it comes again in some seconds.
const mostTurned = 10_000

// turnLane moves what waits in a lane where nobody looks to where somebody does: who accepted it did not know yet that its
// channel had turned from pushed to pulled, or back.
func (e *Engine) turnLane(ctx context.Context, d *work.Depth) {
	astray := func() *route {
		r := e.route(d.Tenant, d.Channel)
		if r == nil || d.Unreadable || d.State != posthouse.Pending || d.Pulled == r.Settings.Pulled || e.isStopping() {
			return nil
		}
		return r
	}
	r := astray()
	if r != nil && e.o.Refresh != nil {
		if err := e.o.Refresh(ctx); err != nil {
			return
		}
		r = astray() // it may be we who did not know yet
	}
	if r == nil {
		return
	}
	n, err := e.o.Store.Turn(ctx, time.Now(), d.Lane, min(d.Count, mostTurned))
	if err != nil {
		e.log.Warn("deliveries wait where nobody looks and can not be moved now", "tenant", d.Tenant, "channel", d.Channel, "error", err)
	}
	if n > 0 {
		e.log.Info("deliveries were moved to where their channel is served from now", "tenant", d.Tenant, "channel", d.Channel, "deliveries", n, "pulled", r.Settings.Pulled)
		e.rouse(r, d.Priority)
	}
}

// rouse says that a channel may have something due of a priority.
func (e *Engine) rouse(r *route, p posthouse.Priority) {
	switch {
	case r.Settings.Pulled:
		e.desk.wake(r.Key)
	case r.Settings.Every == 0:
		r.rouse(p)
	}
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

// free is how many more attempts may be under way; with care, and while a refused account is probed, one. Idle says
// that none is: it is as old as the number, since slots that come free later make no part of it.
func (r *route) free(care bool) (n int, idle bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = r.Settings.MaxInflight
	if r.probing || care {
		n = 1
	}
	return max(0, n-r.inflight), r.inflight == 0
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
func (r *route) occupy(n int) {
	r.mu.Lock()
	r.inflight += n
	r.mu.Unlock()
}

func (r *route) vacate(n int) {
	r.leave(n)
	r.nudge()
}

// leave is vacate where no slot comes free that the dispatcher does not know of.
func (r *route) leave(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inflight -= n
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
