package admission

import (
	"time"
)

// A claim of a lane takes what several accounts may send of it in one step: by its rate each may begin few deliveries, and a
// claim of few costs the database nearly as much as one of many. Lanes that are of one account are claimed one by one, several at
// once: else each would wait for the commit of the one before.
const (
	mostTurns = 32  // at once
	mostRooms = 256 // of all claims that are made at once
)

// Reserve reserves what may begin now. Each reservation is a claim that is to be made; those of a channel with several accounts are of
// other lanes, and can be made at once. Where nothing may begin, next is when to look again; zero says that somebody wakes the channel.
func (c *Channel) Reserve(now time.Time) (list []*Reservation, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	places := map[Lane]*Reservation{}
	for range mostRooms {
		p, wake := c.turn(now)
		if p.account == nil {
			return list, wake
		}
		r := places[p.lanes[0].Lane]
		if r == nil {
			r = c.reserved(now)
			places[p.lanes[0].Lane], list = r, append(list, r)
		}
		r.join(p, c.held == 0)
		r.turns++
		c.held += p.room.N
		if !c.lanes.more(p.lanes[0].Lane, len(r.parts)) || len(list) == mostTurns {
			break
		}
	}
	return list, time.Time{}
}

// ReserveIn reserves up to so many of one lane, whose mark is left as it is. It is nil where nothing may begin.
func (c *Channel) ReserveIn(now time.Time, l Lane, most int) *Reservation {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r *Reservation
	for most > 0 {
		room, _, _ := c.free(now, ofChannel, Of{}, Room{most, most})
		if lane, _ := c.lane(now, l); room.none() || lane.none() {
			return r
		}
		a, room, bound, _ := c.lanes.choose(now, l, room, (*asking)(c))
		if a == nil {
			return r
		}
		p := pick{account: a, room: room, bound: bound, lanes: []share{{Lane: l, n: room.N}}}
		if !c.take(now, &p) {
			return r
		}
		if r == nil {
			r = c.reserved(now)
			r.direct = true
		}
		r.join(p, c.held == 0)
		c.held += p.room.N
		most -= p.room.N
	}
	return r
}

func (c *Channel) reserved(now time.Time) *Reservation {
	c.open++
	return &Reservation{c: c, at: now}
}

// turn is what has its turn, and is taken of all stages. The channel is locked.
func (c *Channel) turn(now time.Time) (pick, time.Time) {
	if !c.lanes.any() {
		return pick{}, time.Time{} // no stage hears of somebody who waits
	}
	for {
		room, bound, next := c.free(now, ofChannel, Of{}, everything)
		if room.none() {
			return pick{}, next
		}
		p, wake := c.lanes.next(now, room, (*asking)(c))
		if p.bound == nil {
			p.bound = bound
		}
		if p.account == nil || c.take(now, &p) {
			return p, wake
		}
	}
}

// free is how much of so much the stages of a scope leave, and the one that leaves no more. The channel is locked.
func (c *Channel) free(now time.Time, of scope, what Of, most Room) (room Room, bound Stage, next time.Time) {
	room = most
	for _, s := range c.stages[of] {
		free, next := s.Free(now, what)
		if free.none() {
			return Room{}, s, next
		}
		if left := room.within(free, max(1, c.Settings.Batch)); left.N < room.N {
			room, bound = left, s
		} else {
			room = left
		}
	}
	return room, bound, time.Time{}
}

func (c *Channel) lane(now time.Time, l Lane) (Room, time.Time) {
	room, _, next := c.free(now, ofLane, Of{Lane: l}, everything)
	return room, next
}

// asking is a channel as its scheduler asks it.
type asking Channel

func (a *asking) lane(now time.Time, l Lane) (Room, time.Time) { return (*Channel)(a).lane(now, l) }

func (a *asking) account(now time.Time, of *Account, l Lane, most Room) (Room, Stage, time.Time) {
	return (*Channel)(a).free(now, ofAccount, Of{of, l}, most)
}

// take takes what has its turn of all stages, or as much as those leave of which others take at the same moment. Where they leave
// nothing, the marks are as they were. The channel is locked.
func (c *Channel) take(now time.Time, p *pick) bool {
	lanes, sum := p.lanes[:0], 0
	for _, l := range p.lanes {
		got := c.takeOf(now, Of{Lane: l.Lane}, Room{l.n, l.n}, ofLanes)
		if l.n, l.taken = got.N, got.N; l.n == 0 {
			c.lanes.mark(l.Lane)
			continue
		}
		lanes, sum = append(lanes, l), sum+l.n
	}
	p.lanes = lanes
	if sum == 0 {
		return false
	}
	p.room = Room{min(p.room.N, sum), min(p.room.Calls, sum)}
	if p.room = c.takeOf(now, Of{Account: p.account, Lane: lanes[0].Lane}, p.room, ofCalls); p.room.none() {
		for _, l := range lanes {
			c.each(Of{Lane: l.Lane}, ofLanes, func(s Stage, of Of) { s.Return(of, Room{l.taken, l.taken}) })
			c.lanes.mark(l.Lane)
		}
		return false
	}
	return true
}

// takeOf takes of the stages of some scopes. The channel is locked.
func (c *Channel) takeOf(now time.Time, of Of, want Room, scopes []scope) Room {
	got := want
	var taken [4]Room // more are not shared
	i := 0
	c.each(of, scopes, func(st Stage, of Of) {
		if s, others := st.(shared); others {
			taken[i] = s.TakeUpTo(now, of, got)
			got = got.within(taken[i], max(1, c.Settings.Batch))
			i++
		}
	})
	i = 0
	c.each(of, scopes, func(st Stage, of Of) {
		if _, others := st.(shared); !others {
			st.Take(of, got)
			return
		}
		if more := taken[i].less(got); more != (Room{}) {
			st.Return(of, more)
		}
		i++
	})
	return got
}

// each goes through the stages of some scopes that keep account of what is taken, with what each is asked about.
func (c *Channel) each(of Of, scopes []scope, do func(s Stage, of Of)) {
	for _, scope := range scopes {
		what := of
		if scope == ofChannel {
			what = Of{}
		} else if scope == ofLane {
			what.Account = nil
		}
		for _, s := range c.keeping[scope] {
			do(s, what)
		}
	}
}
