package crash

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// inflight is how many attempts a process has under way at most, to a provider that knows no keys.
const inflight = 32

// A1: kill -9 of servers at random times under load. Whoever was told 202 finds the message sent, or, under
// the policy hold, held for a person; and every arrival after a delivery's first follows an unknown.
func TestA1KillsLoseNothing(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		few := 4
		if db == house.SQLite {
			few = 10
		}
		t.Run("retry", func(t *testing.T) { kills(t, db, posthouse.Retry, house.Size(few, 200)) })
		t.Run("hold", func(t *testing.T) { kills(t, db, posthouse.Hold, house.Size(3, 200)) })
	})
}

func kills(t *testing.T, db house.Database, policy posthouse.Policy, times int) {
	h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
	ch := house.Patient(h.Channel("generic"))
	ch.OnUnknown = policy
	h.PutChannel(t, ch)
	// The provider keeps its first calls, and the first kill takes every process: one of them at least is lost with an attempt,
	// however slowly this machine sends.
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Hang}}})
	killed := 0
	accepted := storm(t, h, house.Form(60, 250), times, func(n int) {
		victims := rand.Perm(len(h.Members))
		if n == 0 {
			house.Until(t, "a call to be under way", func() bool { return h.Provider.Size(t) > 0 })
		} else {
			victims = victims[:1+rand.IntN(len(victims))]
		}
		for _, v := range victims {
			h.Members[v].Kill(t)
			killed++
		}
		if n == 0 {
			busy(t, h)
		}
		for _, v := range victims {
			h.Members[v].Start(t)
		}
	})
	row := house.Row{Test: "A1", Database: string(db), What: "kill -9 under load, policy " + string(policy), N: killed, Unit: "kills"}
	var worst int // of all kills, what one left in doubt
	if policy == posthouse.Hold {
		h.Settle(t, posthouse.Unknown)
		worst = h.Judge(t, "lease_lost_after_start").Unknowns.WorstLoss
		n := count(t, h, accepted, posthouse.Unknown)
		row.Figure = fmt.Sprintf("%d messages, lost %d, duplicates %d; %s unknown a kill and at most %d, %d of %d had arrived",
			n.messages, n.lost, n.extra, per(n.held, killed), worst, n.heldArrived, n.held)
		row.Bar = fmt.Sprintf("lost 0, duplicates 0, ≤ %d unknown by any one kill", inflight)
		row.Pass = n.lost == 0 && n.extra == 0
	} else {
		h.Settle(t)
		worst = h.Judge(t, "lease_lost_after_start").Unknowns.WorstLoss
		n := count(t, h, accepted)
		row.Figure = fmt.Sprintf("%d messages, lost %d, unexplained %d; %s duplicates a kill, at most %d in doubt after one",
			n.messages, n.lost, n.unexplained, per(n.extra, killed), worst)
		row.Bar = fmt.Sprintf("lost 0, unexplained 0, ≤ %d in doubt after any one kill", inflight)
		row.Pass = n.lost == 0 && n.unexplained == 0 && n.extra <= inflight*killed
	}
	row.Pass = row.Pass && worst > 0 && worst <= inflight
	row.Bound = house.Bound(killed)
	house.Report(t, row)
}
