package admission

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// fleet chooses what a route that has several accounts claims next: which lane, and by which of its accounts. An account
// with nothing to send costs its entry in memory and nothing else: there is no timer, goroutine or statement for it. What
// waits for an account that may not send is asleep and costs nothing either, however much it is.
//
// A pin is asleep, or it is in the ring of each priority in which it may hold something due. All methods want the route
// locked.
type fleet struct {
	accounts map[string]*Account
	choices  map[way]*choice
	pins     map[way]*pin
	rings    map[posthouse.Priority][]*pin
	sleepers timed[*pin]
	turns    turns
	spread   map[Lane]int // of those that several accounts may claim of at once
	split    bool         // accounts may send what is of high priority when they may send nothing else
}

// way is a pin, and whether it is that of high priority alone, where accounts tell that apart from the rest.
type way struct {
	work.Pin
	high bool
}

func (f *fleet) way(l Lane) way { return way{l.Pin, f.split && l.Priority == posthouse.High} }

// pin is the lanes of one pin.
type pin struct {
	way
	choice *choice
	due    map[posthouse.Priority]bool // may hold something due
	ringed map[posthouse.Priority]bool // stands in that ring
	asleep bool                        // until its choice has an account that can send
}

// newFleet is a fleet of accounts, none of which has anything to send.
func newFleet(list []*Account) *fleet {
	f := &fleet{accounts: map[string]*Account{}, pins: map[way]*pin{}, turns: newTurns(), spread: map[Lane]int{}}
	for _, a := range list {
		f.accounts[a.Name] = a
	}
	f.gather()
	return f
}

// gather makes the choices anew, and wakes all pins: some account can send that could not.
func (f *fleet) gather() {
	f.choices, f.rings, f.sleepers = map[way]*choice{}, map[posthouse.Priority][]*pin{}, nil
	for _, p := range f.pins {
		p.choice, p.asleep = f.choice(p.way), false
		clear(p.ringed)
		f.line(p)
	}
}

// line puts a pin into the rings that it belongs in.
func (f *fleet) line(p *pin) {
	for _, priority := range posthouse.Priorities() {
		if p.due[priority] && !p.ringed[priority] {
			p.ringed[priority] = true
			f.rings[priority] = append(f.rings[priority], p)
		}
	}
}

// choice are the accounts of a pin: none where it names one that is there no more.
func (f *fleet) choice(of way) *choice {
	if c := f.choices[of]; c != nil {
		return c
	}
	c := newChoice(f.Of(of.Pin))
	f.choices[of] = c
	return c
}

// Of are the accounts of a pin, as a list.
func (f *fleet) Of(pin work.Pin) []*Account {
	var list []*Account
	if name := pin.Account(); name != "" {
		if a := f.accounts[name]; a != nil {
			list = append(list, a)
		}
		return list
	}
	for _, a := range f.accounts {
		if pin == "" || slices.Contains(a.Pools, pin.Pool()) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *Account) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// mark says that a lane may hold something due.
func (f *fleet) mark(l Lane) {
	p := f.pins[f.way(l)]
	if p == nil {
		p = &pin{way: f.way(l), choice: f.choice(f.way(l)), due: map[posthouse.Priority]bool{}, ringed: map[posthouse.Priority]bool{}}
		f.pins[p.way] = p
	}
	p.due[l.Priority] = true
	f.turns.back(l.Priority)
	if !p.asleep {
		f.line(p)
	}
}

func (f *fleet) marked(l Lane) bool {
	p := f.pins[f.way(l)]
	return p != nil && p.due[l.Priority]
}

// any is true: next knows, and when what is asleep wakes.
func (f *fleet) any() bool { return true }

// awake reports whether a priority may have a lane that is not asleep.
func (f *fleet) awake(p posthouse.Priority) bool { return len(f.rings[p]) > 0 }

// next is a lane of a priority that is open, and one account: its mark is set again where the lane was not emptied.
func (f *fleet) next(now time.Time, most Room, free asked) (got pick, wake time.Time) {
	for len(f.sleepers) > 0 && !now.Before(f.sleepers[0].Until) {
		f.rise(heap.Pop(&f.sleepers).(at[*pin]).What)
	}
	open := func(p posthouse.Priority) bool {
		if !f.awake(p) {
			return false
		}
		room, _ := free.lane(now, Lane{Priority: p})
		return !room.none()
	}
	for {
		priority := f.turns.next(open)
		if priority == "" {
			break
		}
		p := f.rings[priority][0]
		f.rings[priority], p.ringed[priority] = f.rings[priority][1:], false
		if p.asleep {
			continue
		}
		l := Lane{p.Pin, priority}
		account, room, bound, until := p.choice.pick(now, func(a *Account) (Room, Stage, time.Time) { return free.account(now, a, l, most) })
		if account != nil {
			p.due[priority] = false
			f.tidy(p)
			f.turns.begin(priority)
			return pick{account: account, room: room, bound: bound, lanes: []share{{Lane: l, n: room.N}}}, time.Time{}
		}
		f.sleep(p, until)
	}
	if len(f.sleepers) > 0 {
		wake = now.Add(max(f.sleepers[0].Until.Sub(now), time.Millisecond))
	}
	return pick{}, sooner(wake, laneOpens(now, free, func(posthouse.Priority) bool { return true }))
}

func (f *fleet) choose(now time.Time, l Lane, most Room, free asked) (*Account, Room, Stage, time.Time) {
	return f.choice(f.way(l)).pick(now, func(a *Account) (Room, Stage, time.Time) { return free.account(now, a, l, most) })
}

// widest bounds how many accounts claim of one lane at once.
const widest = 256

// narrow changes nothing: a claim is of one lane.
func (f *fleet) narrow([]share, int, *pick) {}

// rank is how much of its share a priority has had.
func (f *fleet) rank(p posthouse.Priority) float64 { return f.turns.had[p] }

// settle counts what a lane was given in some turns.
func (f *fleet) settle(l Lane, turns, given int) { f.turns.end(l.Priority, turns, given) }

// reach is how many accounts may claim of a lane at once: what is in it is not known, and a claim that finds nothing is in vain.
func (f *fleet) reach(l Lane) int { return max(1, f.spread[l]) }

// more lets another account claim of a lane that was deep lately.
func (f *fleet) more(l Lane, accounts int) bool {
	if accounts < f.reach(l) {
		f.mark(l)
	}
	return true
}

// found has twice as many go next time where a claim found all that it asked for, else half as many.
func (f *fleet) found(l Lane, all, emptied bool) {
	if emptied {
		f.turns.leave(l.Priority)
	}
	n := f.reach(l)
	switch {
	case l.Pin.Account() != "": // there is one account for it
	case all:
		f.spread[l] = min(2*n, widest)
	case n <= 2:
		delete(f.spread, l)
	default:
		f.spread[l] = n / 2
	}
}

// tidy forgets a pin that holds nothing due.
func (f *fleet) tidy(p *pin) {
	for _, due := range p.due {
		if due {
			return
		}
	}
	delete(f.pins, p.way)
}

// sleep lets a pin be passed over, until a time where one is given.
func (f *fleet) sleep(p *pin, until time.Time) {
	p.asleep = true
	if !until.IsZero() {
		heap.Push(&f.sleepers, at[*pin]{What: p, Until: until})
	}
}

// rise puts a pin that was asleep back into the rings.
func (f *fleet) rise(p *pin) {
	if p == nil || !p.asleep || f.pins[p.way] != p {
		return
	}
	p.asleep = false
	f.line(p)
}

// took uses up so much of an account's share.
func (f *fleet) took(a *Account, n int) { a.had += float64(n) / float64(cmp.Or(a.Weight, 1)) }

// freed wakes what is asleep for an account that had no slot.
func (f *fleet) freed(a *Account) {
	if !a.full {
		return // as nearly always
	}
	a.full = false
	pins := []work.Pin{"", work.ByAccount(a.Name)}
	for _, label := range a.Pools {
		pins = append(pins, work.ByPool(label))
	}
	for _, of := range pins {
		for _, high := range []bool{false, true} {
			if c := f.choices[way{of, high}]; c != nil {
				c.free(a)
			}
			f.rise(f.pins[way{of, high}])
		}
	}
}

// Asleep are the lanes that may hold something due for one account, where that was found unable to send when they were looked
// at last.
func (f *fleet) Asleep(yield func(Lane)) {
	for of, p := range f.pins {
		if !p.asleep || of.Account() == "" {
			continue
		}
		for _, priority := range posthouse.Priorities() {
			if p.due[priority] {
				yield(Lane{of.Pin, priority})
			}
		}
	}
}
