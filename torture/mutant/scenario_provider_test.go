package mutant

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// misbehaving is a run of a process whose provider has a fault.
func misbehaving(messages int, fault simulator.Fault, change func(*posthouse.Channel)) func(r *rig) *house.House {
	return func(r *rig) *house.House {
		h := r.open(house.Options{}, change)
		h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{fault}})
		h.Produce(r, house.Load{Messages: messages})
		h.Settle(r)
		return h
	}
}

var lostAnswers = scenario{
	fault: "a third of all answers lost", db: house.SQLite,
	play: misbehaving(150, house.Share(simulator.CutAfter, 0.3), nil),
}

var lostAnswersWithKey = scenario{
	fault: "a third of all answers lost, with the header Idempotency-Key", db: house.SQLite,
	play: misbehaving(150, house.Share(simulator.CutAfter, 0.3), func(ch *posthouse.Channel) {
		ch.Config["idempotency_header"], ch.Config["idempotency_window"] = "Idempotency-Key", "1h"
	}),
}

var hangingProvider = scenario{
	fault: "a fifth of all requests taken and never answered", db: house.SQLite,
	play: misbehaving(100, house.Share(simulator.Hang, 0.2), func(ch *posthouse.Channel) { ch.Timeout = milliseconds(300) }),
}

var garbledAnswers = scenario{
	fault: "a third of all answers rubbish", db: house.SQLite,
	play: misbehaving(150, house.Share(simulator.Garbage, 0.3), func(ch *posthouse.Channel) { ch.Config["success_path"] = `/"id"/` }),
}

var redirectingProvider = scenario{
	fault: "redirects to a page that answers 200", db: house.SQLite,
	play: misbehaving(100, simulator.Fault{Kind: simulator.Redirect, Location: "/healthz", Times: 10}, func(ch *posthouse.Channel) {
		ch.ProbeAfter, ch.ProbeMax = milliseconds(100), milliseconds(200)
	}),
}

// longOutage loses every answer for longer than the provider remembers a key: what is then still
// unknown waits for a person.
var longOutage = scenario{fault: "no answer for longer than the provider remembers a key", db: house.SQLite, keyWindow: 3 * time.Second, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, func(ch *posthouse.Channel) {
		ch.Config["idempotency_header"], ch.Config["idempotency_window"] = "Idempotency-Key", "3s"
		ch.Backoff, ch.Timeout = []posthouse.Duration{milliseconds(300)}, milliseconds(300)
	})
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.CutAfter}}})
	h.Produce(r, house.Load{Messages: 20})
	house.Pause(r.Context(), 5*time.Second)
	h.Provider.Behave(r, "generic", simulator.Behaviour{})
	h.Settle(r, posthouse.Unknown)
	return h
}}

var manyRecipients = scenario{fault: "no fault: messages to three people each", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	h.Produce(r, house.Load{Messages: 50, Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.To = append(d.To, posthouse.Recipient{User: "v"}, posthouse.Recipient{User: "w"})
		return d
	}})
	h.Settle(r)
	return h
}}

var inLines = scenario{fault: "no fault: messages of five ordering keys, and a provider that takes its time", db: house.SQLite, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: milliseconds(20)}}})
	h.Produce(r, house.Load{Messages: 100, Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.OrderingKey = fmt.Sprint("line-", n%5)
		return d
	}})
	h.Settle(r)
	return h
}}
