package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/fleet"
)

// mostTurns bounds the claims that a channel with several accounts makes at once. A claim is of one account, and by its rate of
// few deliveries: made one after the other, each would wait for the commit of the one before.
const mostTurns = 32

// turn is a claim that is to be made.
type turn struct {
	room
	shares []share
}

// promise is what claims that are being made may yet begin by an account or a route: deliveries, and the calls that these take.
type promise struct{ n, calls int }

func (p *promise) add(other promise) { p.n, p.calls = p.n+other.n, p.calls+other.calls }

// round starts what may start now by several accounts, and returns how long to wait before the next look.
func (d *dispatcher) round(r *route) (time.Duration, error) {
	turns, wait := d.turns(r)
	if len(turns) == 0 {
		return wait, nil
	}
	defer kept(r, turns)
	waits, errs := make([]time.Duration, len(turns)), make([]error, len(turns))
	var others sync.WaitGroup
	for i := 1; i < len(turns); i++ {
		others.Go(func() { waits[i], errs[i] = d.start(r, turns[i].room, turns[i].shares, time.Time{}, nil) })
	}
	waits[0], errs[0] = d.start(r, turns[0].room, turns[0].shares, time.Time{}, nil)
	others.Wait()
	wait = waits[0]
	for _, w := range waits {
		wait = min(wait, w)
	}
	return wait, errors.Join(errs...)
}

// turns are the claims of a round, each by another account or of another lane. Without any, wait says when to look again.
func (d *dispatcher) turns(r *route) (list []turn, wait time.Duration) {
	claims := map[share]int{} // by lane
	for len(list) < mostTurns {
		at, shares, w := r.turn(d.recorder.unsure())
		if len(shares) == 0 {
			return list, w
		}
		list = append(list, turn{at, shares})
		lane := share{pin: shares[0].pin, priority: shares[0].priority}
		claims[lane]++
		spread(r, lane, claims[lane])
	}
	return list, 0
}

// spread lets another account claim of a lane of which so many do in this round, where the lane was deep lately.
func spread(r *route, s share, claims int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if claims < r.fleet.Spread(s.pin, s.priority) {
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
func kept(r *route, turns []turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range turns {
		a := r.accounts[turns[i].account]
		keep(r, a, promise{-turns[i].n, -turns[i].senders})
		r.fleet.Freed(&a.Seat)
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
	return max(0, min(free, most, (calls-a.promised.calls)*max(1, r.Settings.Batch))), time.Time{}
}
