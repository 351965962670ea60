package disk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// A5: a database is put back from a copy, and says that what was sent since is still to be sent. The
// operator does what the guide says, new-epoch before any server starts; then nothing that may have
// been sent leaves by itself, and a person can settle all of it. A server that lived through the
// restore, which the guide tells to restart, starts nothing either.
func TestA5RestoredCopySendsNothingAgain(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		var total restored
		rounds := house.Size(1, 10)
		for range rounds {
			total.add(restoreOnce(t, db, true))
		}
		house.Report(t, house.Row{
			Test: "A5", Database: string(db), What: "database restored from an older copy, new-epoch run before the servers start", N: rounds, Unit: "restores",
			Figure: fmt.Sprintf("%d deliveries sent since the copies: automatic resends %d; %d held for a person (%d to be held), %d scheduled ones left alone; afterwards all %d settled by hand, %d twice",
				total.sent, total.resent, total.held, total.due, total.scheduled, total.held, total.twice),
			Bar:   "automatic resends 0; all that may have been sent is held; nothing arrives twice",
			Bound: house.Bound(rounds),
			Pass:  total.resent == 0 && total.held == total.due && total.twice == 0 && total.sent > 0 && total.scheduled == rounds*ahead,
		})
	})
}

// A5, the test of the test: without new-epoch the copy is sent again.
func TestA5WithoutNewEpochTheCopyIsSentAgain(t *testing.T) {
	t.Parallel()
	got := restoreOnce(t, house.SQLite, false)
	house.Report(t, house.Row{
		Test: "A5", Database: "sqlite", What: "negative control: the same without new-epoch", N: got.sent, Unit: "deliveries sent since the copy",
		Figure: fmt.Sprintf("automatic resends %d", got.resent), Bar: "more than 0: the test can fail", Pass: got.resent > 0,
	})
}

// restored is what a restore came to.
type restored struct {
	sent      int // deliveries of the copy that were sent after it was made
	due       int // deliveries of the copy that may have been sent
	held      int // of these, held by new-epoch
	scheduled int // deliveries of the copy that are not due
	resent    int // arrivals, by themselves, of what had arrived before
	twice     int // deliveries that arrived twice in the end
}

func (r *restored) add(o restored) {
	r.sent += o.sent
	r.due += o.due
	r.held += o.held
	r.scheduled += o.scheduled
	r.resent += o.resent
	r.twice += o.twice
}

// How many messages there are: waiting when the copy is made, handed in afterwards, for later.
const (
	backlog = 150
	after   = 20
	ahead   = 10
	members = 8 // of two digests, of which one leaves since the copy
)

// word is what a member of a digest says, by which it is found in texts.
func word(n int) string { return fmt.Sprintf("<member-%d>", n) }

// gather hands in messages that two collections gather for an hour, and returns the one that is to leave.
func gather(t *testing.T, h *house.House) (leaves string) {
	t.Helper()
	c := h.Members[0].Client(t, 3)
	if _, err := c.Digests.Put(t.Context(), posthouse.Digest{Name: "some", Window: posthouse.Duration(time.Hour), By: "ref"}); err != nil {
		t.Fatal(err)
	}
	h.Produce(t, house.Load{Messages: members, Prefix: "gathered", Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.Digest, d.Ref, d.To, d.Content.Text = "some", fmt.Sprint(n%2), []posthouse.Recipient{{User: "u"}}, word(n)
		return d
	}})
	page, err := c.Collections.List(t.Context(), posthouse.CollectionWaiting, client.Filter{Limit: 10})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("%d collections wait, %v, want 2", len(page.Items), err)
	}
	return page.Items[0].ID
}

// The messages of a route whose first step has told its person, and what its second step says.
const (
	asked       = 10
	askedWithin = 30 * time.Second // far longer than the copy takes
	secondStep  = "nobody has acknowledged"
)

// ask sends messages by a route that turns to its second step unless somebody acknowledges in time, and returns them when the first step has
// told everybody.
func ask(t *testing.T, h *house.House) map[int]string {
	t.Helper()
	second := h.Channel("calls")
	second.Config["body"] = `{"id":"${idempotency_key}","to":"${user}","text":"` + secondStep + `"}`
	h.PutChannel(t, house.Patient(h.Channel("asks")))
	h.PutChannel(t, house.Patient(second))
	c := h.Members[0].Client(t, 3)
	until := func(name string) posthouse.RouteStep {
		return posthouse.RouteStep{Channels: []string{name}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(askedWithin)}
	}
	if _, err := c.Routes.Put(t.Context(), posthouse.Route{Name: "asked", Steps: []posthouse.RouteStep{until("asks"), until("calls")}}); err != nil {
		t.Fatal(err)
	}
	ids := h.Produce(t, house.Load{Messages: asked, Prefix: "asked", Draft: func(n int) posthouse.Draft {
		d := house.Text("", n)
		d.Channel, d.Route = "", "asked"
		return d
	}})
	for _, id := range ids {
		house.Until(t, "the first step of "+id+" to have told", func() bool {
			list, err := c.Notifications.Of(t.Context(), id)
			return err == nil && len(list) == 1 && len(list[0].Deliveries) == 1 && list[0].Deliveries[0].State == posthouse.Sent
		})
	}
	return ids
}

// acknowledge has somebody take note of messages.
func acknowledge(t *testing.T, h *house.House, ids map[int]string) {
	t.Helper()
	for _, id := range ids {
		if _, err := h.Members[0].Client(t, 3).Notifications.AcknowledgeMessage(t.Context(), id, wire.Ack{By: "li"}); err != nil {
			t.Fatal(err)
		}
	}
}

// stillHeld waits until the time of all first steps is over, and fails the test unless the new epoch holds them: their people acknowledged
// since the copy was made, and are not called.
func stillHeld(t *testing.T, h *house.House) {
	t.Helper()
	page, err := h.Members[0].Client(t, 3).Notifications.List(t.Context(), posthouse.NotificationWaiting, client.Filter{Held: true, Limit: 100})
	if err != nil || len(page.Items) != asked {
		t.Errorf("%d notifications are held, %v; want %d", len(page.Items), err, asked)
	}
	for _, n := range page.Items {
		house.Until(t, "the time of the first step of "+n.ID+" to be over", func() bool { return time.Since(n.Steps[0].At) > askedWithin+time.Second })
	}
	for _, a := range h.Provider.Arrivals(t) {
		if a.Text == secondStep {
			t.Errorf("%s was called by the second step after a restore, and had acknowledged: %+v", a.User, a)
		}
	}
}

// texts are how often each member of a digest has arrived, in whatever text.
func texts(t *testing.T, h *house.House) map[string]int {
	t.Helper()
	said := map[string]int{}
	for _, a := range h.Provider.Arrivals(t) {
		for n := range members {
			if strings.Contains(a.Text, word(n+1)) {
				said[word(n+1)]++
			}
		}
	}
	return said
}

func restoreOnce(t *testing.T, db house.Database, bump bool) restored {
	t.Helper()
	s := openShelf(t, db)
	h := house.Open(t, house.Options{DSN: s.dsn(), Members: db.Several(2)})
	answers := func(latency time.Duration) {
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: posthouse.Duration(latency)}}})
	}
	answers(time.Second) // so that the backlog outlasts the copy, on a slow machine too
	ch := h.Channel("generic")
	ch.MaxInflight, ch.Timeout = 8, posthouse.Duration(3*time.Second) // a busy machine makes no answer late
	h.PutChannel(t, ch)
	told := ask(t, h) // first: the backlog waits for twenty seconds
	h.Produce(t, house.Load{Messages: backlog})
	h.Produce(t, house.Load{Messages: ahead, Prefix: "later", Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.NotBefore = time.Now().Add(time.Hour)
		return d
	}})
	leaves := gather(t, h)
	at := time.Now()
	s.keep(t)
	answers(100 * time.Millisecond)
	acknowledge(t, h, told)
	if _, err := h.Members[0].Client(t, 3).Collections.Leave(t.Context(), leaves); err != nil {
		t.Fatal(err)
	}
	h.Produce(t, house.Load{Messages: after, Prefix: "after"})
	house.Until(t, "all that is due to arrive", func() bool { return len(byKey(h.Provider.Arrivals(t))) == backlog+after+1+asked })

	h.Members[0].Term(t)
	goOn := func() {}
	if len(h.Members) > 1 {
		goOn = h.Members[1].Freeze(t) // a server that nobody has thought of
	}
	before := h.Provider.Arrivals(t)
	s.restore(t)
	h.Fault(t, house.Fault{At: at, Until: time.Now(), Kind: "restore", Target: string(db)})
	out := openWork(t, h)
	if bump {
		out.held = newEpoch(t, h)
	}
	goOn()
	if !bump { // and nobody remembers how far the database had come, else it would not start
		h.Members[0].Env = append(h.Members[0].Env, "POSTHOUSE_STATE_DIR="+t.TempDir())
	}
	h.Members[0].Start(t)
	if len(h.Members) > 1 {
		h.Members[1].WaitReady(t, http.StatusServiceUnavailable) // its epoch is over
	}
	h.Produce(t, house.Load{Messages: after, Prefix: "new"}) // to any server: one that starts nothing still accepts
	out.sent, out.resent = arrivedAgain(t, h, before, bump)
	if bump {
		stillHeld(t, h)
		acknowledge(t, h, told)
		settleByHand(t, h)
		out.twice = arrivedTwice(before, h.Provider.Arrivals(t))
		said := texts(t, h)
		for n := range members { // one half left as one text before the restore, the others by themselves when a person said so
			if said[word(n+1)] != 1 {
				t.Errorf("member %d of a digest arrived %d times", n+1, said[word(n+1)])
			}
		}
		h.Judge(t)
	}
	return out
}

// openWork counts what the copy holds as unfinished.
func openWork(t *testing.T, h *house.House) (out restored) {
	t.Helper()
	st := h.Store(t)
	list, _, err := st.Messages.Deliveries(t.Context(), work.Filter{Sight: work.SeeAll(), Tenant: posthouse.DefaultTenant, States: []posthouse.State{posthouse.Pending, posthouse.Sending}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].DueAt.After(time.Now()) && list[i].Attempts == 0 {
			out.scheduled++
		} else {
			out.due++
		}
	}
	return out
}

// newEpoch runs the command that the guide names and returns how many deliveries it says it held.
func newEpoch(t *testing.T, h *house.House) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), house.Binary(t), "migrate", "new-epoch", "--yes", "--json", "--dsn", h.DSN)
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	out, err := cmd.Output()
	var said struct{ Held int }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("new-epoch: %v: %s", err, out)
	}
	return said.Held
}

// arrivedAgain waits until the new messages have arrived and counts what of the old came with them: which
// deliveries the copy took for unsent were sent before, and how many arrivals there were of such.
func arrivedAgain(t *testing.T, h *house.House, before []simulator.Arrival, bump bool) (sent, resent int) {
	t.Helper()
	known := byKey(before)
	st := h.Store(t)
	_, err := st.History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		if (e.Type == posthouse.EventEpochHold || !bump && e.Type == posthouse.EventAccept) && len(known[e.Delivery]) > 0 {
			sent++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	house.Until(t, "the new messages to arrive", func() bool {
		fresh := 0
		for key := range byKey(h.Provider.Arrivals(t)) {
			if len(known[key]) == 0 {
				fresh++
			}
		}
		return fresh >= after
	})
	house.Pause(t.Context(), 5*time.Second) // in which the copy's leases end and the rescuer goes round
	for key, list := range byKey(h.Provider.Arrivals(t)) {
		if len(known[key]) > 0 {
			resent += len(list) - len(known[key])
		}
	}
	return sent, resent
}

// settleByHand is the person's part: what the provider has counts as sent, what it has not is sent
// now, and what is planned is withdrawn.
func settleByHand(t *testing.T, h *house.House) {
	t.Helper()
	c := h.Members[0].Client(t, 3)
	arrived, said := byKey(h.Provider.Arrivals(t)), texts(t, h)
	list, err := c.Deliveries.List(t.Context(), client.Filter{States: []posthouse.State{posthouse.Unknown}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Items {
		outcome := wire.OutcomeRetry
		m, err := c.Messages.Get(t.Context(), d.Message)
		if err != nil {
			t.Fatal(err)
		}
		if len(arrived[d.ID]) > 0 || said[m.Content.Text] > 0 {
			outcome = wire.OutcomeSent
		}
		if _, err := c.Deliveries.Resolve(t.Context(), d.ID, outcome); err != nil {
			t.Error(err)
		}
	}
	list, err = c.Deliveries.List(t.Context(), client.Filter{States: []posthouse.State{posthouse.Pending}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Items {
		if d.DueAt.After(time.Now()) {
			if _, err := c.Messages.Cancel(t.Context(), d.Message); err != nil {
				t.Error(err)
			}
		}
	}
	h.Settle(t)
}

// arrivedTwice counts what has arrived more than once, the last time since the restore.
func arrivedTwice(before, after []simulator.Arrival) (twice int) {
	old := byKey(before)
	for key, list := range byKey(after) {
		if len(list) > max(1, len(old[key])) {
			twice++
		}
	}
	return twice
}

func byKey(arrivals []simulator.Arrival) map[string][]simulator.Arrival {
	keys := map[string][]simulator.Arrival{}
	for _, a := range arrivals {
		keys[a.Key] = append(keys[a.Key], a)
	}
	return keys
}
