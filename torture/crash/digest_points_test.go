package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// gatherPoint is a place where a server dies in the life of a digest.
type gatherPoint struct {
	during string // join, leave, cancel or send; or open
	name   string
	// extra arrivals of the text after the first, each after one time that it became unknown.
	extra int
	quick bool // among those of the short form
}

var gatherPoints = []gatherPoint{
	{during: "open", name: "the key is held"},
	{during: "open", name: "the member is written"},
	{during: "open", name: "accept, not committed"},
	{during: "open", name: "accept, committed"},
	{during: "join", name: "the key is held"},
	{during: "join", name: "the member is written", quick: true},
	{during: "join", name: "accept, not committed"},
	{during: "join", name: "accept, committed"},
	{during: "leave", name: "the plan hears"},
	{during: "leave", name: "change a collection, not committed"},
	{during: "leave", name: "change a collection, committed"},
	{during: "leave", name: "accept, not committed", quick: true}, // the text, by the planner
	{during: "leave", name: "accept, committed"},
	{during: "cancel", name: "the plan hears"},
	{during: "cancel", name: "its deliveries are written"},
	{during: "send", name: "answered", extra: 1},
	{during: "send", name: "the plan hears", extra: 1},
	{during: "send", name: "its deliveries are written", extra: 1, quick: true},
	{during: "send", name: "record, not committed", extra: 1},
	{during: "send", name: "record, committed"},
}

// killedWhileGathering is A17: kill -9 at each write of a digest's life. All that was gathered is in one text, which arrives as often as the
// point foretells; who was cancelled before it began is in none.
func killedWhileGathering(t *testing.T, db house.Database, binary string) {
	p := openPoints(t, db.DSN(t), binary)
	ch := p.Channel("generic")
	ch.Timeout = posthouse.Duration(time.Second)
	p.PutChannel(t, ch)
	api := p.server.Client(t, 3)
	if _, err := api.Digests.Put(t.Context(), posthouse.Digest{Name: "some", Window: posthouse.Duration(time.Hour), By: "ref"}); err != nil {
		t.Fatal(err)
	}
	kills, right := 0, 0
	for i, c := range gatherPoints {
		if !c.quick && !house.Full() {
			continue
		}
		kills++
		g := &gathering{points: p, api: api, ref: fmt.Sprintf("case-%d", i)}
		if g.live(t, c); g.foretold(t, c) {
			right++
		}
	}
	p.Settle(t)
	if law := p.Judge(t).Invariant("I39"); law.Checked == 0 {
		t.Error("the checker has judged no collection")
	}
	house.Report(t, house.Row{
		Test: "A17", Database: string(db), What: "kill -9 at each write of a digest's life", N: kills, Unit: "kills",
		Figure: fmt.Sprintf("all members in one text, as often as foretold, in %d of %d", right, kills), Bar: "all, I39 holds", Pass: right == kills && !t.Failed(),
	})
}

// gathering is one collection, whose members have a ref of their own.
type gathering struct {
	*points
	api *client.Client
	ref string
	ids []string
}

// live takes a collection of three from its first member to its end, one of whom may be cancelled, with one death on the way.
func (g *gathering) live(t *testing.T, c gatherPoint) {
	t.Helper()
	step := func(name string, do func() error) {
		if name == c.during {
			g.dies(t, c.name, do)
			return
		}
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	hold := c.during == "cancel" || c.during == "send"
	if hold { // so that the text is made and waits
		g.must(t, func() error { _, err := g.api.Channels.Pause(t.Context(), "generic", "not yet"); return err })
	}
	for i, name := range []string{"open", "join", "and another one"} {
		step(name, func() error { return g.hand(t, i) })
	}
	id := g.collection(t).ID
	step("leave", func() error { _, err := g.api.Collections.Leave(t.Context(), id); return err })
	if !hold {
		return
	}
	house.Until(t, "the text to be made", func() bool { return g.collection(t).State == posthouse.CollectionLeaving })
	if c.during == "cancel" {
		step("cancel", func() error { _, err := g.api.Messages.Cancel(t.Context(), g.ids[2]); return err })
	}
	resume := func() error { _, err := g.api.Channels.Resume(t.Context(), "generic"); return err }
	if c.during == "cancel" {
		house.Until(t, "the text to be made anew", func() bool {
			of := g.collection(t)
			return of.State == posthouse.CollectionLeaving && slices.ContainsFunc(of.Members, func(m posthouse.CollectionMember) bool { return m.Left })
		})
		g.must(t, resume)
		return
	}
	step("send", resume)
}

// dies has the server die at a point, while do is done again until it is done.
func (g *gathering) dies(t *testing.T, point string, do func() error) {
	t.Helper()
	g.arm(t, point)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for do() != nil && t.Context().Err() == nil {
			house.Pause(t.Context(), 50*time.Millisecond)
		}
	}()
	g.server.Wait(t)
	g.server.Start(t)
	<-done
}

func (g *gathering) must(t *testing.T, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
}

// hand hands in the nth member.
func (g *gathering) hand(t *testing.T, n int) error {
	d := house.Text("generic", n)
	d.Digest, d.Ref, d.DedupKey, d.To = "some", g.ref, "", []posthouse.Recipient{{User: "u"}}
	d.Content.Text = g.word(n)
	id, err := g.Send(t, g.word(n), d, false)
	if err == nil && len(g.ids) == n {
		g.ids = append(g.ids, id)
	}
	return err
}

// word is what a member says, by which it is found in texts.
func (g *gathering) word(n int) string { return fmt.Sprintf("<%s member-%d>", g.ref, n) }

// collection is the one of the members.
func (g *gathering) collection(t *testing.T) (c posthouse.Collection) {
	t.Helper()
	house.Until(t, "the collection to be shown", func() bool {
		page, err := g.api.Collections.List(t.Context(), "", client.Filter{Limit: 100})
		i := slices.IndexFunc(page.Items, func(of posthouse.Collection) bool { return of.By == g.ref })
		if i >= 0 {
			c = page.Items[i]
		}
		return err == nil && i >= 0
	})
	return c
}

// foretold reports whether each member is in one text that has arrived as often as it must, and stands as its collection's delivery does.
func (g *gathering) foretold(t *testing.T, c gatherPoint) bool {
	t.Helper()
	house.Until(t, g.ref+" to be settled", func() bool { return g.collection(t).State == posthouse.CollectionSettled })
	texts := map[string]int{}
	for _, a := range g.Provider.Arrivals(t) {
		if strings.Contains(a.Text, g.ref+" ") {
			texts[a.Text]++
		}
	}
	ok := len(texts) == 1
	for text, n := range texts {
		ok = ok && n == 1+c.extra
		for i := range g.ids {
			ok = ok && strings.Contains(text, g.word(i)) == (c.during != "cancel" || i < 2)
		}
	}
	for i, id := range g.ids {
		want := posthouse.Sent
		if c.during == "cancel" && i == 2 {
			want = posthouse.Cancelled
		}
		d, err := g.api.Deliveries.Get(t.Context(), posthouse.DeliveryID(id, 1))
		ok = ok && err == nil && d.State == want
	}
	if !ok {
		t.Errorf("killed during %s at %q: %v, want all of %v in one text %d times; %+v", c.during, c.name, texts, g.ids, 1+c.extra, g.collection(t))
	}
	return ok
}
