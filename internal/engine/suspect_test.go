package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// lostTogether makes ten deliveries that were lost together twice, and a fresh one, and claims them all.
func lostTogether(r *rig) (lost []string, fresh string, items []work.Item) {
	r.Helper()
	r.open("c", posthouse.ChannelSettings{Tries: 100, Backoff: []posthouse.Duration{posthouse.Duration(time.Second)}}, idempotent)
	r.pause("c")
	for range 10 {
		lost = append(lost, r.send(text("c", "u1"))...)
	}
	lane := work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}
	claim := func(owner string, most int) []work.Item {
		items, err := r.store.Queue.Claim(r.Context(), time.Now(), work.Claim{Lane: lane, Max: most, Owner: owner, Lease: time.Minute, Epoch: 1})
		if err != nil || len(items) != most {
			r.Fatalf("claimed %d, %v; want %d", len(items), err, most)
		}
		return items
	}
	for range suspectAfter {
		claim("dies", len(lost))
		r.pass(2 * time.Minute)
	}
	fresh = r.send(text("c", "u2"))[0]
	return lost, fresh, claim(r.engine.o.Owner, len(lost)+1)
}

// What may have taken its worker down is sent alone: the others that were lost with it stay safe.
func TestOneSuspectAtATimeIsUnderWay(t *testing.T) {
	virtual(t, func(r *rig) {
		ids, fresh, items := lostTogether(r)
		sent := r.engine.deliveries.suspects.setApart(r.engine.Routes.route(r.tenant, "c"), items, time.Now().Add(time.Minute))
		if len(sent) != 2 {
			r.Errorf("%d are sent, want 2: a suspect and the fresh one", len(sent))
		}
		for _, id := range ids[1:] {
			if d := r.get(id); d.State == posthouse.Pending && (d.Attempts != suspectAfter || d.ClaimLosses != suspectAfter) {
				r.Errorf("given back with %d attempts and %d losses, want %d and %d", d.Attempts, d.ClaimLosses, suspectAfter, suspectAfter)
			}
		}
		if d := r.get(fresh); d.State != posthouse.Sending {
			r.Errorf("the fresh one is %s, want sending", d.State)
		}
		r.pass(5 * time.Minute)
		for i := range sent {
			r.engine.deliveries.suspects.cleared(&sent[i].Delivery)
		}
		if r.engine.deliveries.suspects.one.Load() {
			r.Error("no other suspect may begin, although the one has ended")
		}
	})
}

// Those that were to be given back are not sent where nobody can say whether they are: another process may have claimed
// them by then.
func TestASuspectThatMayBeGivenBackIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		breaks    int32
		committed bool
		state     posthouse.State // of those that are not sent
	}{
		"a lost answer":              {1, true, posthouse.Pending},
		"a reset connection":         {1, false, posthouse.Pending},
		"no answer within the lease": {1000, false, posthouse.Sending},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				st := &lossy{Whole: storetest.All(r.store), committed: c.committed}
				r.between(st)
				ids, _, items := lostTogether(r)
				st.breaks.Store(c.breaks)
				began := time.Now()
				sent := r.engine.deliveries.suspects.setApart(r.engine.Routes.route(r.tenant, "c"), items, began.Add(time.Minute))
				if took := time.Since(began); took > time.Minute {
					r.Errorf("it took %v, want no longer than the lease", took)
				}
				st.breaks.Store(0)
				under := map[string]bool{}
				for _, item := range sent {
					under[item.Delivery.ID] = true
				}
				if len(under) != 2 {
					r.Errorf("%d are sent, want 2: a suspect and the fresh one", len(under))
				}
				for _, id := range ids {
					if d := r.get(id); !under[id] && d.State != c.state {
						r.Errorf("one that is not sent is %s, want %s", d.State, c.state)
					}
				}
			})
		})
	}
}

// What is cancelled between its claim and its return is gone, and not left to the end of its lease.
func TestASuspectThatIsCancelledMeanwhileIsGivenBack(t *testing.T) {
	virtual(t, func(r *rig) {
		ids, _, items := lostTogether(r)
		if _, err := r.engine.Operator.Cancel(r.Context(), r.tenant, ids); err != nil {
			r.Fatal(err)
		}
		sent := r.engine.deliveries.suspects.setApart(r.engine.Routes.route(r.tenant, "c"), items, time.Now().Add(time.Minute))
		for _, id := range ids {
			if d := r.get(id); d.State != posthouse.Cancelled && id != sent[0].Delivery.ID {
				r.Errorf("one that was cancelled and not sent is %s, want cancelled", d.State)
			}
		}
	})
}
