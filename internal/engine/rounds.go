package engine

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/fleet"
)

// A claim of a lane takes what several accounts may send of it in one step: by its rate each may begin few deliveries, and a
// claim of few costs the database nearly as much as one of many. Lanes that are of one account are claimed one by one, several at
// once: else each would wait for the commit of the one before.
const (
	mostTurns = 32  // at once
	mostRooms = 256 // of all claims that are made at once
)

// bid is a claim that is to be made: of a lane, by those accounts that have room.
type bid struct {
	shares []share
	rooms  []room
}

// round starts what may start now by several accounts, and returns how long to wait before the next look.
func (d *dispatcher) round(r *route) (time.Duration, error) {
	bids, wait := d.bids(r)
	if len(bids) == 0 {
		return wait, nil
	}
	defer kept(r, bids)
	waits, errs := make([]time.Duration, len(bids)), make([]error, len(bids))
	var others sync.WaitGroup
	for i := 1; i < len(bids); i++ {
		others.Go(func() { waits[i], errs[i] = d.start(r, bids[i].rooms, bids[i].shares, time.Time{}, nil) })
	}
	waits[0], errs[0] = d.start(r, bids[0].rooms, bids[0].shares, time.Time{}, nil)
	others.Wait()
	return slices.Min(waits), errors.Join(errs...)
}

// bids are the claims of a round, each of another lane. Without any, wait says when to look again.
func (d *dispatcher) bids(r *route) (list []bid, wait time.Duration) {
	places := map[share]int{} // by lane
	for n := 0; n < mostRooms && len(list) < mostTurns; n++ {
		at, shares, w := r.bid(d.recorder.unsure())
		if len(shares) == 0 {
			return list, w
		}
		lane := share{pin: shares[0].pin, priority: shares[0].priority}
		i, known := places[lane]
		if !known {
			i, places[lane] = len(list), len(list)
			list = append(list, bid{shares: []share{lane}})
		}
		list[i].join(at)
		spread(r, lane, len(list[i].rooms))
	}
	return list, 0
}

// join adds what an account may take to a claim.
func (t *bid) join(at room) {
	t.shares[0].n += at.n
	for i := range t.rooms {
		if own := &t.rooms[i]; own.account == at.account {
			own.n, own.senders = own.n+at.n, own.senders+at.senders
			return
		}
	}
	t.rooms = append(t.rooms, at)
}

// spread lets another account claim of a lane of which so many do in this round, where the lane was deep lately.
func spread(r *route, s share, accounts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if accounts < r.fleet.Spread(s.pin, s.priority) {
		r.fleet.Rouse(s.pin, s.priority)
	}
}

// foundAll notes whether a claim has found all that it asked for.
func foundAll(r *route, s share, all bool) {
	if r.fleet == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fleet.Found(s.pin, s.priority, all)
}

// keep keeps what is promised to a claim by an account until that was made. The route is locked.
func keep(r *route, a *account, p promise) {
	r.promised.add(p)
	a.promised.add(p)
}

// kept ends the promises of a round: what its claims have begun is under way by now.
func kept(r *route, bids []bid) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range bids {
		for _, at := range t.rooms {
			a := r.accounts[at.account]
			keep(r, a, promise{-at.n, -at.senders})
			r.fleet.Freed(&a.Seat)
		}
	}
}

// freeOf is how much an account of several may take of so many now, or when to look again. The route is locked.
func freeOf(r *route, s *fleet.Seat, now time.Time, most int) (n int, next time.Time) {
	a := r.accounts[s.Name]
	if until := r.opens(a, now); now.Before(until) {
		return 0, until
	}
	free := r.Settings.MaxInflight - a.inflight - a.promised.n
	if r.probes(a.Name) {
		free = min(free, 1-a.inflight-a.promised.n)
	}
	calls, next := tempo{r}.mayCall(a, now)
	if calls == 0 {
		return 0, next
	}
	calls = min(calls, a.calls.free())
	return max(0, min(free, most, (calls-a.promised.calls)*max(1, r.Settings.Batch))), time.Time{}
}
