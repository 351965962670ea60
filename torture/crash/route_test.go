package crash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// Steps of the routes of A14 wait so long for a receipt, or for an acknowledgement.
const (
	receiptWithin = 2 * time.Second
	ackWithin     = 2 * time.Second
)

// ways are the routes of A14, of which each message follows one: until the call has been taken, until a receipt says that it arrived, and until
// somebody acknowledges.
func ways() []posthouse.Route {
	step := func(name string, until posthouse.Proof, within time.Duration) posthouse.RouteStep {
		return posthouse.RouteStep{Channels: []string{name}, Until: until, Within: posthouse.Duration(within)}
	}
	return []posthouse.Route{
		{Name: "night", Steps: []posthouse.RouteStep{step("first", "", 0), step("second", "", 0)}},
		{Name: "proven", Steps: []posthouse.RouteStep{step("receipts", posthouse.ProofDelivered, receiptWithin), step("second", "", 0)}},
		{Name: "acked", Steps: []posthouse.RouteStep{step("first", posthouse.ProofAcknowledged, ackWithin), step("second", posthouse.ProofAcknowledged, ackWithin)}},
	}
}

// A14: kill -9 of servers while messages follow routes of two steps, of which the first refuses some for good and loses the answers of
// others, receipts come at once, late or never, and people acknowledge when they like. Each notification is decided in the end; whoever was
// reached by two steps had a first one whose outcome nobody knew, or whose time was over; and no acknowledgement that was answered is lost.
func TestA14KillsTellNobodyTwice(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		few := 1
		if db == house.SQLite {
			few = 4
		}
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		for _, name := range []string{"first", "second", "receipts"} {
			ch := h.Channel(name)
			ch.OnUnknown = posthouse.Hold
			ch.HoldTimeout = posthouse.Duration(3 * time.Second) // then nobody waits for it any more
			if name == "receipts" {
				maps.Copy(ch.Config, map[string]any{"receipt_id": "$.msgid", "receipt_state": "$.state", "receipt_delivered": []string{"DELIVRD"}})
			}
			h.PutChannel(t, ch)
		}
		api := h.Members[0].Client(t, 3)
		routes := ways()
		for _, r := range routes {
			if _, err := api.Routes.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		door, err := api.Callbacks.Create(t.Context(), "receipts", "")
		if err != nil {
			t.Fatal(err)
		}
		slow, refuses, loses := house.Share(simulator.Latency, 1), house.Share(simulator.Business, 0.2), house.Share(simulator.CutAfter, 0.1)
		slow.Latency, slow.Jitter, refuses.Code = posthouse.Duration(60*time.Millisecond), posthouse.Duration(25*time.Millisecond), simulator.RefusedContent
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{loses, refuses, slow}})
		killed := 0
		draft := func(n int) posthouse.Draft {
			d := house.Text("", n)
			d.Channel, d.Route = "", routes[n%len(routes)].Name
			return d
		}
		world := &outside{h: h, door: door.Path, tells: map[string]time.Time{}, acked: map[string]time.Time{}}
		ends := world.goesOn(t)
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
			told, why := toldBy(&n)
			if told > 1 {
				twice++
			}
			if why != "" {
				unexplained++
				t.Errorf("%s %s: %+v", n.ID, why, n)
			}
		}
		ends()
		lost := world.lostAcks(t)
		if world.delivered == 0 || len(world.acked) == 0 {
			t.Errorf("%d receipts came and %d acknowledgements were answered: nothing was tried", world.delivered, len(world.acked))
		}
		h.Settle(t)
		if told := h.Judge(t).Invariant("I38"); told.Checked != len(accepted) {
			t.Errorf("the checker has judged %d notifications of %d", told.Checked, len(accepted))
		}
		house.Report(t, house.Row{
			Test: "A14", Database: string(db), What: "kill -9 under routes of two steps, with receipts and acknowledgements", N: killed, Unit: "kills",
			Figure: fmt.Sprintf("%d notifications, %d told, %d acknowledged, %d not told; %d receipts, %d acknowledgements answered, lost %d; told by two steps %d, unexplained %d", len(accepted),
				states[posthouse.NotificationTold], states[posthouse.NotificationAcknowledged], states[posthouse.NotificationNotTold], world.delivered, len(world.acked), lost, twice, unexplained),
			Bar: "all decided, unexplained 0, acknowledgements lost 0", Bound: house.Bound(killed), Pass: unexplained+lost == 0,
		})
	})
}

// toldBy counts the steps that have reached somebody, and says what is wrong where one began beside one that had: its outcome was not in
// doubt, and its time was not over.
func toldBy(n *posthouse.Notification) (told int, why string) {
	within := map[string]time.Duration{"proven": receiptWithin, "acked": ackWithin}[n.Route]
	reached, doubtful := map[int]bool{}, map[int]bool{}
	for _, d := range n.Deliveries {
		reached[d.Step] = reached[d.Step] || d.State == posthouse.Sent || d.State == posthouse.Delivered
		doubtful[d.Step] = doubtful[d.Step] || d.Doubtful
	}
	for _, is := range reached {
		if is {
			told++
		}
	}
	for i := 1; i < len(n.Steps); i++ {
		before, next := n.Steps[i-1], n.Steps[i]
		over := within > 0 && next.At.Sub(before.At) >= within
		if reached[before.Step] && !doubtful[before.Step] && !over {
			return told, fmt.Sprintf("began step %d beside step %d, which had told", next.Step, before.Step)
		}
		if n.Ack != nil && next.At.After(n.Ack.At.Add(verify.Committing)) { // a step that was begun before the acknowledgement was stored
			return told, fmt.Sprintf("began step %d after it was acknowledged", next.Step)
		}
	}
	return told, ""
}

// outside is what happens outside of the servers: a provider that tells at once, late or never what arrived, and people who acknowledge.
type outside struct {
	h    *house.House
	door string

	tells     map[string]time.Time // when the receipt of an arrival comes, the zero time for never
	delivered int                  // receipts that were taken
	acked     map[string]time.Time // when an acknowledgement was answered
}

// goesOn has it go on until the returned function is called.
func (o *outside) goesOn(t *testing.T) (end func()) {
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		for ctx.Err() == nil {
			o.receipts(ctx, t)
			o.acknowledge(ctx, t)
			house.Pause(ctx, rand.N(60*time.Millisecond))
		}
	})
	end = func() { stop(); busy.Wait() }
	t.Cleanup(end)
	return end
}

// someone is a server, which may be dead.
func (o *outside) someone() *house.Member { return o.h.Members[rand.IntN(len(o.h.Members))] }

// receipts brings those whose time has come: of three arrivals one at once, one around the end of its step, and one never. What no server takes comes again.
func (o *outside) receipts(ctx context.Context, t *testing.T) {
	for _, a := range o.h.Provider.Arrivals(t) {
		at, known := o.tells[a.ID]
		switch {
		case a.ID == "" || a.Answer == simulator.Refused:
			continue
		case !known:
			at = []time.Time{a.At, a.At.Add(receiptWithin/2 + rand.N(receiptWithin)), {}}[rand.IntN(3)]
			o.tells[a.ID] = at
		}
		if at.IsZero() || time.Now().Before(at) {
			continue
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+o.someone().Addr+o.door, strings.NewReader(fmt.Sprintf(`{"msgid":%q,"state":"DELIVRD"}`, a.ID)))
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode/100 == 2 {
			o.tells[a.ID] = time.Time{}
			o.delivered++
		}
	}
}

// acknowledge does so for some of the notifications that wait for it.
func (o *outside) acknowledge(ctx context.Context, t *testing.T) {
	c := o.someone().Client(t, 1)
	page, err := c.Notifications.List(ctx, posthouse.NotificationWaiting, client.Filter{Route: "acked", Limit: 50})
	if err != nil {
		return
	}
	for _, n := range page.Items {
		if rand.IntN(12) > 0 {
			continue
		}
		if n, err := c.Notifications.Acknowledge(ctx, n.ID, wire.Ack{By: "li"}); err == nil && n.Ack != nil {
			o.acked[n.ID] = n.Ack.At
		}
	}
}

// lostAcks counts the acknowledgements that were answered, and are not what their notification says.
func (o *outside) lostAcks(t *testing.T) (lost int) {
	c := o.h.Members[0].Client(t, 3)
	for _, id := range slices.Sorted(maps.Keys(o.acked)) {
		n, err := c.Notifications.Get(t.Context(), id)
		if err != nil || n.State != posthouse.NotificationAcknowledged || n.Ack == nil || !n.Ack.At.Equal(o.acked[id]) {
			lost++
			t.Errorf("%s was acknowledged at %v, and is %s: %+v, %v", id, o.acked[id], n.State, n.Ack, err)
		}
	}
	return lost
}
