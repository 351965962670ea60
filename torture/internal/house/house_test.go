package house_test

import (
	"testing"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// The harness itself: a server, a kill, everything arrives.
func TestAHouseSurvivesAKill(t *testing.T) {
	h := house.Open(t, house.Options{DSN: house.SQLite.DSN(t)})
	h.PutChannel(t, h.Channel("generic"))
	accepted := h.Produce(t, house.Load{Messages: 200, Each: func(done int) {
		if done == 100 {
			h.Members[0].Kill(t)
			h.Members[0].Start(t)
		}
	}})
	h.Settle(t)
	if r := h.Judge(t); r.Totals.OK != 200 {
		t.Errorf("the checker found %d of 200 messages", r.Totals.OK)
	}
	arrived := map[string]bool{}
	for _, a := range h.Provider.Arrivals(t) {
		arrived[a.Key] = true
	}
	if len(accepted) != 200 || len(arrived) != 200 {
		t.Errorf("accepted %d messages of 200, %d arrived", len(accepted), len(arrived))
	}
}
