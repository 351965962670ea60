package network

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// link stands a proxy before a database and returns the way through it.
func link(t *testing.T, db house.Database, dsn string) (*proxy.Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	protocol := proxy.Postgres
	if db == house.MariaDB {
		protocol = proxy.MySQL
	}
	p, err := proxy.Start(proxy.Options{Target: u.Host, Protocol: protocol, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	u.Host = p.Addr()
	return p, u.String()
}

// linked is a front door and a worker, each with a link of its own to one database.
type linked struct {
	*house.House
	front  *caller
	links  []*proxy.Proxy    // the front's, the worker's
	before map[string]string // what keys have been told
	extra  int               // messages of callers without a key
}

func openLinked(t *testing.T, db house.Database) *linked {
	t.Helper()
	dsn := db.DSN(t)
	front, frontDSN := link(t, db, dsn)
	worker, workerDSN := link(t, db, dsn)
	h := house.Open(t, house.Options{DSN: workerDSN, JudgeDSN: dsn})
	m := h.Add(t, "")
	m.Env = []string{"POSTHOUSE_DSN=" + frontDSN, "POSTHOUSE_ACCEPT_ONLY=true"}
	m.Start(t)
	h.PutChannel(t, h.Channel("generic"))
	return &linked{House: h, front: newCaller(t, h, m), links: []*proxy.Proxy{front, worker}, before: map[string]string{}}
}

func (l *linked) set(f proxy.Faults) {
	for _, p := range l.links {
		p.Set(f)
	}
}

// linkFault is one way a database's link fails.
type linkFault struct {
	name, unit string
	// cause breaks the links and returns how often, while callers are busy; they are healed after it.
	cause func(t *testing.T, l *linked, y *tally) int
	// long is only in make torture: it waits for the time-outs of the product.
	long bool
}

func linkFaults() []linkFault {
	return []linkFault{
		{name: "the answer to COMMIT is lost, or the COMMIT", unit: "ambiguous commits", cause: ambiguousCommits},
		{name: "round trips of 0 to " + (2 * jitter()).String(), unit: "messages", cause: slowLink},
		{name: "slices of 1 to 16 bytes", unit: "messages", cause: slicedLink},
		{name: "all connections reset", unit: "resets", cause: resets},
		{name: "idle connections cut", unit: "cuts", cause: cuts(20*time.Millisecond, 0)},
		{name: "connections cut that are older than 0.1 s", unit: "cuts", cause: cuts(0, 100*time.Millisecond)},
		{name: "no new connections", unit: "refused connections", cause: refusals},
		{name: "black holes of up to " + longestHole().String(), unit: "black holes", cause: blackHole},
		{name: "connections that nobody knows any more", unit: "frozen connections", cause: frozen, long: true},
	}
}

// jitter is how long one way takes at most, longestHole how long nothing passes: full, more than the
// time-outs of the product.
func jitter() time.Duration      { return time.Duration(house.Form(100, 1000)) * time.Millisecond }
func longestHole() time.Duration { return time.Duration(house.Form(300, 60000)) * time.Millisecond }

// ambiguousCommits loses the answers of half of the struck commits, and the other half before the
// server hears of them. All of the front's commits accept messages.
func ambiguousCommits(t *testing.T, l *linked, y *tally) int {
	want := int64(house.Size(20, 500))
	l.set(proxy.Faults{AnswerLost: proxy.Strike{Share: 0.05}, CommitLost: proxy.Strike{Share: 0.05}})
	house.Until(t, "ambiguous commits", func() bool { return l.links[0].Stats().Struck() >= want })
	l.set(proxy.Faults{})
	s := l.links[0].Stats()
	house.Until(t, "callers to be told of each ambiguous commit", func() bool { return int64(y.count("503 outcome_unknown")) >= s.Struck() })
	if n := y.count("503 unavailable"); n > 0 {
		t.Errorf("%d calls were told unavailable, though nothing but the outcome of commits was lost", n)
	}
	return int(s.Struck())
}

func slowLink(t *testing.T, l *linked, y *tally) int {
	l.set(proxy.Both(proxy.Way{Jitter: jitter()}))
	return waitAccepted(t, y, house.Form(12, 40)) // a call takes some ten round trips
}

func slicedLink(t *testing.T, l *linked, y *tally) int {
	l.set(proxy.Both(proxy.Way{Slice: 1 + rand.IntN(16), Pause: 20 * time.Microsecond}))
	return waitAccepted(t, y, house.Size(30, 1000))
}

func resets(t *testing.T, l *linked, y *tally) int {
	n := house.Size(5, 200)
	for range n {
		house.Pause(t.Context(), time.Duration(rand.IntN(100))*time.Millisecond)
		for _, p := range l.links {
			p.Reset()
		}
	}
	return n * len(l.links)
}

// cuts is a load balancer that keeps no idle connections, or a proxy that keeps no old ones.
func cuts(idle, life time.Duration) func(t *testing.T, l *linked, y *tally) int {
	return func(t *testing.T, l *linked, y *tally) (n int) {
		want := house.Size(10, 1000)
		house.Until(t, "connections to be cut", func() bool {
			for _, p := range l.links {
				n += p.Cut(idle, life)
			}
			return n >= want
		})
		return n
	}
}

func refusals(t *testing.T, l *linked, y *tally) int {
	before := l.links[0].Stats().Refused
	l.set(proxy.Faults{Refuse: true})
	for _, p := range l.links {
		p.Reset()
	}
	house.Until(t, "refused connections", func() bool { return l.links[0].Stats().Refused-before >= int64(house.Form(3, 50)) })
	return int(l.links[0].Stats().Refused - before)
}

// blackHole swallows one way, the other, then both.
func blackHole(t *testing.T, l *linked, y *tally) int {
	hole := proxy.Way{Hole: true}
	holes := []struct {
		faults proxy.Faults
		lasts  time.Duration
	}{{proxy.Faults{Up: hole}, longestHole() / 10}, {proxy.Faults{Down: hole}, longestHole() / 10}, {proxy.Both(hole), longestHole()}}
	for _, h := range holes {
		l.set(h.faults)
		house.Pause(t.Context(), h.lasts)
		l.set(proxy.Faults{})
		waitAccepted(t, y, 20)
	}
	return len(holes)
}

// frozen needs connections that are in use: the link was good just before.
func frozen(t *testing.T, l *linked, y *tally) int {
	waitAccepted(t, y, 100)
	n := 0
	for _, p := range l.links {
		n += p.Freeze()
	}
	return n
}

// waitAccepted waits until so many more messages are accepted.
func waitAccepted(t *testing.T, y *tally, more int) int {
	t.Helper()
	accepted := func() int {
		y.mu.Lock()
		defer y.mu.Unlock()
		return len(y.accepted)
	}
	before := accepted()
	house.Until(t, "accepted messages", func() bool { return accepted()-before >= more })
	return more
}

// TestB1ABrokenLinkToTheDatabase breaks the link of a front door and of a worker to their database
// while callers hand in messages, in every way a link breaks.
func TestB1ABrokenLinkToTheDatabase(t *testing.T) {
	t.Parallel()
	for _, db := range []house.Database{house.Postgres, house.MariaDB} { // SQLite has no link
		t.Run(string(db), func(t *testing.T) {
			t.Parallel()
			l := openLinked(t, db)
			t.Run("no key", func(t *testing.T) { l.suffersWithoutKeys(t, db) })
			for i, f := range linkFaults() {
				if !f.long || house.Full() {
					t.Run(f.name, func(t *testing.T) { l.suffer(t, db, f, fmt.Sprintf("b1-%d", i)) })
				}
			}
			l.Settle(t)
			l.wantOneMessageAKey(t)
			l.Judge(t)
		})
	}
}

// suffersWithoutKeys strikes accepts that carry no Idempotency-Key: they go another way to the database,
// and their callers must learn all the same that nobody knows. Every other one is stored.
func (l *linked) suffersWithoutKeys(t *testing.T, db house.Database) {
	n, told, missed := house.Size(4, 50), 0, 0
	for i := range n {
		f := proxy.Faults{AnswerLost: proxy.Strike{Next: 1}}
		if i%2 == 1 {
			f = proxy.Faults{CommitLost: proxy.Strike{Next: 1}}
		}
		var a answer
		for { // the server has other things to commit now and then, and one of these may be struck instead: that accept is stored
			l.links[0].Set(f)
			a = l.front.sendAs(t, fmt.Sprintf("none-%d-%d", i, missed), "", house.Text("generic", i))
			if !a.accepted() || missed == 5*n {
				break
			}
			missed++
		}
		if f := a.fault(); f != "" || a.code != posthouse.CodeOutcomeUnknown {
			t.Errorf("a struck accept without a key: %s %s, want 503 outcome_unknown", a.kind(), f)
			continue
		}
		told++
	}
	l.set(proxy.Faults{})
	page, err := l.Members[0].Client(t, 3).Messages.List(t.Context(), client.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	l.extra = len(page.Items)
	house.Report(t, house.Row{
		Test: "B1", Database: string(db), What: "the same, without Idempotency-Key", N: n, Unit: "ambiguous commits",
		Figure: fmt.Sprintf("%d told outcome_unknown, %d stored", told, l.extra), Bar: "all told, half stored", Pass: told == n && l.extra == n/2+missed,
	})
}

// suffer runs one fault under load and reports what the callers saw.
func (l *linked) suffer(t *testing.T, db house.Database, f linkFault, prefix string) {
	t.Helper()
	y := newTally()
	begin := time.Now()
	s := l.front.storm(t, y, 8, 0, prefix, "generic")
	n := f.cause(t, l, y)
	l.set(proxy.Faults{})
	healed := time.Now()
	l.Fault(t, house.Fault{At: begin, Until: healed, Kind: "db_cut", Target: "link", Note: f.name, N: n})
	l.front.insist(t, y, prefix+"-after", house.Text("generic", 0))
	recovered := time.Since(healed)
	delivery := posthouse.DeliveryID(y.messageOf(prefix+"-after"), 1)
	house.Until(t, "the first message after the fault to arrive", func() bool { return arrived(t, l.House, delivery) })
	sends := time.Since(healed)
	s.end()
	l.wantReplays(t, y)
	for key, id := range y.accepted {
		l.before[key] = id
	}
	for _, w := range y.wrong[:min(len(y.wrong), 10)] {
		t.Error(w)
	}
	house.Report(t, house.Row{
		Test: "B1", Database: string(db), What: f.name, N: n, Unit: f.unit,
		Figure: fmt.Sprintf("%d messages; answers %v; %d wrong; longest call %s; accepts again after %s, sends after %s", len(y.accepted), y.answers, len(y.wrong),
			y.longest.Round(time.Millisecond), recovered.Round(time.Millisecond), sends.Round(time.Millisecond)),
		Bar: "each call ends in 202 or 503 with Retry-After, a repeated key gives its message", Pass: len(y.wrong) == 0,
	})
}

// arrived asks the provider whether a delivery has come.
func arrived(t *testing.T, h *house.House, key string) bool {
	t.Helper()
	resp, err := http.Get(h.Provider.URL + "/counts?provider=generic&key=" + key)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var said struct{ Counts []simulator.Count }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	return len(said.Counts) == 1 && said.Counts[0].Arrivals > 0
}

// wantReplays repeats the keys whose outcome was unknown once, and some others: they have their message.
func (l *linked) wantReplays(t *testing.T, y *tally) {
	t.Helper()
	keys := make([]string, 0, len(y.unsure))
	for key := range y.accepted {
		if y.unsure[key] || len(keys) < 20 {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		n, err := strconv.Atoi(key[strings.LastIndexByte(key, '-')+1:])
		if err != nil {
			n = 0 // the one after the fault
		}
		a := l.front.send(t, key, house.Text("generic", n))
		y.note(key, a)
		if !a.replayed {
			t.Errorf("the key %s was repeated and answered %s, want the first answer again", key, a.kind())
		}
	}
}

// wantOneMessageAKey compares what callers were told with what is stored.
func (l *linked) wantOneMessageAKey(t *testing.T) {
	t.Helper()
	told := map[string]string{}
	for key, id := range l.before {
		if other, twice := told[id]; twice {
			t.Errorf("the keys %s and %s have one message", key, other)
		}
		told[id] = key
	}
	stored := map[string]bool{}
	_, err := l.Store(t).History.ExportEvents(context.WithoutCancel(t.Context()), "", "", func(e posthouse.Event) error {
		stored[posthouse.MessageID(e.Delivery)] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lost, phantom := 0, 0
	for id, key := range told {
		if !stored[id] {
			lost++
			t.Errorf("the message %s of key %s was accepted and is lost", id, key)
		}
	}
	for id := range stored {
		if told[id] == "" {
			phantom++
		}
	}
	if phantom != l.extra {
		t.Errorf("%d messages stand beside those that their callers were told of, want %d", phantom, l.extra)
	}
	t.Logf("%d keys, %d messages, %d lost, %d phantom", len(told), len(stored), lost, phantom)
}
