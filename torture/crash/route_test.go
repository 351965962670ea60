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

// A14: kill -9 of servers while messages follow a route of two steps, of which the first refuses some for good and loses the answers of
// others. Each notification is decided in the end; and whoever was reached by two steps had a first one whose outcome nobody knew, or no
// time left.
func TestA14KillsTellNobodyTwice(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		few := 1
		if db == house.SQLite {
			few = 4
		}
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		for _, name := range []string{"first", "second"} {
			ch := h.Channel(name)
			ch.OnUnknown = posthouse.Hold
			ch.HoldTimeout = posthouse.Duration(3 * time.Second) // then nobody waits for it any more
			h.PutChannel(t, ch)
		}
		api := h.Members[0].Client(t, 3)
		if _, err := api.Routes.Put(t.Context(), posthouse.Route{Name: "night", Steps: []posthouse.RouteStep{{Channels: []string{"first"}}, {Channels: []string{"second"}}}}); err != nil {
			t.Fatal(err)
		}
		slow, refuses, loses := house.Share(simulator.Latency, 1), house.Share(simulator.Business, 0.2), house.Share(simulator.CutAfter, 0.1)
		slow.Latency, slow.Jitter, refuses.Code = posthouse.Duration(60*time.Millisecond), posthouse.Duration(25*time.Millisecond), simulator.RefusedContent
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{loses, refuses, slow}})
		killed := 0
		draft := func(n int) posthouse.Draft {
			d := house.Text("", n)
			d.Channel, d.Route = "", "night"
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
		states := map[posthouse.NotificationState]int{}
		twice, unexplained := 0, 0
		for _, id := range accepted {
			var n posthouse.Notification
			house.Until(t, "the notification of "+id+" to be decided", func() bool {
				list, err := api.Notifications.Of(t.Context(), id)
				if err != nil || len(list) != 1 {
					return false
				}
				n = list[0]
				return n.State != posthouse.NotificationWaiting
			})
			states[n.State]++
			sent, doubtful := 0, false
			for _, d := range n.Deliveries {
				if d.State == posthouse.Sent {
					sent++
				}
				doubtful = doubtful || d.Doubtful
			}
			if sent > 1 {
				twice++
				if !doubtful {
					unexplained++
					t.Errorf("%s was told by two steps, and nothing was in doubt: %+v", n.ID, n)
				}
			}
		}
		h.Settle(t)
		if told := h.Judge(t).Invariant("I38"); told.Checked != len(accepted) {
			t.Errorf("the checker has judged %d notifications of %d", told.Checked, len(accepted))
		}
		house.Report(t, house.Row{
			Test: "A14", Database: string(db), What: "kill -9 under routes of two steps", N: killed, Unit: "kills",
			Figure: fmt.Sprintf("%d notifications, %d told, %d not told; told by two steps %d, unexplained %d", len(accepted), states[posthouse.NotificationTold],
				states[posthouse.NotificationNotTold], twice, unexplained),
			Bar: "all decided, unexplained 0", Bound: house.Bound(killed), Pass: unexplained == 0,
		})
	})
}
