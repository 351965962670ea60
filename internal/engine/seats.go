package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// seats let what is accepted begin in the transaction that accepts it (ADR 0065): it takes slots and senders as a claim does, without
// waiting, and is sent after the commit without a claim. What finds none is due, as all was before.
//
// A lane with a backlog is never passed: a seat is given only where a look at most lookAge ago has found nothing due in the lane. A claim
// that finds less than it asked for is such a look; lanes that ask for seats are looked at besides.
type seats struct {
	routes     *Routes
	recorder   *recorder
	sender     *sender
	deliveries *deliveries
	queue      Queue
	life       *life.Life
	log        *slog.Logger
	owner      string
	margin     time.Duration // what a lease lasts beyond its send's time-out
	age        time.Duration // how old a look may be: lookAge
	asked      chan struct{} // capacity 1: a lane asks that is not looked at
}

const (
	// lookAge is how old a look may be that has found a lane empty.
	lookAge = 100 * time.Millisecond
	// lookEvery is how often the lanes are looked at that ask for seats: a look has an age when it is answered.
	lookEvery = 50 * time.Millisecond
	// lookFor is how long after it has asked for a seat a lane is looked at. What asks less often is due, and claimed.
	lookFor = time.Second
	// lookMost is how many lanes are looked at: more would cost the database more than their claims do.
	lookMost = 200
)

// looked is what a route knows of a lane: when a look began that found it empty, when something may have come, and when it asked for
// seats last.
type looked struct{ empty, filled, asked time.Time }

// know changes what is known of a lane.
func (r *route) know(p posthouse.Priority, change func(*looked)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.looked[p]
	change(&l)
	r.looked[p] = l
}

// emptied notes that a look which began at a time has found nothing left in a lane.
func (r *route) emptied(p posthouse.Priority, at time.Time) {
	r.know(p, func(l *looked) {
		if at.After(l.filled) {
			l.empty = at
		}
	})
}

// filled notes that something may wait in a lane.
func (r *route) filled(p posthouse.Priority) {
	r.know(p, func(l *looked) { l.empty, l.filled = time.Time{}, time.Now() })
}

// seating is what one accept asks for.
type seating struct {
	of    *seats
	since time.Time
	list  []reserved
	short map[work.Lane]bool // which of them got too few in the last run
}

// reserved is what was given of a lane.
type reserved struct {
	work.Seating
	*admission.Reservation
	lane  work.Lane
	route *route
	parts []admission.Portion
}

// Open begins to ask for one accept.
func (s *seats) Open() intake.Seating { return &seating{of: s} }

// Run begins a run of the accept's transaction.
func (t *seating) Run(since time.Time) {
	for _, a := range t.list {
		t.of.back(a)
	}
	t.since, t.list, t.short = since, nil, map[work.Lane]bool{}
}

// Ask takes up to n seats of a lane.
func (t *seating) Ask(lane work.Lane, n int) work.Seating {
	a, ok := t.of.ask(lane, n)
	if !ok || a.Seating.N < n {
		t.short[lane] = true
	}
	if ok {
		t.list = append(t.list, a)
	}
	return a.Seating
}

// End says what became of the accept: starts have begun. After an error all seats are free again, but where the answer to the commit
// was lost: that has to be found out first.
func (t *seating) End(starts []work.Start, err error) {
	begun := map[string][]work.Item{}
	for _, of := range starts {
		begun[of.Flight] = of.Items
	}
	lost := err != nil && posthouse.CodeOf(err) == posthouse.CodeOutcomeUnknown
	for _, a := range t.list {
		switch items := begun[a.Flight]; {
		case lost:
			go t.of.lost(a, t.since)
		case len(items) > 0:
			go t.of.begin(a, items, t.since)
		default:
			t.of.back(a)
			t.short[a.lane] = true // the epoch is another
		}
	}
	if err != nil && !lost {
		return
	}
	for lane := range t.short { // what got no seat is due by now
		t.of.routes.Rouse(state.Key{Tenant: lane.Tenant, Channel: lane.Channel}, lane.Priority, "")
	}
}

// ask takes up to n seats of a lane. They keep the engine from ending: what is committed is to be sent, or given back.
func (s *seats) ask(lane work.Lane, n int) (a reserved, ok bool) {
	s.routes.mu.RLock() // who lets nothing start any more waits for this, and then for the claimers
	defer s.routes.mu.RUnlock()
	r := s.routes.routes[state.Key{Tenant: lane.Tenant, Channel: lane.Channel}]
	if r == nil || !s.routes.started || s.routes.serve == nil || s.routes.shift.resting.Load() || s.life.Stopped() || s.recorder.unsure() ||
		r.Settings.Pulled || r.Settings.Every > 0 || r.admission.Several() {
		return reserved{}, false
	}
	if s.mayPass(r, lane.Priority) {
		a, ok = s.reserve(r, lane, n)
	}
	if !ok || a.Seating.N < n {
		r.filled(lane.Priority)
	}
	return a, ok
}

// mayPass reports whether a lane was empty a moment ago, and nothing of its channel is known to wait. Who asks has the lane looked at.
func (s *seats) mayPass(r *route, p posthouse.Priority) (empty bool) {
	now, look := time.Now(), false
	r.know(p, func(l *looked) {
		look, empty = now.Sub(l.asked) > lookFor, now.Sub(l.empty) <= s.age
		l.asked = now
	})
	if look {
		select {
		case s.asked <- struct{}{}:
		default:
		}
	}
	return empty && !r.admission.Any()
}

// reserve reserves what may begin of a lane without a question to the limiter, which may be the database's.
func (s *seats) reserve(r *route, lane work.Lane, n int) (a reserved, ok bool) {
	res := r.admission.ReserveIn(time.Now(), admission.Lane{Priority: lane.Priority}, n)
	if res == nil {
		return reserved{}, false
	}
	parts, got, _ := res.Claim(0)
	if calls := parts[0].Calls; calls > 0 {
		got = min(got, calls) // each is a message
	}
	a = reserved{
		Seating:     work.Seating{N: got, Owner: s.owner, Lease: r.Settings.Timeout + s.margin, Epoch: s.life.Epoch(), Flight: posthouse.NewID()},
		Reservation: res, lane: lane, route: r, parts: parts,
	}
	s.routes.shift.claimers.Add(1)
	if got == 0 || res.Asks() != nil || r.ctx.Err() != nil { // a route that was replaced waits for what is reserved of it
		s.back(a)
		return reserved{}, false
	}
	return a, true
}

// back gives a seat back that nothing has begun with.
func (s *seats) back(a reserved) {
	a.Close()
	s.routes.shift.claimers.Done()
}

// begin sends what was committed with a seat.
func (s *seats) begin(a reserved, items []work.Item, since time.Time) {
	defer s.back(a)
	w := wish{route: a.route, priority: a.lane.Priority, parts: a.parts, lease: a.Lease, at: since}
	found := s.deliveries.begin(s.life.Context(), w, items)
	for _, u := range found.units {
		is := u.about()
		u.sit(a.Begin(time.Now(), 0, is.account, is.size, time.Since(since)))
	}
	s.sender.send(a.route, found.units, since.Add(a.Lease))
	a.Found(0, a.parts, admission.Finding{Given: found.given, Failed: true}) // whether there is more is not known
}

// lost finds out what became of a start whose commit gave no answer. Nothing of it is sent: what is stored goes back as unsent. Its
// seats are taken until then, or until the lease has ended.
func (s *seats) lost(a reserved, since time.Time) {
	defer s.back(a)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ids, err := s.queue.Disown(s.life.Context(), time.Now(), a.lane, a.Seating)
		if err == nil && len(ids) > 0 {
			err = s.release(a, ids)
		}
		if err == nil {
			return
		}
		s.log.Warn("a start whose commit gave no answer cannot be looked for", "channel", a.lane.Channel, "deliveries", a.Seating.N, "error", err)
		if time.Since(since) > a.Lease || !s.life.Pause(pause) {
			return // the rescuer finds what is stored of it
		}
	}
}

// release gives back what a start has stored that nobody sends.
func (s *seats) release(a reserved, ids []string) error {
	_, err := s.queue.Revise(s.life.Context(), time.Now(), work.Selection{Tenant: a.lane.Tenant, IDs: ids}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			if d.State == posthouse.Sending && d.Token == 1 && d.LeaseOwner == a.Owner {
				changes = append(changes, state.AfterRelease(d, now, state.ReasonDatabase))
			}
		}
		return changes
	})
	if err == nil {
		s.routes.Rouse(a.route.Key, a.lane.Priority, "")
	}
	return err
}

// look looks at the lanes that ask for seats.
func (s *seats) look(ctx context.Context) {
	for {
		lanes, routes := s.askers()
		if len(lanes) == 0 {
			select {
			case <-s.asked:
				continue
			case <-s.life.Stopping():
				return
			}
		}
		at := time.Now()
		ready, err := s.queue.Ready(ctx, at, lanes)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the lanes that may begin with their accepts cannot be looked at", "error", err)
		}
		for i, due := range ready {
			if due {
				routes[i].rouse("", lanes[i].Priority)
			} else {
				routes[i].emptied(lanes[i].Priority, at)
			}
		}
		if !s.life.Pause(lookEvery) {
			return
		}
	}
}

// askers are the lanes that have asked for seats a moment ago, and of which nothing is known to wait.
func (s *seats) askers() (lanes []work.Lane, routes []*route) {
	s.routes.mu.RLock()
	defer s.routes.mu.RUnlock()
	now := time.Now()
	for _, r := range s.routes.routes {
		r.mu.Lock()
		for p, l := range r.looked {
			if now.Sub(l.asked) <= lookFor && len(lanes) < lookMost {
				lanes, routes = append(lanes, work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: p}), append(routes, r)
			}
		}
		r.mu.Unlock()
	}
	return lanes, routes
}
