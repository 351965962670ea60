package crash

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// A16: kill -9 of servers while messages are gathered and their digests leave, of which some are refused for good and some lose their answers. In
// the end each message shares what became of one delivery, or left by itself: verify's I39 says that none was dropped.
func TestA16KillsDropNoMemberOfADigest(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		few := 1
		if db == house.SQLite {
			few = 4
		}
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		ch := h.Channel("first")
		ch.OnUnknown = posthouse.Hold
		ch.HoldTimeout = posthouse.Duration(3 * time.Second)
		h.PutChannel(t, ch)
		api := h.Members[0].Client(t, 3)
		if _, err := api.Digests.Put(t.Context(), posthouse.Digest{Name: "some", Window: posthouse.Duration(2 * time.Second), Max: 7, By: "ref"}); err != nil {
			t.Fatal(err)
		}
		slow, refuses, loses := house.Share(simulator.Latency, 1), house.Share(simulator.Business, 0.2), house.Share(simulator.CutAfter, 0.1)
		slow.Latency, slow.Jitter, refuses.Code = posthouse.Duration(60*time.Millisecond), posthouse.Duration(25*time.Millisecond), simulator.RefusedContent
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{loses, refuses, slow}})
		killed := 0
		draft := func(n int) posthouse.Draft {
			d := house.Text("first", n)
			d.Digest, d.Ref, d.To = "some", fmt.Sprint(n%3), []posthouse.Recipient{{User: "u"}}
			return d
		}
		accepted := stormOf(t, h, draft, house.Form(40, 250), house.Size(few, 100), func(int) {
			victims := rand.Perm(len(h.Members))[:1+rand.IntN(len(h.Members))]
			for _, v := range victims {
				h.Members[v].Kill(t)
				killed++
			}
			for _, v := range victims {
				h.Members[v].Start(t)
			}
		})
		states := map[posthouse.State]int{}
		for _, id := range accepted {
			var d posthouse.Delivery
			house.Until(t, "the delivery of "+id+" to be settled", func() (done bool) {
				var err error
				d, err = api.Deliveries.Get(t.Context(), posthouse.DeliveryID(id, 1))
				return err == nil && !d.State.Open()
			})
			states[d.State]++
		}
		if states[posthouse.Sent] == 0 || states[posthouse.Failed] == 0 {
			t.Errorf("%d messages, %d kills: %v; want some sent and some failed", len(accepted), killed, states)
		}
		h.Settle(t)
		if law := h.Judge(t).Invariant("I39"); law.Checked == 0 {
			t.Error("the checker has judged no collection")
		}
		house.Report(t, house.Row{
			Test: "A16", Database: string(db), What: "kill -9 while digests gather and leave", N: killed, Unit: "kills",
			Figure: fmt.Sprintf("%d messages, %d sent, %d failed", len(accepted), states[posthouse.Sent], states[posthouse.Failed]),
			Bar:    "all settled, I39 holds", Bound: house.Bound(killed), Pass: !t.Failed(),
		})
	})
}
