// Package fleet chooses by which of its accounts a channel sends next, and what.
package fleet

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Fleet chooses what a route that has several accounts claims next: which lane, and by which of its accounts. An account
// with nothing to send costs its entry in memory and nothing else: there is no timer, goroutine or statement for it. What
// waits for an account that may not send is asleep and costs nothing either, however much it is.
//
// A pin is asleep, or it is in the ring of each priority in which it may hold something due. All methods want the route
// locked.
type Fleet struct {
	seats    map[string]*Seat
	choices  map[work.Pin]*Choice
	pins     map[work.Pin]*pin
	rings    map[posthouse.Priority][]*pin
	sleepers Timed[*pin]
	credits  state.Credits
	spread   map[lane]int // of those that several accounts may claim of at once
}

// lane is what waits under a pin in one priority.
type lane struct {
	pin      work.Pin
	priority posthouse.Priority
}

// pin is the lanes of one pin.
type pin struct {
	work.Pin
	choice *Choice
	due    map[posthouse.Priority]bool // may hold something due
	ringed map[posthouse.Priority]bool // stands in that ring
	asleep bool                        // until its choice has an account that can send
}

// New is a fleet of accounts, none of which has anything to send.
func New(list []*Seat) *Fleet {
	f := &Fleet{seats: map[string]*Seat{}, pins: map[work.Pin]*pin{}, credits: state.Credits{}, spread: map[lane]int{}}
	for _, a := range list {
		f.seats[a.Name] = a
	}
	f.Gather()
	return f
}

// Gather makes the choices anew, and wakes all pins: some account can send that could not.
func (f *Fleet) Gather() {
	f.choices, f.rings, f.sleepers = map[work.Pin]*Choice{}, map[posthouse.Priority][]*pin{}, nil
	for _, p := range f.pins {
		p.choice, p.asleep = f.choice(p.Pin), false
		clear(p.ringed)
		f.line(p)
	}
}

// line puts a pin into the rings that it belongs in.
func (f *Fleet) line(p *pin) {
	for _, priority := range posthouse.Priorities() {
		if p.due[priority] && !p.ringed[priority] {
			p.ringed[priority] = true
			f.rings[priority] = append(f.rings[priority], p)
		}
	}
}

// choice are the accounts of a pin: none where it names one that is there no more.
func (f *Fleet) choice(of work.Pin) *Choice {
	if c := f.choices[of]; c != nil {
		return c
	}
	c := NewChoice(f.Of(of))
	f.choices[of] = c
	return c
}

// Of are the accounts of a pin, as a list.
func (f *Fleet) Of(pin work.Pin) []*Seat {
	var list []*Seat
	if name := pin.Account(); name != "" {
		if a := f.seats[name]; a != nil {
			list = append(list, a)
		}
		return list
	}
	for _, a := range f.seats {
		if pin == "" || slices.Contains(a.Pools, pin.Pool()) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *Seat) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Rouse says that a lane may hold something due.
func (f *Fleet) Rouse(of work.Pin, priority posthouse.Priority) {
	p := f.pins[of]
	if p == nil {
		p = &pin{Pin: of, choice: f.choice(of), due: map[posthouse.Priority]bool{}, ringed: map[posthouse.Priority]bool{}}
		f.pins[of] = p
	}
	p.due[priority] = true
	if !p.asleep {
		f.line(p)
	}
}

// IsDue reports whether a lane is marked as due.
func (f *Fleet) IsDue(of work.Pin, priority posthouse.Priority) bool {
	p := f.pins[of]
	return p != nil && p.due[priority]
}

// awake reports whether a priority may have a lane that is not asleep.
func (f *Fleet) awake(p posthouse.Priority) bool { return len(f.rings[p]) > 0 }

// Pick is a lane that is to be claimed next, and by which account how much of it.
type Pick struct {
	Pin      work.Pin
	Priority posthouse.Priority
	By       *Seat // nil for none
	N        int
}

// Next is the lane that is to be claimed next, of a priority that is open, and by which account; its mark is taken, and set
// again where it was not emptied. Where there is none, wait says when one wakes by itself, zero for never.
func (f *Fleet) Next(now time.Time, open func(posthouse.Priority) bool, may func(*Seat) (n int, until time.Time)) (t Pick, wake time.Time) {
	for len(f.sleepers) > 0 && !now.Before(f.sleepers[0].Until) {
		f.rise(heap.Pop(&f.sleepers).(At[*pin]).What)
	}
	awake := func(p posthouse.Priority) bool { return f.awake(p) && open(p) }
	for awake(posthouse.High) || awake(posthouse.Normal) || awake(posthouse.Low) {
		priority := f.credits.Next(awake)
		p := f.rings[priority][0]
		f.rings[priority], p.ringed[priority] = f.rings[priority][1:], false
		if p.asleep {
			continue
		}
		seat, n, until := p.choice.Pick(now, may)
		if seat != nil {
			p.due[priority] = false
			f.tidy(p)
			return Pick{p.Pin, priority, seat, n}, time.Time{}
		}
		f.sleep(p, until)
	}
	if len(f.sleepers) > 0 {
		wake = f.sleepers[0].Until
	}
	return Pick{}, wake
}

// widest bounds how many accounts claim of one lane at once.
const widest = 256

// Spread is how many accounts may claim of a lane at once: what is in it is not known, and a claim that finds nothing is in vain.
func (f *Fleet) Spread(of work.Pin, p posthouse.Priority) int { return max(1, f.spread[lane{of, p}]) }

// Found says whether a claim of a lane has found all that it asked for: then twice as many go next time, else half as many.
func (f *Fleet) Found(of work.Pin, p posthouse.Priority, all bool) {
	l := lane{of, p}
	n := f.Spread(of, p)
	switch {
	case of.Account() != "": // there is one account for it
	case all:
		f.spread[l] = min(2*n, widest)
	case n <= 2:
		delete(f.spread, l)
	default:
		f.spread[l] = n / 2
	}
}

// tidy forgets a pin that holds nothing due.
func (f *Fleet) tidy(p *pin) {
	for _, due := range p.due {
		if due {
			return
		}
	}
	delete(f.pins, p.Pin)
}

// sleep lets a pin be passed over, until a time where one is given.
func (f *Fleet) sleep(p *pin, until time.Time) {
	p.asleep = true
	if !until.IsZero() {
		heap.Push(&f.sleepers, At[*pin]{What: p, Until: until})
	}
}

// rise puts a pin that was asleep back into the rings.
func (f *Fleet) rise(p *pin) {
	if p == nil || !p.asleep || f.pins[p.Pin] != p {
		return
	}
	p.asleep = false
	f.line(p)
}

// Took notes that an account was given n to send: its share is used up by so much.
func (f *Fleet) Took(a *Seat, n int) { a.Had += float64(n) / float64(cmp.Or(a.Weight, 1)) }

// Freed says that a slot of an account came free, for which something may be asleep.
func (f *Fleet) Freed(a *Seat) {
	if !a.Full {
		return // as nearly always
	}
	a.Full = false
	pins := []work.Pin{"", work.ByAccount(a.Name)}
	for _, label := range a.Pools {
		pins = append(pins, work.ByPool(label))
	}
	for _, of := range pins {
		if c := f.choices[of]; c != nil {
			c.Free(a)
		}
		f.rise(f.pins[of])
	}
}

// Asleep are the lanes that may hold something due for one account, where that was found unable to send when they were looked
// at last.
func (f *Fleet) Asleep(yield func(of work.Pin, priority posthouse.Priority)) {
	for of, p := range f.pins {
		if !p.asleep || of.Account() == "" {
			continue
		}
		for _, priority := range posthouse.Priorities() {
			if p.due[priority] {
				yield(of, priority)
			}
		}
	}
}
