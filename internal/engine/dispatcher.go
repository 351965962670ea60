package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
)

// dispatcher starts what may start: it reserves, asks the limiter, claims just that, and hands it to the sender.
type dispatcher struct {
	kinds   []kind
	sender  *sender
	limiter Limiter
	permits *permits
	life    *life.Life
	log     *slog.Logger
	metrics *metrics.Metrics
	poll    time.Duration
	margin  time.Duration // what a lease lasts beyond its send's time-out
}

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

// whenWoken is a wait that only a wake-up ends: the poller looks for what nobody announced.
const whenWoken = time.Hour

// dispatchOnce starts what may start now, and returns how long to wait before the next look:
// 0 when there may be more.
func (d *dispatcher) dispatchOnce(r *route) time.Duration {
	began := time.Now()
	list, next := r.admission.Reserve(began)
	if len(list) == 0 {
		return waitFor(next)
	}
	room, answers := list[0].N(), d.ask(r, list)
	waits, counts, errs := make([]time.Duration, len(list)), make([]int, len(list)), make([]error, len(list))
	start := func(i int) {
		waits[i], errs[i] = d.start(r, list[i], answers[i], time.Time{}, func(c claimed) { counts[i] += c.n })
	}
	var others sync.WaitGroup
	for i := 1; i < len(list); i++ {
		others.Go(func() { start(i) })
	}
	start(0)
	others.Wait()
	if err := cmp.Or(errs...); err != nil {
		d.log.Warn("nothing starts for a moment", "tenant", r.Key.Tenant, "channel", r.Key.Channel, "error", err)
		return faultPause
	}
	if waits[0] == 0 && !r.admission.Several() && counts[0] >= streamFrom && counts[0] < room {
		d.rest(r, streamPause-time.Since(began))
	}
	return slices.Min(waits)
}

// waitFor is how long until a time that may not be known.
func waitFor(next time.Time) time.Duration {
	if next.IsZero() {
		return whenWoken
	}
	return max(time.Until(next), 0)
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

// answer is what the limiter grants to a reservation; without grants no window bounds it.
type answer struct {
	grants []limit.Grant
	err    error
}

// ask asks the limiter for all that is reserved, in one step: so priorities share what a tight limit lets through.
func (d *dispatcher) ask(r *route, list []*admission.Reservation) []answer {
	answers := make([]answer, len(list))
	if len(list) > 1 {
		r.admission.Share(list)
	}
	var asks []limit.Ask
	for i, res := range list {
		own := res.Asks()
		if own != nil {
			answers[i].grants = make([]limit.Grant, len(own))
		}
		for _, a := range own {
			if a.Want > 0 {
				asks = append(asks, a)
			}
		}
	}
	if len(asks) == 0 {
		return answers
	}
	grants, err := d.take(r, asks)
	for i, res := range list {
		if answers[i].grants == nil {
			continue
		}
		answers[i].err = err
		for k, a := range res.Asks() {
			if a.Want > 0 && err == nil {
				answers[i].grants[k], grants = grants[0], grants[1:]
			}
		}
	}
	return answers
}

// start claims what the limiter leaves of what is reserved, and sends it. It returns the wait before the next look. After an error, the
// limiter's or the database's, the lanes are still due.
func (d *dispatcher) start(r *route, res *admission.Reservation, of answer, before time.Time, count func(claimed)) (wait time.Duration, err error) {
	wait, err = d.spend(r, res, of, before, count)
	back, due := res.Close()
	d.permits.giveBack(d.life.Context(), back)
	if err == nil && wait == 0 && !due {
		return whenWoken, nil
	}
	return wait, err // a lane that got no share this time, or is not empty yet
}

// spend claims of the lanes of a reservation, one after the other, what the limiter has granted to all of them.
func (d *dispatcher) spend(r *route, res *admission.Reservation, of answer, before time.Time, count func(claimed)) (wait time.Duration, err error) {
	if of.err != nil {
		return 0, fmt.Errorf("ask the limiter: %w", of.err)
	}
	if of.grants != nil {
		if wait, none := res.Grant(time.Now(), of.grants); none {
			return wait, nil
		}
	}
	begun, crowded := 0, false
	for i, lane := range res.Lanes() {
		parts, n, cut := res.Claim(i)
		if n == 0 {
			continue
		}
		asked := time.Now()
		found, err := d.claim(wish{route: r, pin: lane.Pin, priority: lane.Priority, parts: parts, before: before}, func(u unit, waited time.Duration) {
			is := u.about()
			u.sit(res.Begin(time.Now(), i, is.account, is.size, waited))
		})
		begun += found.n
		if res.Found(i, parts, admission.Finding{Given: found.given, Cut: cut, Larger: found.more, Failed: err != nil}) {
			crowded = true
		}
		count(found)
		if err != nil {
			return 0, fmt.Errorf("claim deliveries: %w", err)
		}
		if lane.Pin == "" && !r.admission.Marked(lane) {
			r.emptied(lane.Priority, asked)
		}
	}
	if begun == 0 && crowded {
		return d.poll, nil // a slot that comes free wakes us
	}
	return 0, nil
}

// claim takes what is due and starts to send it. A route that was replaced takes nothing more:
// the channel may be paused by now. What is found is to be sent by a driver that is still open: it is, while something is reserved.
func (d *dispatcher) claim(w wish, begin func(u unit, waited time.Duration)) (claimed, error) {
	r, all := w.route, claimed{given: make([]admission.Given, len(w.parts))}
	if r.replaced() {
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
		waited := time.Since(w.at)
		for _, u := range found.units {
			begin(u, waited)
		}
		d.sender.send(r, found.units, w.at.Add(w.lease))
		all.n, all.more = all.n+found.n, all.more || found.more
		all.at = cmp.Or(all.at, found.at)
		for i, g := range found.given {
			all.given[i] = all.given[i].And(g)
		}
		if w = w.less(found.given); w.max() == 0 {
			break
		}
	}
	return all, nil
}

// less is what is left to be claimed after something was given.
func (w wish) less(found []admission.Given) wish {
	w.parts = slices.Clone(w.parts)
	for i, g := range found {
		p := &w.parts[i]
		p.Max -= g.N
		if p.Calls == 0 {
			continue
		}
		if p.Calls -= g.Calls; p.Calls <= 0 {
			p.Max, p.Calls = 0, 0
		}
		p.Messages = p.Calls
	}
	return w
}

// take asks the limiter, in one step for several accounts: one request alone may be answered without the database.
func (d *dispatcher) take(r *route, asks []limit.Ask) (grants []limit.Grant, err error) {
	if len(asks) > 1 {
		grants, err = d.limiter.Each(d.life.Context(), asks)
	} else {
		grants = make([]limit.Grant, 1)
		grants[0], err = d.limiter.Take(d.life.Context(), asks[0].Bounds, asks[0].Want)
	}
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		if g.N == 0 {
			d.metrics.Limited.WithLabelValues(r.Key.Channel).Inc()
		}
	}
	return grants, nil
}
