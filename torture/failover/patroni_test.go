package failover

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// ruled is a cluster that Patroni rules, and two servers of ours that reach each of its members by links of their own.
type ruled struct {
	*pair
	cluster *dbtest.Patroni
	ways    [2][]*proxy.Proxy // of a server of ours, to each member
	mu      sync.Mutex
	links   [3][]*proxy.Proxy // of a member, to etcd and to the others
}

func openRuled(t *testing.T) *ruled {
	t.Helper()
	r := &ruled{}
	r.cluster = dbtest.StartPatroni(t, dbtest.PatroniOptions{Members: len(r.links), Durable: house.Full(), Through: func(member int, addr string) string {
		link := relayTo(t, addr, proxy.Opaque)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.links[member] = append(r.links[member], link)
		return link.Addr()
	}})
	members := r.cluster.Members
	t.Cleanup(func() {
		for _, m := range members {
			if t.Failed() {
				t.Logf("%s says:\n%s", m.Name, m.Log())
			}
		}
	})
	r.pair = &pair{primary: members[0].Server}
	var all []string
	for _, m := range members {
		all = append(all, m.Addr)
	}
	r.House = house.Open(t, house.Options{DSN: r.dsn(all...), JudgeDSN: r.dsn(all...), Members: -1})
	for i := range r.ways {
		var addrs []string
		for _, m := range members {
			way := relay(t, m.Server)
			r.ways[i], addrs = append(r.ways[i], way), append(addrs, way.Addr())
		}
		m := r.Add(t, "")
		m.Env = []string{"POSTHOUSE_DSN=" + r.dsn(addrs...), "POSTHOUSE_STATE_DIR=" + t.TempDir()}
		m.Start(t)
	}
	ch := r.Channel("generic")
	ch.MaxInflight = inflight
	r.PutChannel(t, ch)
	ms := posthouse.Duration(time.Millisecond)
	r.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 50 * ms, Jitter: 50 * ms}}})
	return r
}

// cut takes the first member's machine away from the others, and from the second server; the first server is left with it alone.
func (r *ruled) cut(f proxy.Faults) {
	r.mu.Lock()
	links := append([]*proxy.Proxy(nil), r.links[0]...)
	r.mu.Unlock()
	for _, link := range append(append(links, r.ways[0][1:]...), r.ways[1][0]) {
		link.Set(f)
	}
}

// HA: the machine of a primary that Patroni rules is lost under load. Patroni promotes another one, servers of ours and their callers are told
// nothing, and the machine comes back as a standby by itself.
func TestHAPatroniPromotes(t *testing.T) {
	if !house.Full() {
		return // seven processes of others, and a promotion after a time-out
	}
	for _, s := range []struct {
		name   string
		strike func(r *ruled) error
		mend   func(r *ruled) error
	}{
		{"killed", func(r *ruled) error { return r.cluster.Members[0].Kill() }, func(r *ruled) error { return r.cluster.Members[0].Restart() }},
		// The machine is reset, as Patroni's watchdog does it. Without a reset Patroni 3.0.2 takes the lock of etcd's v3 interface from the new
		// primary when it wakes up. The new primary is then rewound, and loses what it has answered.
		{"frozen", func(r *ruled) error { return r.cluster.Members[0].Freeze() }, func(r *ruled) error {
			return errors.Join(r.cluster.Members[0].Kill(), r.cluster.Members[0].Restart())
		}},
		{"cut off", func(r *ruled) error { r.cut(hole); return nil }, func(r *ruled) error { r.cut(fine); return nil }},
	} {
		t.Run(s.name, func(t *testing.T) {
			times := house.Size(1, 3)
			accepted, unknown, doubled, lost := 0, 0, 0, 0
			var longest, away time.Duration
			for range times {
				r := openRuled(t)
				l := r.load(t, callers())
				l.more(300)
				begin := time.Now()
				if err := s.strike(r); err != nil {
					t.Fatal(err)
				}
				at := r.promoted(t)
				longest = max(longest, r.firstAfter(t, at))
				away = max(away, time.Since(begin))
				l.more(300)
				if err := s.mend(r); err != nil {
					t.Fatal(err)
				}
				house.Until(t, "the former primary to follow", func() bool { return r.cluster.Members[0].Follows(t.Context()) })
				l.more(300)
				l.stop()
				r.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "primary", Note: s.name})
				for _, m := range r.Members {
					m.WaitReady(t, 200)
				}
				r.Settle(t)
				report := r.Judge(t)
				accepted += l.count()
				unknown = max(unknown, report.Unknowns.Entered)
				doubled += report.Totals.DuplicatedUnexplained
				lost += report.Totals.Lost
			}
			house.Report(t, house.Row{
				Test: "HA", Database: "patroni", What: "three servers ruled by Patroni with etcd, synchronous_mode_strict, the primary's machine " + s.name + " under load, and back", N: times, Unit: "promotions",
				Figure: fmt.Sprintf("%d messages, lost %d, unexplained doubles %d, unknown at most %d; first message %s after the new primary's first commit at most, %s after the fault; the machine came back as a standby by itself",
					accepted, lost, doubled, unknown, longest.Round(10*time.Millisecond), away.Round(10*time.Millisecond)),
				Bar: fmt.Sprintf("lost 0, unexplained doubles 0, unknown ≤ %d, first message ≤ 5 s", 2*inflight), Bound: house.Bound(times),
				Pass: lost == 0 && doubled == 0 && unknown <= 2*inflight && longest <= 5*time.Second,
			})
		})
	}
}

// promoted waits until Patroni has promoted another member than the first, and that one has answered a commit, for which another standby has to
// follow it.
func (r *ruled) promoted(t *testing.T) time.Time {
	t.Helper()
	var next *dbtest.PatroniMember
	house.Until(t, "Patroni to promote", func() bool {
		for _, m := range r.cluster.Members[1:] {
			if m.Leads(t.Context()) {
				next = m
			}
		}
		return next != nil
	})
	house.Until(t, "the new primary to take a write", func() bool { return next.Do("CREATE TABLE IF NOT EXISTS torture_probe (n int)") == nil })
	return time.Now()
}
