package admission

import (
	"cmp"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
)

// Reservation is what may begin: of some lanes, by some accounts. What of it does not begin goes back when it is closed.
type Reservation struct {
	c      *Channel
	at     time.Time // when it was made: its budgets are those of that time
	turn   pick      // the first of those that had their turn
	lanes  []share   // n is what is not used of it
	over   []bool    // of lanes: what was found is noted
	parts  []part
	turns  int  // of the scheduler that it is made of
	given  int  // deliveries
	direct bool // it is no turn of the scheduler's: marks are left as they are
	closed bool
}

// part is what an account may begin.
type part struct {
	account *Account
	room    Room  // that is taken and has not begun
	n       int   // deliveries that may be claimed yet
	calls   int   // and calls
	want    int   // permits to ask the limiter for
	bound   Stage // which left no more
	// idle says that nothing of the channel was reserved or under way before: it is as old as the room, since slots that come free
	// later make no part of it.
	idle  bool
	grant limit.Grant
	used  int // permits
}

// join adds what has its turn.
func (r *Reservation) join(p pick, idle bool) {
	if len(r.lanes) == 0 {
		r.turn, r.lanes, r.over = p, p.lanes, make([]bool, len(p.lanes))
	} else {
		r.lanes[0].n, r.lanes[0].taken = r.lanes[0].n+p.lanes[0].n, r.lanes[0].taken+p.lanes[0].taken
	}
	for i := range r.parts {
		if own := &r.parts[i]; own.account == p.account {
			own.room, own.n, own.calls = own.room.and(p.room), own.n+p.room.N, own.calls+p.room.Calls
			own.grant.N, own.want = own.n, own.n
			return
		}
	}
	r.parts = append(r.parts, part{account: p.account, room: p.room, n: p.room.N, want: p.room.N, calls: p.room.Calls, bound: p.bound, idle: idle, grant: limit.Grant{N: p.room.N}})
}

// N is how much is reserved and may still be claimed.
func (r *Reservation) N() (n int) {
	for i := range r.parts {
		n += r.parts[i].n
	}
	return n
}

// Asks is what the limiter is to be asked for, in one step; nil where no window bounds it.
func (r *Reservation) Asks() (list []limit.Ask) {
	bounded := false
	for i := range r.parts {
		p := &r.parts[i]
		list = append(list, limit.Ask{Bounds: r.bounds(p.account), Want: p.want})
		bounded = bounded || len(list[i].Bounds) > 0
	}
	if !bounded {
		return nil
	}
	return list
}

// Share has reservations that are made together share what the limits of the tenant and the channel can let through at once: by the
// weights of their priorities, and first who has had the least. They are to be asked for in this order, in one step.
func (c *Channel) Share(list []*Reservation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, t := range c.sharedTiers() {
		for _, w := range t.Windows {
			if most == 0 || w.Max < most {
				most = w.Max
			}
		}
	}
	left, sum := map[posthouse.Priority]int{}, 0
	for _, r := range list {
		p := r.lanes[0].Priority
		if left[p] == 0 {
			left[p] = state.WeightOf(p)
			sum += left[p]
		}
	}
	if most == 0 || len(left) < 2 {
		return
	}
	for p, weight := range left {
		left[p] = (most*weight + sum - 1) / sum
	}
	slices.SortStableFunc(list, func(a, b *Reservation) int {
		return cmp.Compare(c.lanes.rank(a.lanes[0].Priority), c.lanes.rank(b.lanes[0].Priority))
	})
	for _, r := range list {
		p := r.lanes[0].Priority
		for i := range r.parts {
			r.parts[i].want = min(r.parts[i].want, left[p])
			left[p] -= r.parts[i].want
		}
	}
}

// longestHeld is how long a channel that its limits hold goes without asking again: permits that others give back, and
// a limiter that has lost its memory, wake nobody.
const longestHeld = 10 * time.Second

// Grant narrows a reservation by what the limiter grants to what it was asked for. Where that is nothing, none is true, and wait is how
// long to wait before the next look.
func (r *Reservation) Grant(now time.Time, grants []limit.Grant) (wait time.Duration, none bool) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	wait, none = longestHeld, true
	for i, g := range grants {
		p := &r.parts[i]
		if p.grant = g; g.N > 0 {
			c.budgets.granted(p.account, r.priority())
			none = false
			continue
		}
		if p.want == 0 { // the others may have what there is
			continue
		}
		if c.budgets.refused(now, r.budgets(p.account), p.account, r.priority(), g.Key) {
			wait = 0 // what may go on is found at once
			continue
		}
		until := min(max(g.Wait, time.Millisecond), longestHeld)
		if c.limits.refused(p.account, g.Key, now.Add(until)) {
			until = 0 // another account may have room
		}
		wait = min(wait, until)
	}
	if granted := grants[0].N; len(grants) == 1 && granted < r.parts[0].n {
		c.lanes.narrow(r.lanes, granted, &r.turn)
	}
	return wait, none
}

// Lanes are those of which it is to be claimed.
func (r *Reservation) Lanes() []Lane {
	list := make([]Lane, len(r.lanes))
	for i := range r.lanes {
		list[i] = r.lanes[i].Lane
	}
	return list
}

// Portion is what may be claimed for one account.
type Portion struct {
	Account  string
	Max      int
	Calls    int  // in how many calls at most; 0 for any
	Messages int  // of how many messages at most, each of which one call can hold, and several may share; 0 for any
	Cut      bool // allows a part of a message that is larger than what is asked for
}

// Given is how many deliveries an account was given, and the calls that send them; Full says that it is all that the account may have.
type Given struct {
	N, Calls int
	Full     bool
	Brought  Brought // where messages may share calls
}

// And adds what was given too.
func (g Given) And(more Given) Given {
	return Given{g.N + more.N, g.Calls + more.Calls, g.Full || more.Full, g.Brought.and(more.Brought)}
}

// Brought is what a claim brought, whether or not there were calls for it: of how many messages it is, how many calls these take, and
// how many of them one call may take at most.
type Brought struct {
	Messages, Calls, Most int
	Carried               int // messages that found a call
	Accounts              int // by which it is sent
}

func (b Brought) and(more Brought) Brought {
	return Brought{b.Messages + more.Messages, b.Calls + more.Calls, max(b.Most, more.Most), b.Carried + more.Carried, b.Accounts + more.Accounts}
}

// Claim is what may be claimed of a lane, how much that is, and whether all of it may hold a part of a message.
func (r *Reservation) Claim(lane int) (parts []Portion, n int, cut bool) {
	parts, cut = make([]Portion, len(r.parts)), true
	for i := range r.parts {
		p := &r.parts[i]
		most, calls := r.c.within(min(r.lanes[lane].n-n, p.n), p)
		parts[i] = Portion{Account: p.account.Name, Max: most, Calls: calls, Messages: r.c.sharing[r.lanes[lane].Lane].messages(calls), Cut: p.idle || r.c.mayCut(most)}
		n, cut = n+most, cut && (most == 0 || parts[i].Cut)
	}
	return parts, n, cut
}

// within is how many deliveries may be claimed, and in how many calls at most, 0 for any. Where permits are of calls, a batch of
// deliveries takes no more calls than there are permits.
func (c *Channel) within(wanted int, p *part) (n, calls int) {
	permits := p.grant.N - p.used
	switch {
	case p.calls <= 0 || permits <= 0:
		return 0, 0
	case !c.Whole():
		return min(wanted, permits, p.calls), 0
	case c.Settings.ByCalls:
		n, calls = min(wanted, max(permits, c.Settings.Batch)), min(p.calls, permits)
	default:
		n, calls = min(wanted, permits), p.calls
	}
	if calls >= n {
		return n, 0 // each delivery may have a call of its own
	}
	return n, calls
}

// Whole reports whether the channel's driver takes many recipients in one call: then a message is claimed whole where that is possible.
func (c *Channel) Whole() bool { return c.Settings.Batch > 1 }

// mayCut reports whether a claim of n may take a part of its first message: it is all that a call takes. Where less
// is free, the slots that are in use come free; none are on an idle channel, which must not wait for them.
func (c *Channel) mayCut(n int) bool { return !c.Whole() || n >= c.Settings.Batch }

// Finding is what a claim of a lane has found.
type Finding struct {
	Given  []Given // to each portion
	Cut    bool    // all that was asked for could hold a part of a message
	Larger bool    // something is due that is larger than what was asked for
	Failed bool    // there may be more: it was not found out
}

// Found notes what a claim of a lane has found of what was asked for. A lane that may hold more is marked again. It reports whether
// something waits that wants more slots than are free.
func (r *Reservation) Found(lane int, asked []Portion, f Finding) (crowded bool) {
	c, l := r.c, &r.lanes[lane]
	c.mu.Lock()
	defer c.mu.Unlock()
	full, n := true, 0
	for i := range r.parts {
		p, g := &r.parts[i], &f.Given[i]
		p.n, p.calls, p.used, n = p.n-g.N, p.calls-g.Calls, p.used+c.permits(g), n+g.N
		full = full && filled(&asked[i], g)
	}
	l.n -= n
	r.given += n
	if f.Failed {
		return false
	}
	r.over[lane] = true
	c.lanes.found(l.Lane, full, !full && !(c.Whole() && n > 0))
	c.learn(l.Lane, asked, f.Given, full)
	if full {
		for i := range r.parts {
			if g, grows := r.parts[i].bound.(grower); grows {
				g.Short()
				break
			}
		}
	}
	switch {
	case full, c.Whole() && n > 0: // there may be more
	case !f.Cut, f.Larger: // or there is something that wants more slots than are free
		crowded = true
	default:
		return false
	}
	if !r.direct {
		c.lanes.mark(l.Lane)
	}
	return crowded
}

// filled reports whether an account has all that was asked for: there may be more.
func filled(p *Portion, g *Given) bool {
	return g.Full || g.N >= p.Max || p.Calls > 0 && g.Calls >= p.Calls || p.Messages > 0 && g.Brought.Messages >= p.Messages
}

// permits is how many were used: a call takes one where they are of calls, else each delivery.
func (c *Channel) permits(g *Given) int {
	if c.Settings.ByCalls && c.Whole() {
		return g.Calls
	}
	return g.N
}

// Close gives back what did not begin. Lanes of which nothing was found out are marked again. It returns the permits that were not
// used, and whether something may be due.
func (r *Reservation) Close() (back []limit.Back, due bool) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.closed {
		return nil, c.lanes.any()
	}
	r.closed = true
	for i, l := range r.lanes {
		c.each(Of{Lane: l.Lane}, ofLanes, func(s Stage, of Of) { s.Return(of, Room{l.taken, l.taken}) })
		if !r.over[i] && !r.direct {
			c.lanes.mark(l.Lane)
		}
	}
	c.lanes.settle(r.lanes[0].Lane, r.turns, r.given)
	for i := range r.parts {
		p := &r.parts[i]
		c.giveBack(p.account, r.lanes[0].Lane, p.room)
		c.lanes.took(p.account, p.used)
		if unused := p.grant.N - p.used; unused > 0 && len(p.grant.Stamps) > 0 {
			back = append(back, limit.Back{Grant: p.grant, N: unused})
		}
	}
	c.open--
	c.rest()
	if r.direct {
		c.of.Wake()
	}
	return back, c.lanes.any()
}

// giveBack gives room back that did not begin. The channel is locked.
func (c *Channel) giveBack(a *Account, l Lane, room Room) {
	c.held -= room.N
	c.each(Of{a, l}, ofCalls, func(s Stage, of Of) { s.Return(of, room) })
	c.lanes.freed(a)
}

// Begin begins a call of n deliveries of a lane by an account, of which some have waited for the claim. Whoever claims more than was
// reserved takes it.
func (r *Reservation) Begin(now time.Time, lane int, account string, n int, waited time.Duration) *Seat {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.account(account)
	i := slices.IndexFunc(r.parts, func(p part) bool { return p.account == a })
	s := &Seat{c: c, of: Of{a, r.lanes[lane].Lane}, n: n}
	begun := Room{n, 1}
	var own Room
	if i >= 0 {
		p := &r.parts[i]
		own = Room{min(n, p.room.N), min(1, p.room.Calls)}
		p.room, s.grant = p.room.less(own), &p.grant
	}
	if more := begun.less(own); more != (Room{}) {
		c.held += more.N
		c.each(s.of, ofCalls, func(st Stage, of Of) { st.Take(of, more) })
	}
	l := &r.lanes[lane]
	if more := n - l.taken; more > 0 {
		c.each(s.of, ofLanes, func(st Stage, of Of) { st.Take(of, Room{more, more}) })
	}
	l.taken = max(0, l.taken-n)
	c.underWay += n
	a.underWay += n
	c.each(s.of, everyScope, func(st Stage, of Of) { st.Begin(now, of, begun, waited) })
	return s
}

// Seat is a call that has begun, until what became of it is stored. A Seat of nil is of a call that nothing was reserved for.
type Seat struct {
	c     *Channel
	of    Of
	n     int
	grant *limit.Grant
	over  bool // the call
	ended bool // all of it
}

// Answered ends the call. An answer of nil says that it was not made.
func (s *Seat) Answered(now time.Time, a *Answer) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.answered(now, a)
}

func (s *Seat) answered(now time.Time, a *Answer) {
	if s.over {
		return
	}
	s.over = true
	s.c.end(now, s.of, Ended{Room: Room{0, 1}, Answer: a})
}

// Budgets are the permits of budgets that come back for so many of its slots, of which the provider has seen nothing.
func (s *Seat) Budgets(unseen int) (grant *limit.Grant, permits int) {
	if s == nil || s.grant == nil || !s.c.budgeted || unseen <= 0 {
		return nil, 0
	}
	if s.c.Settings.ByCalls && s.c.Whole() { // all of it took one permit
		unseen = unseen / s.n
	}
	of := state.BudgetsIn(*s.grant)
	return &of, min(unseen, s.n)
}

// End frees the slots, of which so many were never used. It returns the permits that come back, of
// the grant by which it was claimed.
func (s *Seat) End(now time.Time, unsent int) (grant *limit.Grant, permits int) {
	if s == nil {
		return nil, 0
	}
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ended {
		return nil, 0
	}
	s.answered(now, nil)
	s.ended = true
	c.held -= s.n
	c.underWay -= s.n
	s.of.Account.underWay -= s.n
	c.end(now, s.of, Ended{Room: Room{s.n, 0}, Unsent: unsent})
	c.rest()
	c.of.Wake()
	if s.grant == nil || unsent <= 0 {
		return nil, 0
	}
	if c.Settings.ByCalls && c.Whole() { // all of it took one permit
		unsent = unsent / s.n
	}
	return s.grant, min(unsent, s.n)
}

// end tells all stages what is over. The channel is locked.
func (c *Channel) end(now time.Time, of Of, e Ended) {
	c.each(of, ofCalls, func(s Stage, of Of) { s.End(now, of, e) })
	if e.Calls = e.N; e.N > 0 { // a lane counts deliveries alone
		c.each(of, ofLanes, func(s Stage, of Of) { s.End(now, of, e) })
	}
	c.lanes.freed(of.Account)
}
