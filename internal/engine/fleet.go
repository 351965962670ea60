package engine

import (
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// fleet chooses what a route that has several accounts claims next: which lane, and by which of its accounts. An account
// with nothing to send costs its entry in memory and nothing else: there is no timer, goroutine or statement for it. What
// waits for an account that may not send is asleep and costs nothing either, however much it is.
//
// A pin is asleep, or it is in the ring of each priority in which it may hold something due. All methods want the route
// locked.
type fleet struct {
	accounts map[string]*account
	choices  map[work.Pin]*state.Choice
	pins     map[work.Pin]*pin
	rings    map[posthouse.Priority][]*pin
	sleepers state.Timed[*pin]
	credits  state.Credits
}

// pin is the lanes of one pin.
type pin struct {
	work.Pin
	choice *state.Choice
	due    map[posthouse.Priority]bool // may hold something due
	ringed map[posthouse.Priority]bool // stands in that ring
	asleep bool                        // until its choice has an account that can send
}

func newFleet(list []*account) *fleet {
	f := &fleet{accounts: map[string]*account{}, pins: map[work.Pin]*pin{}, credits: state.Credits{}}
	for _, a := range list {
		f.accounts[a.Name] = a
	}
	f.gather()
	return f
}

// gather makes the choices anew, and wakes all pins: some account can send that could not.
func (f *fleet) gather() {
	f.choices, f.rings, f.sleepers = map[work.Pin]*state.Choice{}, map[posthouse.Priority][]*pin{}, nil
	for _, p := range f.pins {
		p.choice, p.asleep = f.choice(p.Pin), false
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
func (f *fleet) choice(of work.Pin) *state.Choice {
	if c := f.choices[of]; c != nil {
		return c
	}
	var seats []*state.Seat
	for _, a := range f.of(of) {
		seats = append(seats, &a.Seat)
	}
	c := state.NewChoice(seats)
	f.choices[of] = c
	return c
}

// of are the accounts of a pin, as a list.
func (f *fleet) of(pin work.Pin) []*account {
	var list []*account
	if name := pin.Account(); name != "" {
		if a := f.accounts[name]; a != nil {
			list = append(list, a)
		}
		return list
	}
	for _, a := range f.accounts {
		if pin == "" || a.is.In(pin.Pool()) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *account) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// rouse says that a lane may hold something due.
func (f *fleet) rouse(of work.Pin, priority posthouse.Priority) {
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

// isDue reports whether a lane is marked as due.
func (f *fleet) isDue(of work.Pin, priority posthouse.Priority) bool {
	p := f.pins[of]
	return p != nil && p.due[priority]
}

// awake reports whether a priority may have a lane that is not asleep.
func (f *fleet) awake(p posthouse.Priority) bool { return len(f.rings[p]) > 0 }

// next is the lane that is to be claimed next, and by which account; its mark is taken, and set again where it was not
// emptied. Where there is none, wait says when one wakes by itself, zero for never.
func (f *fleet) next(now time.Time, may func(*account) (n int, until time.Time)) (p *pin, priority posthouse.Priority, a *account, n int, wake time.Time) {
	for len(f.sleepers) > 0 && !now.Before(f.sleepers[0].Until) {
		f.rise(heap.Pop(&f.sleepers).(state.At[*pin]).What)
	}
	for f.awake(posthouse.High) || f.awake(posthouse.Normal) || f.awake(posthouse.Low) {
		priority = f.credits.Next(f.awake)
		p = f.rings[priority][0]
		f.rings[priority], p.ringed[priority] = f.rings[priority][1:], false
		if p.asleep {
			continue
		}
		seat, n, until := p.choice.Pick(now, func(s *state.Seat) (int, time.Time) { return may(f.accounts[s.Name]) })
		if seat != nil {
			a := f.accounts[seat.Name]
			p.due[priority] = false
			f.tidy(p)
			return p, priority, a, n, time.Time{}
		}
		f.sleep(p, until)
	}
	if len(f.sleepers) > 0 {
		wake = f.sleepers[0].Until
	}
	return nil, "", nil, 0, wake
}

// tidy forgets a pin that holds nothing due.
func (f *fleet) tidy(p *pin) {
	for _, due := range p.due {
		if due {
			return
		}
	}
	delete(f.pins, p.Pin)
}

// sleep lets a pin be passed over, until a time where one is given.
func (f *fleet) sleep(p *pin, until time.Time) {
	p.asleep = true
	if !until.IsZero() {
		heap.Push(&f.sleepers, state.At[*pin]{What: p, Until: until})
	}
}

// rise puts a pin that was asleep back into the rings.
func (f *fleet) rise(p *pin) {
	if p == nil || !p.asleep || f.pins[p.Pin] != p {
		return
	}
	p.asleep = false
	f.line(p)
}

// took notes that an account was given n to send: its share is used up by so much.
func (f *fleet) took(a *account, n int) { a.Had += float64(n) / float64(a.is.Share()) }

// freed says that a slot of an account came free, for which something may be asleep.
func (f *fleet) freed(a *account) {
	if !a.Full {
		return // as nearly always
	}
	a.Full = false
	pins := []work.Pin{"", work.ByAccount(a.Name)}
	for _, label := range a.is.Pools {
		pins = append(pins, work.ByPool(label))
	}
	for _, of := range pins {
		if c := f.choices[of]; c != nil {
			c.Free(&a.Seat)
		}
		f.rise(f.pins[of])
	}
}
