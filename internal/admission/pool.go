package admission

import (
	"sync"
	"time"
)

// Pool has the senders of a process. Who is about to claim takes some, and returns those that found nothing to send. A nil Pool
// bounds nothing.
type Pool struct {
	of      Senders
	changed func(from, to int)

	mu      sync.Mutex
	state   sendersState
	taken   int // for claims that are being made
	busy    int
	seen    seenCalls
	waiting map[any]func() // who found no sender free, and how to wake him
}

// NewPool is a pool of senders, none of which is busy. It says their number and each change of it to changed.
func NewPool(now time.Time, of Senders, changed func(from, to int)) *Pool {
	changed(0, of.Min)
	return &Pool{of: of, changed: changed, state: noSenders(now, of), waiting: map[any]func(){}}
}

// some is what one taker is given at least where there are as many. It is given half of those that are free: the next one claims
// at the same moment.
const some = 16

// Take takes up to want senders for a claim. Where none is free, wake is called when one may be; who names the one that asks.
func (p *Pool) Take(now time.Time, want int, who any, wake func()) int {
	if p == nil || want <= 0 {
		return want
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(want, p.free(now, who, wake))
	p.taken += n
	return n
}

// Free is how many senders one may take now.
func (p *Pool) Free(now time.Time, who any, wake func()) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free(now, who, wake)
}

// free has who finds none wait for some. The pool is locked.
func (p *Pool) free(now time.Time, who any, wake func()) int {
	p.step(now)
	if p.busy+p.taken >= p.state.Number { // also where a claim that the database does not answer has them all
		p.become(p.state.Short(p.of))
	}
	free := p.state.Number - p.busy - p.taken
	if free <= 0 {
		p.waiting[who] = wake
		return 0
	}
	delete(p.waiting, who)
	return max(min(free, some), free/2)
}

// Began says that a claim which took some has found so many calls to make, for each of which a sender has waited so long: what a
// claim takes is a part of what sending takes.
func (p *Pool) Began(taken, calls int, waited time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken, p.busy = p.taken-taken, p.busy+calls
	p.seen.Took += time.Duration(calls) * waited
	if calls < taken {
		p.wake()
	}
}

// Short says that a claim was given fewer senders than it wanted, and has found work for all of them: there is more.
func (p *Pool) Short() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.become(p.state.Short(p.of))
}

// Ended counts a call that took so long, or 0 where it was not made after all.
func (p *Pool) Ended(now time.Time, took time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if took > 0 {
		p.seen.Ended++
		p.seen.Took += took
	}
	p.step(now)
	p.wake()
}

// wake wakes all that wait: who finds none waits again. The pool is locked.
func (p *Pool) wake() {
	for who, wake := range p.waiting {
		delete(p.waiting, who)
		wake()
	}
}

// Now is how many senders there may be, and how many are busy.
func (p *Pool) Now(now time.Time) (senders, busy int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(now)
	return p.state.Number, p.busy
}

// step steps the state where it is time. The pool is locked.
func (p *Pool) step(now time.Time) {
	seen := p.seen
	seen.Busy = p.busy
	if next, stepped := p.state.Step(now, seen, p.of); stepped {
		p.seen = seenCalls{}
		p.become(next)
	}
}

// become takes over a state. The pool is locked.
func (p *Pool) become(next sendersState) {
	if from := p.state.Number; from != next.Number {
		p.changed(from, next.Number)
	}
	p.state = next
}
