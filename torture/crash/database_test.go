package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// A4: kill -9 of the database below working servers. Callers are told that they must repeat, /readyz says
// what is wrong, nobody spins, and everything goes on by itself when it is back.
func TestA4DatabaseThatDiesLosesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		db    house.Database
		kills int
	}{{house.Postgres, 100}, {house.MariaDB, 300}} {
		t.Run(string(c.db), func(t *testing.T) {
			t.Parallel()
			databaseKills(t, c.db, house.Size(3, c.kills))
		})
	}
}

// outage is how one death of the database went.
type outage struct {
	ready time.Time // when the database answered again
	idle  float64   // share of a core that a server used while it was down
}

func databaseKills(t *testing.T, db house.Database, times int) {
	server := db.Own(t)
	h := house.Open(t, house.Options{DSN: server.DSN, Members: 2})
	h.PutChannel(t, h.Channel("generic"))
	busy(t, h)
	var outages []outage
	accepted := storm(t, h, house.Form(60, 250), times, func(int) {
		outages = append(outages, strike(t, h, server))
	})
	for _, m := range h.Members {
		m.WaitReady(t, http.StatusOK)
	}
	h.Settle(t)
	h.Judge(t)
	n := count(t, h, accepted)
	waits := firstSends(t, h, outages)
	longest := waits[len(waits)-1]
	house.Report(t, house.Row{
		Test: "A4", Database: string(db), What: "kill -9 of the database under load", N: times, Unit: "kills",
		Figure: fmt.Sprintf("%d messages, lost %d, unexplained %d; %s duplicates a kill; first send %s after it is ready, at most %s", n.messages, n.lost, n.unexplained, per(n.extra, times), round(waits[len(waits)/2]), round(longest)),
		Bar:    "lost 0, unexplained 0, first send ≤ 5 s", Bound: house.Bound(times),
		Pass: n.lost+n.unexplained == 0 && inFull(longest <= 5*time.Second),
	})
	busiest := slices.MaxFunc(outages, func(a, b outage) int { return int(1e6 * (a.idle - b.idle)) })
	house.Report(t, house.Row{
		Test: "A4", Database: string(db), What: "a server's processor use while the database is down", N: times, Unit: "kills",
		Figure: fmt.Sprintf("at most %.0f %% of a core", 100*busiest.idle), Bar: "< 50 %",
		Pass: inFull(busiest.idle < 0.5),
	})
}

// strike kills the database, lets the servers feel it for a moment and brings it back.
func strike(t *testing.T, h *house.House, server *dbtest.Server) outage {
	t.Helper()
	at := time.Now()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	var used []time.Duration
	for _, m := range h.Members {
		m.WaitReady(t, http.StatusServiceUnavailable)
		so, _ := m.Processor(t)
		used = append(used, so)
	}
	from := time.Now()
	house.Pause(t.Context(), time.Duration(house.Form(300, 1000))*time.Millisecond+rand.N(500*time.Millisecond))
	var o outage
	for i, m := range h.Members {
		now, _ := m.Processor(t)
		o.idle = max(o.idle, (now-used[i]).Seconds()/time.Since(from).Seconds())
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	o.ready = time.Now()
	size := h.Provider.Size(t)
	if _, err := h.Send(t, fmt.Sprint("back ", time.Now().UnixNano()), house.Text("generic", 0), false); err != nil { // quick servers have sent all that was accepted
		t.Fatal(err)
	}
	house.Until(t, "something to be sent again", func() bool { return h.Provider.Size(t) > size })
	h.Fault(t, house.Fault{At: at, Until: o.ready, Kind: "db_kill", Target: server.DSN[:5]})
	return o
}

// firstSends is how long after each outage something arrived again, the longest last.
func firstSends(t *testing.T, h *house.House, outages []outage) []time.Duration {
	t.Helper()
	var waits []time.Duration
	arrivals := h.Provider.Arrivals(t)
	for _, o := range outages {
		next := slices.IndexFunc(arrivals, func(a simulator.Arrival) bool { return a.At.After(o.ready) })
		if next < 0 {
			t.Fatalf("nothing arrived after the database was back at %s", o.ready)
		}
		wait := arrivals[next].At.Sub(o.ready)
		waits = append(waits, wait)
	}
	slices.Sort(waits)
	return waits
}
