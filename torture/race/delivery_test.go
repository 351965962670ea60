package race

import (
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/decide"
)

// deed is one call as one delivery saw it: what was asked, and what the caller was told. A call about
// several deliveries is a deed of each, since what holds for each holds for all of them together.
type deed struct {
	kind     kind
	delivery string
	// version and token are the guard of a result, or what a claim, a look or a rescuer found.
	version, token int64
	state          posthouse.State // found by a look
	refused        bool            // a guarded write
	answer         string          // a cancel's
}

type kind string

// The calls of the history. A claim that returns nothing of a delivery says nothing about it.
const (
	accepts   kind = "accept"
	claims    kind = "claim" // by an agent, which starts later
	pushes    kind = "push"  // a claim that starts
	starts    kind = "start"
	sends     kind = "sent"
	retries   kind = "retry"
	rescues   kind = "rescue"   // a lease that has ended
	cancels   kind = "cancel"   // as the engine does it
	looks     kind = "look"     // a read without a lock
	closesNow kind = "evidence" // a locked look, and a success if it is still ours
)

// delivery is the model: one delivery, by itself.
type delivery struct {
	state          posthouse.State
	version, token int64
	started        bool
	asked          bool // somebody asked to cancel it
}

// model says which histories of deliveries there are when everything happens at one moment between
// its call and its answer.
var model = porcupine.Model{
	Init:      func() any { return delivery{} },
	Partition: byDelivery,
	Step: func(state, input, _ any) (bool, any) {
		d, c := state.(delivery), input.(deed)
		return steps[c.kind](&d, &c), d
	},
}

func byDelivery(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, op := range history {
		id := op.Input.(deed).delivery
		parts[id] = append(parts[id], op)
	}
	return slices.Collect(maps.Values(parts))
}

// steps say for each call whether a delivery can answer so, and what becomes of it.
var steps = map[kind]func(d *delivery, c *deed) bool{
	accepts: func(d *delivery, _ *deed) bool {
		fresh := *d == delivery{}
		*d = delivery{state: posthouse.Pending, version: 1}
		return fresh
	},
	claims: func(d *delivery, c *deed) bool { return d.claimed(c, false) },
	pushes: func(d *delivery, c *deed) bool { return d.claimed(c, true) },
	starts: func(d *delivery, c *deed) bool {
		return d.guarded(c, func() { d.started = true })
	},
	sends: func(d *delivery, c *deed) bool {
		return d.guarded(c, func() { d.state = posthouse.Sent })
	},
	retries: func(d *delivery, c *deed) bool {
		return d.guarded(c, func() { d.state, d.started = posthouse.Pending, false })
	},
	rescues: func(d *delivery, c *deed) bool {
		ok := d.state == posthouse.Sending && d.version == c.version && d.token == c.token
		d.version++
		switch {
		case !d.started:
			d.state = posthouse.Pending
		case d.asked:
			d.state, d.version = posthouse.Failed, d.version+1
		default:
			d.state, d.version = posthouse.Pending, d.version+1
		}
		d.started = false
		return ok
	},
	cancels: func(d *delivery, c *deed) bool {
		switch {
		case d.state == posthouse.Pending, d.state == posthouse.Sending && !d.started:
			d.state, d.version = posthouse.Cancelled, d.version+1
			return c.answer == decide.CancelDone
		case d.state == posthouse.Sending:
			if !d.asked {
				d.asked, d.version = true, d.version+1
			}
			return c.answer == decide.CancelLate
		}
		return d.state != "" && c.answer == decide.CancelFinal
	},
	looks: func(d *delivery, c *deed) bool {
		return d.state == c.state && d.version == c.version && d.token == c.token
	},
	closesNow: func(d *delivery, c *deed) bool {
		ok := d.state == c.state && d.version == c.version && d.token == c.token
		if !c.refused {
			ok = ok && d.state == posthouse.Sending
			d.state, d.version = posthouse.Sent, d.version+1
		}
		return ok
	},
}

// claimed: only what is pending can be claimed, and the token goes up by one.
func (d *delivery) claimed(c *deed, start bool) bool {
	ok := d.state == posthouse.Pending && c.token == d.token+1 && c.version == d.version+1
	d.state, d.version, d.token, d.started = posthouse.Sending, c.version, c.token, start
	return ok
}

// guarded: a write holds exactly if the delivery is still as its writer saw it.
func (d *delivery) guarded(c *deed, write func()) bool {
	holds := d.state == posthouse.Sending && d.version == c.version && d.token == c.token
	if holds && !c.refused {
		d.version++
		write()
	}
	return holds != c.refused
}
