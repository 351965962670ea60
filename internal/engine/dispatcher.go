package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// whenWoken is a wait that only a wake-up ends: the poller looks for what nobody announced.
const whenWoken = time.Hour

// longestHeld is how long a route that its limits hold goes without asking again: permits that others give back, and
// a limiter that has lost its memory, wake nobody.
const longestHeld = 10 * time.Second

// faultPause is the wait after the database did not answer.
const faultPause = time.Second

// dispatch serves one continuous channel: whenever something is due and may start, it claims just
// that and hands it to the sender.
func (e *Engine) dispatch(r *route) {
	for {
		wait := e.dispatchOnce(r)
		if wait > 0 && !e.await(r, wait) {
			return
		}
		if r.ctx.Err() != nil {
			return
		}
	}
}

// await waits for a wake-up or for d; it reports whether the route goes on.
func (e *Engine) await(r *route, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.wake:
	case <-timer.C:
	case <-r.ctx.Done():
		return false
	case <-e.stopping:
		return false
	}
	return true
}

// dispatchOnce starts what may start now, and returns how long to wait before the next look:
// 0 when there may be more.
func (e *Engine) dispatchOnce(r *route) time.Duration {
	if wait, closed := e.barred(r); closed {
		return wait
	}
	n, idle := e.room(r)
	shares := r.shares(n)
	if len(shares) == 0 {
		return whenWoken // no slot or nothing due: both wake us
	}
	wait, err := e.start(r, shares, idle, time.Time{}, nil)
	if err != nil {
		e.log.Warn("nothing starts for a moment", "tenant", r.Key.Tenant, "channel", r.Key.Channel, "error", err)
		return faultPause
	}
	return wait
}

// room is how many more attempts of a route may be under way, and whether none is; where it has to be found out
// whether the database takes results, one.
func (e *Engine) room(r *route) (n int, idle bool) { return r.free(e.recorder.unsure()) }

// barred reports whether nothing of the route may start at all, and until when.
func (e *Engine) barred(r *route) (time.Duration, bool) {
	if r.Stored.Paused || e.stale.Load() {
		return whenWoken, true
	}
	if e.recorder.stuck() {
		return e.o.Poll, true
	}
	if g, closed := r.closedUntil(""); closed {
		return time.Until(g.Until), true
	}
	return 0, false
}

// start asks the limiter for what the shares want, claims that and sends it; idle says that nothing was under way when
// their room was counted. It returns the wait before the next look. After an error, the limiter's or the database's,
// the lanes are still due.
func (e *Engine) start(r *route, shares []share, idle bool, before time.Time, claimed func([]work.Item)) (time.Duration, error) {
	want := 0
	for _, s := range shares {
		want += s.n
	}
	grant, err := e.permit(r, want)
	if err != nil {
		r.restore(shares)
		return 0, fmt.Errorf("ask the limiter: %w", err)
	}
	if grant.N == 0 {
		r.restore(shares)
		return min(max(grant.Wait, time.Millisecond), longestHeld), nil
	}
	used, crowded := 0, false
	for _, s := range shares {
		n := min(s.n, grant.N-used)
		if n == 0 {
			r.restore([]share{s})
			continue
		}
		cut := idle || r.mayCut(n)
		items, err := e.claim(r, s.priority, n, cut, before)
		if err != nil {
			r.restore(shares)
			e.refund(r, grant, grant.N-used)
			return 0, fmt.Errorf("claim deliveries: %w", err)
		}
		switch {
		case len(items) == n, r.whole() && len(items) > 0: // there may be more
			r.restore([]share{s})
		case !cut: // or there is a message that wants more slots than are free
			r.restore([]share{s})
			crowded = true
		}
		used += len(items)
		if claimed != nil {
			claimed(items)
		}
	}
	e.refund(r, grant, grant.N-used)
	if crowded && used == 0 {
		return e.o.Poll, nil // a slot that comes free wakes us
	}
	if r.anyDue() { // a lane that got no share this time, or is not empty yet
		return 0, nil
	}
	return whenWoken, nil
}

// claim takes due deliveries and starts to send them. A route that was replaced takes nothing more:
// the channel may be paused by now. While it is asked for, the claim itself is under way: what it finds is to be sent
// by a driver that is still open.
func (e *Engine) claim(r *route, p posthouse.Priority, n int, cut bool, before time.Time) ([]work.Item, error) {
	r.occupy(1)
	defer r.leave(1)
	if r.ctx.Err() != nil {
		return nil, nil
	}
	at := time.Now() // before the claim is sent: the lease can only end later than we think
	// Not the route's context: a claim that commits after its caller left would hold deliveries
	// that nobody sends until their leases end.
	items, err := e.o.Store.Claim(e.bg, at, work.Claim{
		Lane: work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: p},
		Max:  n, Owner: e.o.Owner, Lease: r.Settings.Timeout + e.o.LeaseMargin, DueBefore: before, Epoch: e.Epoch(),
		Whole: r.whole(), Cut: cut,
	})
	if err != nil || len(items) == 0 {
		return nil, err // without a commit nothing is ours: nothing may be sent
	}
	e.metrics.wrote("claim", at)
	end := at.Add(r.Settings.Timeout + e.o.LeaseMargin)
	sent := e.setApart(r, items, end)
	r.occupy(len(sent))
	e.send(r, sent, end)
	return items, nil
}

// whole reports whether the channel's driver takes many recipients in one call: then a message is
// claimed whole where that is possible.
func (r *route) whole() bool { return r.Settings.Batch > 1 }

// mayCut reports whether a claim of n may take a part of its first message: it is all that a call takes. Where less
// is free, the slots that are in use come free; none are on an idle route, which must not wait for them.
func (r *route) mayCut(n int) bool { return !r.whole() || n >= r.Settings.Batch }

// permit asks the limiter; a channel without limits may start all.
func (e *Engine) permit(r *route, want int) (limit.Grant, error) {
	if len(r.Settings.Limits) == 0 {
		return limit.Grant{N: want}, nil
	}
	grant, err := e.o.Limiter.Take(e.bg, r.bounds(), want)
	if err == nil && grant.N == 0 {
		e.metrics.limited.WithLabelValues(r.Key.Channel).Inc()
	}
	return grant, err
}

func (e *Engine) refund(r *route, grant limit.Grant, n int) {
	if n <= 0 {
		return
	}
	if err := e.o.Limiter.Refund(e.bg, grant, n); err != nil {
		e.log.Warn("unused permits could not be given back", "channel", r.Key.Channel, "permits", n, "error", err)
	}
}

// bounds are all that must let a claim of the route through at once.
func (r *route) bounds() []limit.Bound {
	return []limit.Bound{{Key: limitKey(r.Key), Windows: r.Settings.Limits}}
}

// limitKey names a channel's limits.
func limitKey(k state.Key) string { return k.Tenant + "/" + k.Channel }

// share is how much of the next claim goes to one priority.
type share struct {
	priority posthouse.Priority
	n        int
}

// shares splits n starts between the priorities that may hold something due, by weight, and takes
// their marks: a wake-up that comes later sets them again.
func (r *route) shares(n int) []share {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n == 0 {
		return nil // and no lane has had its turn
	}
	counts := map[posthouse.Priority]int{}
	switch only, several := r.onlyDue(); {
	case several && r.whole():
		// A part of the room could be too little for the call of any of them, where all of it is not.
		counts[r.next()] = n
	case several:
		for range n {
			counts[r.next()]++
		}
	case only != "":
		counts[only] = n // the same, without counting it out
	}
	var out []share
	for _, p := range posthouse.Priorities() {
		if counts[p] > 0 {
			out = append(out, share{p, counts[p]})
			r.due[p] = false
		}
	}
	return out
}

// onlyDue is the one lane that may hold something due, or whether there are several.
func (r *route) onlyDue() (only posthouse.Priority, several bool) {
	for p, due := range r.due {
		if due && only != "" {
			return "", true
		}
		if due {
			only = p
		}
	}
	return only, false
}

// next is smooth weighted round robin: every lane gains its weight, the richest pays the sum.
func (r *route) next() posthouse.Priority {
	var best posthouse.Priority
	sum := 0
	for _, p := range posthouse.Priorities() {
		if !r.due[p] {
			continue
		}
		r.credit[p] += weights[p]
		sum += weights[p]
		if best == "" || r.credit[p] > r.credit[best] {
			best = p
		}
	}
	if best != "" {
		r.credit[best] -= sum
	}
	return best
}

// restore marks lanes again that could not be emptied.
func (r *route) restore(shares []share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range shares {
		r.due[s.priority] = true
	}
}

// poll looks for what nobody in this process announced: retries that came due, work that another
// process accepted. One query serves all channels.
func (e *Engine) poll(ctx context.Context) {
	for tick := 0; e.pause(spread(e.o.Poll)); tick++ {
		lanes, routes := e.quiet()
		ready, err := e.o.Store.Ready(ctx, time.Now(), lanes)
		if err != nil {
			if ctx.Err() == nil { // else it was stopped in the middle of the look
				e.log.Warn("the database can not be asked for due work", "error", err)
			}
			continue
		}
		for i, due := range ready {
			if due {
				routes[i].rouse(lanes[i].Priority)
			}
		}
		if tick%4 == 0 {
			if err := e.shareGates(ctx); err != nil {
				e.log.Warn("parked accounts can not be read", "error", err)
			}
		}
	}
}

// quiet lists the lanes of continuous channels that nobody has marked as due.
func (e *Engine) quiet() (lanes []work.Lane, routes []*route) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, r := range e.routes {
		if r.Settings.Every > 0 || r.Settings.Pulled || r.Stored.Paused {
			continue
		}
		r.mu.Lock()
		for _, p := range posthouse.Priorities() {
			if !r.due[p] {
				lanes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: p})
				routes = append(routes, r)
			}
		}
		r.mu.Unlock()
	}
	return lanes, routes
}
