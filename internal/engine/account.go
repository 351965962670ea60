package engine

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// account is one of those that a route sends by. Most routes have one, without a name. Its gate is the route's.
type account struct {
	name     string
	limits   []posthouse.Limit
	inflight int       // attempts, and 1 while a claim is made
	held     time.Time // until when its own limits let nothing start
}

// room is what may start now: so many attempts by an account.
type room struct {
	account string
	n       int
	// idle says that nothing of the route was under way when it was counted: it is as old as the number, since slots
	// that come free later make no part of it.
	idle bool
}

// account is the one of a name. An attempt by one that was taken away is counted with the first. The route is locked.
func (r *route) account(name string) *account {
	for _, a := range r.accounts {
		if a.name == name {
			return a
		}
	}
	return r.accounts[0]
}

// probes reports whether an account is tried with one attempt at a time, since its provider refused it for more than
// its rate. The route is locked.
func (r *route) probes(account string) bool {
	g, refused := r.gates[account]
	return refused && g.Class != posthouse.ClassRate
}

// closed reports whether no account may send, and until when the first of them may.
func (r *route) closed() (until time.Time, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, a := range r.accounts {
		at := r.opens(a)
		if !now.Before(at) {
			return at, false
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return until, true
}

// opens is when an account may send. The route is locked.
func (r *route) opens(a *account) time.Time {
	if g := r.gates[a.name]; g.Until.After(a.held) {
		return g.Until
	}
	return a.held
}

// room is how many more attempts may be under way, by the account whose turn it is among those that may send; with
// care, and while a refused account is probed, one.
func (r *route) room(care bool) room {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	free := r.Settings.MaxInflight - r.inflight
	for i := range r.accounts {
		a := r.accounts[(r.turn+i)%len(r.accounts)]
		n := free
		switch {
		case now.Before(r.opens(a)):
			continue
		case care:
			n = min(n, 1-r.inflight)
		case r.probes(a.name):
			n = min(n, 1-a.inflight)
		}
		if n > 0 {
			return room{account: a.name, n: n, idle: r.inflight == 0}
		}
	}
	return room{idle: r.inflight == 0}
}

// passTurn lets the account after one go first the next time.
func (r *route) passTurn(account string) {
	if len(r.accounts) == 1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn = slices.Index(r.accounts, r.account(account)) + 1
}

// hold lets an account rest until its own limits have room, and reports whether others may go on meanwhile.
func (r *route) hold(account string, wait time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.account(account)
	if len(a.limits) == 0 || len(r.accounts) == 1 {
		return false
	}
	a.held = time.Now().Add(wait)
	return true
}

// bounds are all that must let a claim by an account through at once: the channel's limits, and the account's own.
func (r *route) bounds(account string) []limit.Bound {
	var list []limit.Bound
	if len(r.Settings.Limits) > 0 {
		list = append(list, limit.Bound{Key: limitKey(r.Key), Windows: r.Settings.Limits})
	}
	if a := r.account(account); len(a.limits) > 0 { // neither names nor limits ever change
		list = append(list, limit.Bound{Key: limitKey(r.Key) + "/" + a.name, Windows: a.limits})
	}
	return list
}
