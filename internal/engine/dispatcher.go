package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
)

// dispatcher starts what may start: it asks the limiter, claims just that, and hands it to the sender.
type dispatcher struct {
	kinds    []kind
	sender   *sender
	recorder *recorder
	limiter  Limiter
	permits  *permits
	life     *life.Life
	log      *slog.Logger
	metrics  *metrics.Metrics
	poll     time.Duration
	margin   time.Duration // what a lease lasts beyond its send's time-out
}

// longestHeld is how long a route that its limits hold goes without asking again: permits that others give back, and
// a limiter that has lost its memory, wake nobody.
const longestHeld = 10 * time.Second

// faultPause is the wait after the database did not answer.
const faultPause = time.Second

// dispatch serves one continuous channel: whenever something is due and may start, it claims just
// that and hands it to the sender.
func (d *dispatcher) dispatch(r *route) {
	for {
		wait := d.dispatchOnce(r)
		if wait > 0 && !d.await(r, wait) {
			return
		}
		if r.ctx.Err() != nil {
			return
		}
	}
}

// await waits for a wake-up or for the time; it reports whether the route goes on.
func (d *dispatcher) await(r *route, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.wake:
	case <-timer.C:
	case <-r.ctx.Done():
		return false
	case <-d.life.Stopping():
		return false
	}
	return true
}

// dispatchOnce starts what may start now, and returns how long to wait before the next look:
// 0 when there may be more.
func (d *dispatcher) dispatchOnce(r *route) time.Duration {
	if wait, closed := d.barred(r); closed {
		return wait
	}
	wait, err := d.look(r)
	if err != nil {
		d.log.Warn("nothing starts for a moment", "tenant", r.Key.Tenant, "channel", r.Key.Channel, "error", err)
		return faultPause
	}
	return wait
}

// look starts what may start of a route that is not barred.
func (d *dispatcher) look(r *route) (time.Duration, error) {
	if r.fleet != nil {
		return d.round(r)
	}
	at := d.room(r)
	shares, wait := sharesOf(r, at) // no slot or nothing due: both wake us
	if len(shares) == 0 {
		return wait, nil
	}
	began, taken := time.Now(), 0
	wait, err := d.start(r, []room{at}, shares, time.Time{}, func(c claimed) { taken += c.n })
	if err == nil && wait == 0 && taken >= streamFrom && taken < at.n {
		d.rest(r, streamPause-time.Since(began))
	}
	return wait, err
}

// A claim that found streamFrom or more, but less than there was room for, has met a stream of messages. The next then begins no
// earlier than streamPause after it: a claim of few costs the database nearly as much as one of many.
const (
	streamFrom  = 16
	streamPause = 3 * time.Millisecond
)

// rest waits, whatever comes meanwhile.
func (d *dispatcher) rest(r *route, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	case <-d.life.Stopping():
	}
}

// sharesOf are the shares of a room. Where there are none, its senders are free again.
func sharesOf(r *route, at room) ([]share, time.Duration) {
	list, wait := r.shares(at.n)
	if len(list) == 0 {
		r.pool.Began(at.senders, 0, 0)
	}
	return list, wait
}

// room is how many more attempts of a route may be under way; where it has to be found out whether the database takes
// results, one.
func (d *dispatcher) room(r *route) room { return r.room(d.recorder.unsure()) }

// barred reports whether nothing of the route may start at all, and until when.
func (d *dispatcher) barred(r *route) (time.Duration, bool) {
	now := time.Now()
	switch paused := r.Stored.PausedAt(now); {
	case d.life.Stale() || paused && r.Stored.PausedUntil.IsZero():
		return whenWoken, true
	case paused:
		return r.Stored.PausedUntil.Sub(now), true
	}
	if d.recorder.Stuck() {
		return d.poll, true
	}
	if until, all := r.closed(); all {
		return time.Until(until), true
	}
	return 0, false
}

// start asks the limiter for what the shares of rooms want, claims that and sends it. It returns the wait before the
// next look. After an error, the limiter's or the database's, the lanes are still due.
func (d *dispatcher) start(r *route, rooms []room, shares []share, before time.Time, count func(claimed)) (time.Duration, error) {
	may, err := d.permit(r, rooms, wanted(shares))
	defer func() {
		unspent(r, shares)
		for _, m := range may {
			r.pool.Began(m.senders-m.begun.calls, 0, 0)
		}
	}()
	if err != nil {
		r.restore(shares)
		return 0, fmt.Errorf("ask the limiter: %w", err)
	}
	wait, all := r.limited(may)
	if all {
		r.restore(shares)
		return wait, nil
	}
	crowded, err := d.spend(r, may, shares, before, count)
	used, back := 0, make([]limit.Back, len(may))
	for i := range may {
		m := &may[i]
		back[i] = limit.Back{Grant: m.grant, N: m.grant.N - m.used}
		gave(r, m.account, m.used)
		used += m.used
	}
	d.permits.giveBack(d.life.Context(), back)
	switch {
	case err != nil:
		r.restore(shares)
		return 0, fmt.Errorf("claim deliveries: %w", err)
	case used == 0 && crowded:
		return d.poll, nil // a slot that comes free wakes us
	}
	if r.anyDue() { // a lane that got no share this time, or is not empty yet
		return 0, nil
	}
	return whenWoken, nil
}

// spend claims for the shares, one after the other, what the limiter has granted to all of them. It reports whether something
// waits that wants more slots than are free. What is left of the shares was not used.
func (d *dispatcher) spend(r *route, may []permitted, shares []share, before time.Time, count func(claimed)) (crowded bool, err error) {
	for i, s := range shares {
		w, n, cut := r.wish(s, may)
		if n == 0 {
			r.restore([]share{s})
			continue
		}
		w.before = before
		found, err := d.claim(w)
		for k, given := range found.given {
			may[k].spent(r, given)
		}
		shares[i].n -= found.n
		if count != nil {
			count(found)
		}
		if err != nil {
			return crowded, err
		}
		full := w.filled(found.given)
		foundAll(r, s, full)
		if full && slices.ContainsFunc(may, func(m permitted) bool { return m.short }) {
			r.pool.Short()
		}
		switch {
		case full, r.whole() && found.n > 0: // there may be more
			r.restore([]share{s})
		case !cut, found.more: // or there is something that wants more slots than are free
			r.restore([]share{s})
			crowded = true
		}
	}
	return crowded, nil
}

// permitted is a room with what the limiter lets through of it.
type permitted struct {
	room
	grant limit.Grant
	used  int   // permits
	begun given // by them
}

// spent notes what was claimed.
func (m *permitted) spent(r *route, found given) {
	m.begun = m.begun.and(found)
	if r.Settings.ByCalls && r.whole() { // a call takes a permit, not each delivery
		found.n = found.calls
	}
	m.used += found.n
}

// wish is what may be claimed for a share, how much that is, and whether all of it may hold a part of a message.
func (r *route) wish(s share, may []permitted) (w wish, n int, cut bool) {
	w, cut = wish{route: r, pin: s.pin, priority: s.priority, parts: make([]portion, len(may))}, true
	for i := range may {
		m := &may[i]
		most, messages := r.within(min(s.n-n, m.n-m.begun.n), m.grant.N-m.used)
		most, messages = bySenders(r, most, messages, m.senders-m.begun.calls)
		w.parts[i] = portion{account: m.account, max: most, messages: messages, cut: m.idle || r.mayCut(most), grant: &m.grant}
		n, cut = n+most, cut && (most == 0 || w.parts[i].cut)
	}
	return w, n, cut
}

// within is how many deliveries may be claimed, and of how many messages at most, 0 for any, where so many permits are left.
// Where these are of calls, a batch of deliveries that are of no more messages than there are permits takes no more calls.
func (r *route) within(wanted, permits int) (n, messages int) {
	if !r.Settings.ByCalls || !r.whole() || permits == 0 {
		return min(wanted, permits), 0
	}
	return min(wanted, max(permits, r.Settings.Batch)), permits
}

// bySenders bounds a claim by the calls that may begin. Where a call takes many, each message is one at least.
func bySenders(r *route, n, messages, calls int) (most, ofMessages int) {
	switch {
	case r.pool == nil:
		return n, messages
	case calls <= 0:
		return 0, messages
	case !r.whole():
		return min(n, calls), messages
	case messages == 0:
		return n, calls
	}
	return n, min(messages, calls)
}

// limited holds the accounts that the limiter gave nothing for now. Where it gave nothing to any, it returns the wait before the
// next look.
func (r *route) limited(may []permitted) (wait time.Duration, all bool) {
	wait, all = longestHeld, true
	for i := range may {
		m := &may[i]
		if m.grant.N > 0 {
			all = false
			continue
		}
		until := min(max(m.grant.Wait, time.Millisecond), longestHeld)
		if r.hold(m.account, m.grant.Key, until) {
			until = 0 // another account may have room
		}
		wait = min(wait, until)
	}
	return wait, all
}

func wanted(shares []share) (n int) {
	for _, s := range shares {
		n += s.n
	}
	return n
}

// claim takes what is due and starts to send it. A route that was replaced takes nothing more:
// the channel may be paused by now. While it is asked for, the claim itself is under way: what it finds is to be sent
// by a driver that is still open.
func (d *dispatcher) claim(w wish) (claimed, error) {
	r, all := w.route, claimed{given: make([]given, len(w.parts))}
	for i := range w.parts {
		r.occupy(w.parts[i].account, 1)
		defer r.leave(w.parts[i].account, 1)
	}
	if r.ctx.Err() != nil {
		return all, nil
	}
	w.at = time.Now() // before the claim is sent: the lease can only end later than we think
	w.lease = r.Settings.Timeout + d.margin
	for _, k := range d.kinds {
		// Not the route's context: a claim that commits after its caller left would hold what nobody sends until
		// its lease ends.
		found, err := k.claim(d.life.Context(), w)
		if err != nil {
			return all, err
		}
		for _, u := range found.units {
			r.occupy(u.about().account, u.about().size)
			r.callBegan(u.about().account)
		}
		r.pool.Began(len(found.units), len(found.units), time.Since(w.at))
		d.sender.send(r, found.units, w.at.Add(w.lease))
		all.n, all.more = all.n+found.n, all.more || found.more
		all.at = cmp.Or(all.at, found.at)
		for i, g := range found.given {
			tempo{r}.spend(w.parts[i].account, g.calls)
			all.given[i] = all.given[i].and(g)
		}
		if w = w.less(found.given); w.max() == 0 {
			break
		}
	}
	return all, nil
}

// less is what is left to be claimed after something was given.
func (w wish) less(found []given) wish {
	w.parts = slices.Clone(w.parts)
	for i, g := range found {
		p := &w.parts[i]
		p.max -= g.n
		if p.messages == 0 {
			continue
		}
		if p.messages -= g.calls; p.messages <= 0 {
			p.max, p.messages = 0, 0
		}
	}
	return w
}

// whole reports whether the channel's driver takes many recipients in one call: then a message is
// claimed whole where that is possible.
func (r *route) whole() bool { return r.Settings.Batch > 1 }

// mayCut reports whether a claim of n may take a part of its first message: it is all that a call takes. Where less
// is free, the slots that are in use come free; none are on an idle route, which must not wait for them.
func (r *route) mayCut(n int) bool { return !r.whole() || n >= r.Settings.Batch }

// permit asks the limiter for rooms, in one step for those of several accounts; a channel without limits may start all.
func (d *dispatcher) permit(r *route, rooms []room, want int) ([]permitted, error) {
	may, asks, bounded := make([]permitted, len(rooms)), make([]limit.Ask, len(rooms)), false
	for i, at := range rooms {
		may[i].room, asks[i] = at, limit.Ask{Bounds: r.bounds(at.account), Want: min(at.n, want)}
		may[i].grant.N = asks[i].Want
		bounded = bounded || len(asks[i].Bounds) > 0
	}
	if !bounded {
		return may, nil
	}
	grants, err := d.take(asks)
	if err != nil {
		return may, err
	}
	for i, g := range grants {
		if may[i].grant = g; g.N == 0 {
			d.metrics.Limited.WithLabelValues(r.Key.Channel).Inc()
		}
	}
	return may, nil
}

// take asks the limiter: one request alone may be answered without the database.
func (d *dispatcher) take(asks []limit.Ask) ([]limit.Grant, error) {
	if len(asks) > 1 {
		return d.limiter.Each(d.life.Context(), asks)
	}
	g, err := d.limiter.Take(d.life.Context(), asks[0].Bounds, asks[0].Want)
	return []limit.Grant{g}, err
}

// shares splits n starts between the priorities that may hold something due, by weight, and takes
// their marks: a wake-up that comes later sets them again. Without any, wait says when to look again.
func (r *route) shares(n int) (out []share, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n == 0 {
		return nil, whenWoken // and no lane has had its turn
	}
	now, rest := time.Now(), restOfLow(r)
	for len(out) == 0 {
		open := func(p posthouse.Priority) bool {
			return r.isDue(p) && !r.shapes.closed(p, now) && (p != posthouse.Low || rest > 0)
		}
		counts := split(r, n, open)
		if len(counts) == 0 {
			return nil, r.shapes.wait(now, r.isDue) // a slot that comes free wakes us
		}
		counts[posthouse.Low] = min(counts[posthouse.Low], rest)
		for _, p := range posthouse.Priorities() {
			if counts[p] == 0 {
				continue
			}
			if free := r.shapes.take(now, p, counts[p], r.Settings.Batch); free > 0 {
				out = append(out, share{priority: p, n: free})
				r.due[p] = false
			}
		}
	}
	return out, 0
}

// restOfLow is how many slots low priority may take yet: it leaves an eighth of them to what is above it, so that this need not
// wait until a provider has answered a whole herd. The route is locked.
func restOfLow(r *route) int {
	left := min(r.Settings.MaxInflight/8, max(0, r.Settings.MaxInflight-r.Settings.Batch)) // a whole call has room
	return r.Settings.MaxInflight - left - r.inflight
}

// split is how n starts are split between the priorities that are open. The route is locked.
func split(r *route, n int, open func(posthouse.Priority) bool) map[posthouse.Priority]int {
	counts := map[posthouse.Priority]int{}
	switch only, several := onlyOf(open); {
	case several && r.whole():
		// A part of the room could be too little for the call of any of them, where all of it is not.
		counts[r.credits.Next(open)] = n
	case several:
		for range n {
			counts[r.credits.Next(open)]++
		}
	case only != "":
		counts[only] = n // the same, without counting it out
	}
	return counts
}

// restore marks lanes again that could not be emptied.
func (r *route) restore(shares []share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range shares {
		if r.fleet != nil {
			r.fleet.Rouse(s.pin, s.priority)
		} else {
			r.due[s.priority] = true
		}
	}
}
