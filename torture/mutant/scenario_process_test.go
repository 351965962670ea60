package mutant

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// shortLeases are of processes that are lost, or their claims: what they held waits for them to end.
var shortLeases = []string{"POSTHOUSE_LEASE_MARGIN=1s"}

// kills kills the process three times in the middle of its work.
var kills = scenario{fault: "kill -9, three times", db: house.SQLite, seen: "lease_lost_after_start", play: func(r *rig) *house.House {
	h := r.open(house.Options{Env: shortLeases}, func(ch *posthouse.Channel) { ch.MaxInflight = 16 })
	h.Produce(r, house.Load{Messages: 2000, Each: func(accepted int) {
		if accepted%500 == 0 && accepted < 2000 {
			h.Members[0].Kill(r)
			h.Members[0].Start(r)
		}
	}})
	h.Settle(r)
	return h
}}

// lostCommits lets callers hand in messages while the database's answers to COMMIT get lost, or the
// COMMITs themselves.
var lostCommits = scenario{fault: "COMMITs lost, and answers to them", db: house.Postgres, seen: "commit_outcome_unknown", play: func(r *rig) *house.House {
	link, through, past := r.link()
	h := r.open(house.Options{DSN: through, JudgeDSN: past, Env: shortLeases}, nil)
	link.Set(proxy.Faults{CommitLost: proxy.Strike{Share: 0.1}, AnswerLost: proxy.Strike{Share: 0.1}})
	h.Produce(r, house.Load{Messages: 200, Producers: 4})
	link.Set(proxy.Faults{})
	h.Fault(r, house.Fault{Kind: "db_cut", N: int(link.Stats().Struck())})
	h.Settle(r)
	return h
}}

// twoDispatchers has two processes claim from one lane, a few deliveries at a time.
var twoDispatchers = scenario{fault: "no fault: two processes share a backlog", db: house.Postgres, play: func(r *rig) *house.House {
	h := r.open(house.Options{Members: 2}, func(ch *posthouse.Channel) { ch.MaxInflight = 8 })
	h.Produce(r, house.Load{Messages: 600})
	h.Settle(r)
	return h
}}

// frozenHolder freezes one of two processes again and again until its leases have ended, while the
// provider refuses each attempt after a while: so leases change hands, and late results come.
var frozenHolder = scenario{fault: "one of two processes frozen beyond its leases, three times", db: house.Postgres, seen: "stale_result_refused,lease_lost_after_start", play: func(r *rig) *house.House {
	h := r.open(house.Options{Members: 2, Env: []string{"POSTHOUSE_RESCUE_EVERY=800ms", "POSTHOUSE_LEASE_MARGIN=500ms"}}, nil)
	busy := simulator.Fault{Kind: simulator.ServerError, Latency: milliseconds(300), Jitter: milliseconds(200)}
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{busy}})
	h.Produce(r, house.Load{Messages: 40})
	for range 3 {
		thaw := h.Members[0].Freeze(r)
		house.Pause(r.Context(), 2500*time.Millisecond) // the lease is 1.5 s
		thaw()
		house.Pause(r.Context(), time.Second)
	}
	h.Provider.Behave(r, "generic", simulator.Behaviour{})
	h.Settle(r)
	for _, m := range h.Members { // a late refusal leaves no event
		if n := strings.Count(m.Log(), "results came late"); n > 0 {
			h.Fault(r, house.Fault{Kind: "seen", Note: "stale_result_refused", Target: m.Name(), N: n})
		}
	}
	return h
}}

// cancels has every caller take its message back as soon as it is accepted.
var cancels = scenario{fault: "no fault: every message cancelled as soon as it is accepted", db: house.SQLite, seen: "cancel_won,cancel_lost", play: func(r *rig) *house.House {
	// Slots that are all in use let some cancels come first, and messages that are under way for a while let others come last.
	h := r.open(house.Options{}, func(ch *posthouse.Channel) { ch.MaxInflight, ch.Timeout = 4, milliseconds(20_000) })
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: milliseconds(5)}}})
	var callers sync.WaitGroup
	for c := range 16 {
		callers.Go(func() {
			for n := range 25 {
				id, err := h.Send(r, fmt.Sprintf("cancel-%d-%d", c, n), house.Text("generic", n), false)
				if err != nil {
					r.Error(err)
					return
				}
				r.cancel(h, id)
			}
		})
	}
	callers.Wait()
	h.Settle(r)
	return h
}}

// cancel takes a message back and notes what its caller is told.
func (r *rig) cancel(h *house.House, message string) {
	asked := time.Now()
	answer, err := h.Members[0].Client(r, 1).Messages.Cancel(r.Context(), message)
	if err != nil {
		r.Error(err)
		return
	}
	for _, d := range answer.Deliveries {
		h.Tell(r, house.Told{Asked: asked, At: time.Now(), Op: "cancel", Answer: d.Result, Status: 200, Message: message, Delivery: d.Delivery})
	}
}

// clockBehind has one of two processes an hour behind; the database's clock is right.
var clockBehind = scenario{fault: "the clock of one of two processes an hour behind", db: house.Postgres, world: overlay.WrongClock, play: func(r *rig) *house.House {
	h := r.open(house.Options{}, nil)
	m := h.Add(r, r.binary)
	m.Env = []string{overlay.ClockOff + "=-3600"}
	m.Start(r)
	h.Fault(r, house.Fault{Kind: "clock", Target: m.Name(), Note: "an hour behind"})
	slow := simulator.Fault{Kind: simulator.Latency, Latency: milliseconds(100)}
	h.Provider.Behave(r, "generic", simulator.Behaviour{Faults: []simulator.Fault{slow}})
	h.Produce(r, house.Load{Messages: 100})
	h.Settle(r)
	return h
}}
