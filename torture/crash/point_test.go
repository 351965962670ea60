package crash

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/remind"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// point is a place where a server dies with one message under way, and what that must come to.
type point struct {
	name string
	// after are points where processes die before this one is reached.
	after []string
	// send hands in the message; nil is a call of the API.
	send func(t *testing.T, p *points, n int) (message string)
	// stop has the server killed in the drain of a SIGTERM.
	stop bool
	// quick sends on a channel where a message may begin with its accept: one that did is unknown once more.
	quick bool
	// extra arrivals after the first, and times that the delivery becomes unknown.
	extra, unknown int
}

var named = []point{
	{name: "accept, not committed"},
	{name: "accept, committed"},
	{name: "accept, not committed", quick: true},
	{name: "accept, committed", quick: true},
	{name: "claim, not committed"},
	{name: "claimed", unknown: 1},
	{name: "half", unknown: 1},
	{name: "answered", extra: 1, unknown: 1},
	{name: "record, not committed", extra: 1, unknown: 1},
	{name: "record, committed"},
	{name: "rescue, not committed", after: []string{"claimed"}, unknown: 1},
	{name: "rescue, committed", after: []string{"claimed"}, unknown: 1},
	{name: "relay the outbox, not committed", send: enqueue},
	{name: "relay the outbox, committed", send: enqueue},
	{name: "accept, not committed", send: remindOnce}, // by the planner, when a slot has come
	{name: "accept, committed", send: remindOnce},
	{name: "drain", stop: true, extra: 1, unknown: 1},
}

// A2: kill -9 at named points, one message under way. Nothing is lost, and the message arrives as often
// as the point foretells.
func TestA2KilledAtNamedPoints(t *testing.T) {
	t.Parallel()
	binary := overlay.Build(t, edits...)
	for _, db := range house.Databases[:house.Form(2, 3)] {
		t.Run(string(db), func(t *testing.T) {
			t.Parallel()
			namedPoints(t, db, binary)
		})
	}
	for _, db := range house.Databases[:house.Form(1, 3)] {
		t.Run("digests on "+string(db), func(t *testing.T) {
			t.Parallel()
			killedWhileGathering(t, db, binary)
		})
		t.Run("schedules on "+string(db), func(t *testing.T) {
			t.Parallel()
			killedWhileScheduling(t, db, binary)
		})
	}
}

func namedPoints(t *testing.T, db house.Database, binary string) {
	p := openPoints(t, db.DSN(t), binary)
	ch := p.Channel("generic")
	// Most points wait for the lease that it makes. A call that a busy machine lets arrive after it is one that the points do not foretell.
	ch.Timeout = posthouse.Duration(2 * time.Second)
	ch.Limits = []posthouse.Limit{{Max: 1000, Per: posthouse.Duration(time.Second)}} // the limiter is asked, and so what is accepted is claimed
	p.PutChannel(t, ch)
	quick := ch
	quick.Name, quick.Limits = "quick", nil
	p.PutChannel(t, quick)
	slow := p.Channel("slow") // for what must still be under way when the server is stopped
	slow.Timeout = posthouse.Duration(3 * time.Second)
	p.PutChannel(t, slow)
	accepted := map[int]string{}
	right := 0
	for _, c := range named {
		for range house.Size(1, 20) {
			n := len(accepted) + 1
			accepted[n] = p.pass(t, c, n)
			if p.foretold(t, c, accepted[n]) {
				right++
			}
		}
	}
	p.Judge(t, "lease_lost_after_start")
	n := count(t, p.House, accepted)
	house.Report(t, house.Row{
		Test: "A2", Database: string(db), What: fmt.Sprintf("kill -9 at %d named points", len(named)), N: len(accepted), Unit: "kills",
		Figure: fmt.Sprintf("lost %d, unexplained %d; as many arrivals and unknowns as foretold in %d of %d", n.lost, n.unexplained, right, len(accepted)),
		Bar:    "lost 0, unexplained 0, all as foretold", Bound: house.Bound(len(accepted)),
		Pass: n.lost+n.unexplained == 0 && right == len(accepted),
	})
	prunes(t, p, db)
	if db != house.SQLite {
		drops(t, p, db)
	}
}

// pass kills the server at a point once, starts it again and waits until all is settled.
func (p *points) pass(t *testing.T, c point, n int) string {
	t.Helper()
	deaths := append(slices.Clone(c.after), c.name)
	for _, death := range deaths {
		p.arm(t, death)
	}
	sent := make(chan string, 1)
	if c.stop {
		sent <- p.stop(t, n)
	} else {
		go func() {
			defer close(sent) // also where it gave up
			sent <- p.send(t, c, n)
		}()
		for i := range deaths {
			if i > 0 {
				p.server.Launch(t)
			}
			p.server.Wait(t)
		}
	}
	p.server.Start(t)
	message := <-sent // a caller who was not answered repeats
	house.Until(t, "the outbox to be empty", func() bool {
		waiting, rejected, err := p.store.Outbox.OutboxDepth(t.Context())
		return err == nil && waiting+rejected == 0
	})
	p.Settle(t)
	return message
}

// long is a text of which half is more than what a connection's buffer holds back.
var long = string(slices.Repeat([]byte("half of it "), 3000))

func (p *points) send(t *testing.T, c point, n int) string {
	if c.send != nil {
		return c.send(t, p, n)
	}
	d := house.Text("generic", n)
	if d.Content.Text = long; c.quick {
		d.Channel = "quick"
	}
	id, err := p.Send(t, fmt.Sprintf("point-%d", n), d, false)
	if err != nil {
		t.Error(err)
	}
	return id
}

// enqueue hands in a message through the outbox.
func enqueue(t *testing.T, p *points, n int) string {
	kinds := map[string]outbox.Database{"sqlit": outbox.SQLite, "postg": outbox.Postgres, "mysql": outbox.MySQL}
	box, err := outbox.New(outbox.Options{Database: kinds[p.DSN[:5]]})
	if err != nil {
		t.Error(err)
		return ""
	}
	db := dbtest.SQL(t, p.DSN)
	defer db.Close()
	asked := time.Now()
	ids, err := box.Enqueue(t.Context(), db, house.Text("generic", n))
	if err != nil {
		t.Error(err)
		return ""
	}
	p.Tell(t, house.Told{Asked: asked, At: time.Now(), Op: "send", Answer: "accepted", Message: ids[0], Recipients: 1})
	return ids[0]
}

// remindOnce opens a reminder with one slot and waits for its message. It does so in the database: the
// server's only accept is that of the slot.
func remindOnce(t *testing.T, p *points, n int) string {
	asked := time.Now()
	r, problems := remind.New(posthouse.Reminder{
		Tenant: posthouse.DefaultTenant, Draft: house.Text("generic", n), Repeat: &posthouse.Repeat{Max: 1},
	}, asked, time.UTC)
	sub := &work.Submission{Tenant: r.Tenant, Plans: []work.Plan{remind.Plan(r)}}
	if out, err := p.store.Submissions.Accept(t.Context(), asked, []*work.Submission{sub}); err != nil || out[0].Err != nil || len(problems) > 0 {
		t.Error(err, out, problems)
		return ""
	}
	house.Until(t, "the slot to be a message", func() bool {
		plan, found, err := p.store.Plans.Plan(t.Context(), r.Tenant, work.PlanReminder, r.ID)
		if err == nil && found {
			r, err = remind.Read(plan)
		}
		return err == nil && r.Message != ""
	})
	if r.Slots != 1 || r.Fired != 1 {
		t.Errorf("%d slots came and %d became messages, want one of both", r.Slots, r.Fired)
	}
	p.Tell(t, house.Told{Asked: asked, At: time.Now(), Op: "send", Answer: "accepted", Message: r.Message, Recipients: 1})
	return r.Message
}

// stop sends a message to a provider that takes it and does not answer, and stops the server then.
func (p *points) stop(t *testing.T, n int) string {
	t.Helper()
	p.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Hang, Times: 1}}})
	id, err := p.Send(t, fmt.Sprintf("point-%d", n), house.Text("slow", n), false)
	if err != nil {
		t.Fatal(err)
	}
	house.Until(t, "the message to arrive", func() bool { return len(byKey(p.Provider.Arrivals(t))[posthouse.DeliveryID(id, 1)]) > 0 })
	if _, err := p.server.Term(t); err == nil {
		t.Error("the server ended well: it was to die in its drain")
	}
	return id
}

// foretold reports whether the point came to what it must.
func (p *points) foretold(t *testing.T, c point, message string) bool {
	t.Helper()
	id := posthouse.DeliveryID(message, 1)
	events, err := p.store.History.Events(t.Context(), posthouse.DefaultTenant, id)
	if err != nil {
		t.Error(err)
		return false
	}
	unknown, late, line := 0, 0, ""
	for _, e := range events {
		switch {
		case e.To == posthouse.Unknown && e.Code == channel.CodeTimeout:
			late++ // a busy machine's doing, and not the kill's
		case e.To == posthouse.Unknown:
			unknown++
		}
		line += string(e.Type) + " "
	}
	arrivals := len(byKey(p.Provider.Arrivals(t))[id]) - late
	if c.quick && len(events) > 2 && events[1].Type == posthouse.EventStart && events[2].Type == posthouse.EventLeaseLost {
		c.unknown++ // it has begun with its accept
	}
	if arrivals != 1+c.extra || unknown != c.unknown {
		t.Errorf("killed at %q: %d arrivals and %d times unknown, want %d and %d: %s", c.name, arrivals, unknown, 1+c.extra, c.unknown, line)
		return false
	}
	return true
}
