package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// cluster is a Galera cluster, and servers of ours that reach all of its nodes by links of their own.
type cluster struct {
	*pair
	nodes []*dbtest.Server
	ways  [][]*proxy.Proxy // of a member, to each node
}

// openCluster starts three nodes and some servers of ours.
func openCluster(t *testing.T, members int) *cluster {
	t.Helper()
	c := &cluster{nodes: dbtest.Galera(t, 3)}
	c.pair = &pair{primary: c.nodes[0]}
	addr := func(i int) string { return c.nodes[i].Addr }
	c.House = house.Open(t, house.Options{DSN: c.dsn(addr(0), addr(1), addr(2)), JudgeDSN: c.dsn(addr(2)), Members: -1})
	for i := range members {
		var ways []*proxy.Proxy
		var addrs []string
		for _, n := range c.nodes {
			ways = append(ways, relay(t, n))
			addrs = append(addrs, ways[len(ways)-1].Addr())
		}
		c.ways = append(c.ways, ways)
		m := c.Add(t, "")
		m.Env = []string{"POSTHOUSE_DSN=" + c.dsn(addrs...), "POSTHOUSE_STATE_DIR=" + t.TempDir()}
		if i == 0 {
			m.Start(t)
		}
	}
	for _, m := range c.Members[1:] {
		m.Start(t)
	}
	if writer, err := c.nodes[0].Ask("SELECT SUBSTRING_INDEX(value, ' ', -1) FROM posthouse.posthouse_meta WHERE name = 'writer'"); err != nil || writer != "node1" {
		t.Fatalf("the writer is %q (%v), want the first of the DSN: node1", writer, err)
	}
	ch := c.Channel("generic")
	ch.MaxInflight = inflight
	c.PutChannel(t, ch)
	ms := posthouse.Duration(time.Millisecond)
	c.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 50 * ms, Jitter: 50 * ms}}})
	return c
}

// HA: the node of a Galera cluster to which all servers write is killed, hangs, or is shut down. They go on with another one, by
// themselves and together.
func TestHAGaleraLosesItsWriter(t *testing.T) {
	for name, strike := range map[string]func(*dbtest.Server) error{
		"killed": (*dbtest.Server).Kill,
		"frozen": (*dbtest.Server).Freeze,
		"ended":  (*dbtest.Server).Stop,
	} {
		if !house.Full() {
			continue // three more servers on a machine that tests beside it
		}
		t.Run(name, func(t *testing.T) {
			times := house.Size(1, 3)
			accepted, unknown, doubled := 0, 0, 0
			var longest time.Duration
			for range times {
				c := openCluster(t, 2)
				l := c.load(t, callers())
				l.more(house.Form(60, 600))
				begin := time.Now()
				if err := strike(c.nodes[0]); err != nil {
					t.Fatal(err)
				}
				took := c.firstAfter(t, begin)
				l.more(house.Form(40, 600))
				l.stop()
				c.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "node1", Note: name})
				for _, m := range c.Members {
					m.WaitReady(t, 200)
				}
				c.Settle(t)
				report := c.Judge(t)
				accepted += l.count()
				unknown = max(unknown, report.Unknowns.Entered)
				doubled += report.Totals.DuplicatedUnexplained
				longest = max(longest, took)
				if report.Totals.Lost > 0 {
					t.Errorf("%d messages that were accepted are lost", report.Totals.Lost)
				}
			}
			house.Report(t, house.Row{
				Test: "HA", Database: "galera", What: "the writer's node " + name + " under load, two servers move to another", N: times, Unit: "moves",
				Figure: fmt.Sprintf("%d messages, lost 0, unexplained doubles %d, unknown at most %d; first message %s after it at most", accepted, doubled, unknown, longest.Round(10*time.Millisecond)),
				Bar:    fmt.Sprintf("lost 0, unexplained doubles 0, unknown ≤ %d, first message ≤ 15 s", 2*inflight), Bound: house.Bound(times),
				Pass: doubled == 0 && unknown <= 2*inflight && (!house.Full() || longest <= 15*time.Second),
			})
		})
	}
}

// HA: a server that can reach another node than the writer alone accepts nothing and says so, and one that is started on another node
// does not come up. Where it reaches the writer again it goes on.
func TestHAGaleraHasOneWriter(t *testing.T) {
	if !house.Full() {
		return // as above
	}
	c := openCluster(t, 2)
	l := c.load(t, callers())
	l.more(house.Form(60, 600))
	begin := time.Now()
	const says = "nothing is accepted or sent: the writer of the Galera cluster is the node node1"
	c.ways[1][0].Set(hole)
	c.Members[1].WaitReady(t, 503)
	house.Until(t, "the server to say so", func() bool { return strings.Contains(c.Members[1].Log(), says) })
	l.more(house.Form(40, 600)) // by the other
	third := c.Add(t, "")
	third.Env = []string{"POSTHOUSE_DSN=" + c.dsn(c.nodes[1].Addr), "POSTHOUSE_STATE_DIR=" + t.TempDir()}
	third.Launch(t)
	third.Wait(t)
	if !strings.Contains(third.Log(), "the writer of the Galera cluster is the node node1") {
		t.Errorf("a server on another node ends without a word of it:\n%s", third.Log())
	}
	c.Members = c.Members[:2]
	c.ways[1][0].Set(fine)
	c.Members[1].WaitReady(t, 200)
	l.more(house.Form(40, 600))
	l.stop()
	c.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_cut", Target: "node1", Note: "a server cut off from it"})
	c.Settle(t)
	report := c.Judge(t)
	house.Report(t, house.Row{
		Test: "HA", Database: "galera", What: "one of two servers cut off from the writer's node, a third started on another", N: 1, Unit: "cuts",
		Figure: fmt.Sprintf("%d messages, lost %d, unexplained doubles %d, unknown %d; both refused, named the writer, and the first went on", l.count(), report.Totals.Lost, report.Totals.DuplicatedUnexplained, report.Unknowns.Entered),
		Bar:    "lost 0, unexplained doubles 0, nothing accepted by the second node", Bound: house.Bound(1),
		Pass: report.Totals.Lost == 0 && report.Totals.DuplicatedUnexplained == 0,
	})
}
