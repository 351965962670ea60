package network

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// The lease of these tests is short, so that outlasting it takes no time; in the small form, beside other
// tests, no shorter than a busy machine needs between a write and its reading.
func sendTimeout() time.Duration { return time.Duration(house.Form(1000, 500)) * time.Millisecond }
func leaseMargin() time.Duration { return sendTimeout() }
func lease() time.Duration       { return sendTimeout() + leaseMargin() }

// isolation is how a worker loses touch with its database while its provider still hears it.
type isolation struct {
	name string
	cut  bool          // the link, and not the process
	rest time.Duration // until the next one: a worker that met an error starts nothing for a second
	// begin isolates the first member and returns what ends it.
	begin func(t *testing.T, h *house.House, link *proxy.Proxy) (end func())
}

var isolations = []isolation{
	{"cut off by a black hole", true, 0, func(t *testing.T, _ *house.House, link *proxy.Proxy) func() {
		link.Set(proxy.Both(proxy.Way{Hole: true}))
		return func() { link.Set(proxy.Faults{}) }
	}},
	{"cut off by resets", true, 1500 * time.Millisecond, func(t *testing.T, _ *house.House, link *proxy.Proxy) func() {
		link.Set(proxy.Faults{Refuse: true})
		link.Reset()
		return func() { link.Set(proxy.Faults{}) }
	}},
	{"standing still (SIGSTOP)", false, 0, func(t *testing.T, h *house.House, _ *proxy.Proxy) func() { return h.Members[0].Freeze(t) }},
}

// TestB5AWorkerThatLosesItsLeases isolates one of two workers for longer than its leases last, over
// and over, while it sends: what it writes afterwards is refused, and it starts nothing after a
// lease's end.
func TestB5AWorkerThatLosesItsLeases(t *testing.T) {
	house.Alone(t)
	each(t, func(t *testing.T, db house.Database) {
		for _, iso := range isolations {
			if db == house.SQLite && iso.cut {
				continue // there is no link, and nobody else
			}
			t.Run(iso.name, func(t *testing.T) {
				house.Alone(t)
				isolate(t, db, iso)
			})
		}
	}, house.Postgres)
}

// openIsolated starts the worker that is isolated, behind a link; and where the database allows it one
// more worker, and a front door that accepts and does not send.
func openIsolated(t *testing.T, db house.Database) (*house.House, *proxy.Proxy) {
	dsn := db.DSN(t)
	env := []string{"POSTHOUSE_LEASE_MARGIN=" + leaseMargin().String(), "POSTHOUSE_POLL=20ms"}
	if db == house.SQLite {
		return house.Open(t, house.Options{DSN: dsn, Env: env}), nil
	}
	p, behind := link(t, db, dsn)
	h := house.Open(t, house.Options{DSN: behind, JudgeDSN: dsn, Env: env})
	for _, more := range []string{"POSTHOUSE_ACCEPT_ONLY=false", "POSTHOUSE_ACCEPT_ONLY=true"} {
		m := h.Add(t, "")
		m.Env = []string{"POSTHOUSE_DSN=" + dsn, more}
		m.Start(t)
	}
	return h, p
}

func isolate(t *testing.T, db house.Database, iso isolation) {
	h, p := openIsolated(t, db)
	// Slow enough that sends are under way at any time, and well within the time-out.
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: posthouse.Duration(60 * time.Millisecond)}}})
	ch := h.Channel("generic")
	ch.Timeout = posthouse.Duration(sendTimeout())
	for _, m := range h.Members { // each knows it at once: one that does not would rescue with cautious waits
		if _, _, err := m.Client(t, 3).Channels.Put(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}

	y := newTally()
	s := newCaller(t, h, h.Members[len(h.Members)-1]).storm(t, y, 4, 20*time.Millisecond, "b5", "generic")
	n := house.Size(2, 100) // three hundred a database
	for range n {
		house.Pause(t.Context(), iso.rest+time.Duration(100+rand.IntN(100))*time.Millisecond)
		at := time.Now()
		end := iso.begin(t, h, p)
		house.Pause(t.Context(), lease()+time.Duration(100+rand.IntN(200))*time.Millisecond)
		end()
		if iso.cut {
			h.Fault(t, house.Fault{At: at, Until: time.Now(), Kind: "db_cut", Target: h.Members[0].Name(), Note: iso.name})
		}
	}
	s.end()
	h.Settle(t)
	f := compare(t, readLog(t, h), h.Provider.Arrivals(t))
	late := strings.Count(h.Members[0].Log(), "results came late")
	if late > 0 { // a late refusal is not always an event
		h.Fault(t, house.Fault{Kind: "seen", Note: "stale_result_refused", Target: h.Members[0].Name(), N: late})
	}
	if house.Full() {
		h.Judge(t, "lease_lost_after_start", "stale_result_refused")
	} else {
		h.Judge(t)
	}
	house.Report(t, house.Row{
		Test: "B5", Database: string(db), What: "a worker " + iso.name + " for longer than its leases", N: n, Unit: "isolations",
		Figure: fmt.Sprintf("%s; %d batches of late results refused", f, late),
		Bar:    "no stale write accepted, no start after a lease's end, none lost, none unexplained",
		Bound:  house.Bound(n), Pass: f.clean() && f.deliveries == len(y.accepted) && (4*late >= n || !house.Full() || db == house.SQLite),
	})
}
