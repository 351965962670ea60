package failover

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// inflight is how many attempts a server has under way at most.
const inflight = 16

// pair is a primary with a standby, and two servers of ours that reach both, each by links of its own.
type pair struct {
	*house.House
	primary, standby *dbtest.Server
	stream           *proxy.Proxy       // by which the standby follows
	links            [2][2]*proxy.Proxy // of a member, to the primary and to the standby
}

const waits = "ANY 1 (standby)"

// kinds are the databases that have a pair.
var kinds = []dbtest.Kind{dbtest.KindPostgres, dbtest.KindMariaDB}

// openPair starts all of it; in sync, a commit waits for the standby.
func openPair(t *testing.T, kind dbtest.Kind, sync bool, env ...string) *pair {
	t.Helper()
	return openSkewed(t, kind, sync, 0, env...)
}

// openSkewed is the same with a standby whose clock is ahead of the primary's.
func openSkewed(t *testing.T, kind dbtest.Kind, sync bool, ahead time.Duration, env ...string) *pair {
	t.Helper()
	p := &pair{primary: open(t, kind)}
	p.stream = relay(t, p.primary)
	var err error
	if p.standby, err = p.primary.Standby(dbtest.StandbyOptions{Through: p.stream.Addr(), Clock: ahead}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.standby.Stop(); err != nil {
			t.Error(err)
		}
		if err := p.primary.Kill(); err != nil { // it may be frozen
			t.Error(err)
		}
	})
	if sync {
		if err := p.wait(); err != nil {
			t.Fatal(err)
		}
	}
	p.House = house.Open(t, house.Options{DSN: p.dsn(p.primary.Addr, p.standby.Addr), JudgeDSN: p.dsn(p.standby.Addr, p.primary.Addr), Members: -1, Env: env})
	for i := range p.links {
		p.links[i] = [2]*proxy.Proxy{relay(t, p.primary), relay(t, p.standby)}
		m := p.Add(t, "")
		m.Env = []string{"POSTHOUSE_DSN=" + p.dsn(p.links[i][0].Addr(), p.links[i][1].Addr()), "POSTHOUSE_STATE_DIR=" + t.TempDir()}
		m.Start(t)
	}
	ch := p.Channel("generic")
	ch.MaxInflight = inflight
	p.PutChannel(t, ch)
	ms := posthouse.Duration(time.Millisecond)
	p.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 50 * ms, Jitter: 50 * ms}}})
	return p
}

// open starts a server that a standby can follow.
func open(t *testing.T, kind dbtest.Kind) *dbtest.Server {
	t.Helper()
	o := dbtest.Options{Kind: kind, Durable: house.Full()}
	if kind == dbtest.KindMariaDB {
		o.Args = dbtest.ReplicaArgs(1)
	}
	return dbtest.Own(t, o)
}

// wait has commits wait for the standby.
func (p *pair) wait() error {
	if p.primary.Kind() == dbtest.KindMariaDB {
		return p.primary.Do("SET GLOBAL rpl_semi_sync_master_enabled = ON")
	}
	return p.primary.Set("synchronous_standby_names", waits)
}

func relay(t *testing.T, to *dbtest.Server) *proxy.Proxy {
	t.Helper()
	protocol := proxy.Postgres
	if to.Kind() == dbtest.KindMariaDB {
		protocol = proxy.MySQL
	}
	return relayTo(t, to.Addr, protocol)
}

func relayTo(t *testing.T, addr string, protocol proxy.Protocol) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(proxy.Options{Target: addr, Protocol: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// dsn names several hosts, in their order.
func (p *pair) dsn(hosts ...string) string {
	return strings.Replace(p.primary.DSN, p.primary.Addr, strings.Join(hosts, ","), 1)
}

var (
	hole = proxy.Both(proxy.Way{Hole: true})
	fine = proxy.Faults{}
)

// callers are how many of them send at once.
func callers() int { return house.Form(8, 64) }

// load is callers that send without a pause until they are told to end.
type load struct {
	t        *testing.T
	h        *house.House
	end      chan struct{}
	running  sync.WaitGroup
	mu       sync.Mutex
	accepted []string
}

func (p *pair) load(t *testing.T, callers int) *load {
	t.Helper()
	l := &load{t: t, h: p.House, end: make(chan struct{})}
	for i := range callers {
		l.running.Go(func() { l.call(i) })
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) call(caller int) {
	for n := 0; ; n++ {
		select {
		case <-l.end:
			return
		case <-l.t.Context().Done():
			return
		default:
		}
		key := fmt.Sprintf("caller-%d-%d", caller, n)
		id, err := l.h.Send(l.t, key, house.Text("generic", n), true)
		for err != nil { // with the same key, as a caller does that was told 503
			select {
			case <-l.end:
				return
			case <-time.After(50 * time.Millisecond):
			}
			id, err = l.h.Send(l.t, key, house.Text("generic", n), true)
		}
		l.mu.Lock()
		l.accepted = append(l.accepted, id)
		l.mu.Unlock()
	}
}

func (l *load) stop() {
	select {
	case <-l.end:
	default:
		close(l.end)
	}
	l.running.Wait()
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accepted)
}

// more waits for so many more accepted messages.
func (l *load) more(n int) {
	l.t.Helper()
	from := l.count()
	house.Until(l.t, "accepted messages", func() bool { return l.count() >= from+n })
}

// promote promotes the standby and returns when it did so.
func (p *pair) promote(t *testing.T) time.Time {
	t.Helper()
	if err := p.standby.Promote(); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// firstAfter hands in one message at the second server, which sees the standby in every scene, and returns how long after a
// moment it has arrived.
func (p *pair) firstAfter(t *testing.T, at time.Time) time.Duration {
	t.Helper()
	key, c := fmt.Sprint("first-", at.UnixNano()), p.Members[1].Client(t, 1)
	var id string
	house.Until(t, "a message to be accepted", func() bool {
		line := house.Told{Asked: time.Now(), Op: "send", Key: key, Body: key, Recipients: 1, Answer: "unknown"}
		first := house.Text("generic", 0)
		first.Priority = posthouse.High // what the callers have handed in meanwhile is behind it
		sent, err := c.Messages.SendOnce(t.Context(), key, first)
		if err == nil {
			id = sent.Accepted[0].ID
			line.Answer, line.Status, line.Message = "accepted", 202, id
		}
		line.At = time.Now()
		p.Tell(t, line)
		return err == nil
	})
	var took time.Duration
	house.Until(t, "the first message to arrive", func() bool {
		for _, a := range p.Provider.Arrivals(t) {
			if a.Key == posthouse.DeliveryID(id, 1) {
				took = a.At.Sub(at)
				return true
			}
		}
		return false
	})
	return took
}
