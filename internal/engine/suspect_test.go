package engine

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// What may have taken its worker down is sent alone: the others that were lost with it stay safe.
func TestOneSuspectAtATimeIsUnderWay(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Tries: 100, Backoff: []posthouse.Duration{posthouse.Duration(time.Second)}}, idempotent)
		r.pause("c")
		var ids []string
		for range 10 {
			ids = append(ids, r.send(text("c", "u1"))...)
		}
		lane := work.Lane{Tenant: r.tenant, Channel: "c", Priority: posthouse.Normal}
		claim := func(owner string, most int) []work.Item {
			items, err := r.store.Claim(r.Context(), time.Now(), work.Claim{Lane: lane, Max: most, Owner: owner, Lease: time.Minute, Epoch: 1})
			if err != nil {
				r.Fatal(err)
			}
			return items
		}
		for range suspectAfter { // all are lost together, twice
			if items := claim("dies", 20); len(items) != len(ids) {
				r.Fatalf("claimed %d, want %d", len(items), len(ids))
			}
			r.pass(2 * time.Minute)
		}
		fresh := r.send(text("c", "u2"))[0]
		items := claim(r.engine.o.Owner, 20)
		sent := r.engine.setApart(r.engine.route(r.tenant, "c"), items, time.Minute)
		if len(items) != 11 || len(sent) != 2 {
			r.Errorf("claimed %d, of which %d are sent, want 11 and 2: a suspect and the fresh one", len(items), len(sent))
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
		var batch []done
		for _, item := range sent {
			batch = append(batch, done{item: item})
		}
		r.engine.cleared(batch)
		if r.engine.suspect.Load() {
			r.Error("no other suspect may begin, although the one has ended")
		}
	})
}
