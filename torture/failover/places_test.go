package failover

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// site is a place: its database, and its server, which reaches that one alone.
type site struct {
	name string
	db   *dbtest.Server
	*house.Member
}

// sites are two places, the second of which follows the first.
type sites struct {
	*house.House
	a, b *site
}

// openSites starts them; the judge reads the database of the place that holds it at the end.
func openSites(t *testing.T, kind dbtest.Kind, last string) *sites {
	t.Helper()
	s := &sites{a: &site{name: "a"}, b: &site{name: "b"}}
	s.a.db = open(t, kind)
	var err error
	if s.b.db, err = s.a.db.Standby(dbtest.StandbyOptions{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, db := range []*dbtest.Server{s.b.db, s.a.db} {
			if err := db.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	both := (&pair{primary: s.a.db, standby: s.b.db}).dsn
	s.House = house.Open(t, house.Options{DSN: s.a.db.DSN, JudgeDSN: map[string]string{"a": both(s.a.db.Addr), "b": both(s.b.db.Addr)}[last], Members: -1})
	var list []string
	for _, at := range []*site{s.a, s.b} {
		at.Member = s.Add(t, "")
		list = append(list, at.name+"=http://"+at.Addr)
	}
	for _, at := range []*site{s.a, s.b} {
		at.Env = []string{"POSTHOUSE_DSN=" + both(at.db.Addr), "POSTHOUSE_STATE_DIR=" + t.TempDir(), "POSTHOUSE_PLACE=" + at.name, "POSTHOUSE_PLACES=" + strings.Join(list, ",")}
	}
	s.a.Start(t)
	ch := s.Channel("generic")
	ch.MaxInflight = inflight
	s.PutChannel(t, ch)
	ms := posthouse.Duration(time.Millisecond)
	s.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 50 * ms, Jitter: 50 * ms}}})
	s.follows(t)
	s.b.Launch(t)
	s.b.WaitReady(t, 503)
	return s
}

// follows waits until the second database has what its server reads at its start.
func (s *sites) follows(t *testing.T) {
	t.Helper()
	if s.a.db.Kind() == dbtest.KindMariaDB {
		at, err := s.a.db.Ask("SELECT @@gtid_binlog_pos")
		if err != nil {
			t.Fatal(err)
		}
		house.Until(t, "the replica to follow", func() bool {
			reached, err := s.b.db.Ask("SELECT MASTER_GTID_WAIT('" + at + "', 1)")
			return err == nil && reached == "0"
		})
		return
	}
	house.Until(t, "the standby to follow", func() bool {
		n, err := s.b.db.Ask("SELECT COUNT(*)::text FROM pg_stat_wal_receiver WHERE status = 'streaming'")
		at, err2 := s.a.db.Ask("SELECT COALESCE(MIN(pg_current_wal_lsn() - replay_lsn), 1)::text FROM pg_stat_replication")
		return err == nil && err2 == nil && n == "1" && at == "0"
	})
}

// followers are callers that go where a refusal sends them.
type followers struct {
	t        *testing.T
	s        *sites
	end      chan struct{}
	running  sync.WaitGroup
	accepted atomic.Int64
	directed atomic.Int64 // refusals that said where to go
}

func (s *sites) load(t *testing.T, callers int) *followers {
	t.Helper()
	f := &followers{t: t, s: s, end: make(chan struct{})}
	for i := range callers {
		f.running.Go(func() { f.call(i) })
	}
	t.Cleanup(f.stop)
	return f
}

func (f *followers) stop() {
	select {
	case <-f.end:
	default:
		close(f.end)
	}
	f.running.Wait()
}

func (f *followers) more(n int64) {
	f.t.Helper()
	from := f.accepted.Load()
	house.Until(f.t, "accepted messages", func() bool { return f.accepted.Load() >= from+n })
}

func (f *followers) call(caller int) {
	clients := map[string]*client.Client{}
	for _, at := range []*site{f.s.a, f.s.b} {
		clients["http://"+at.Addr] = at.Client(f.t, 1)
	}
	here := "http://" + f.s.a.Addr
	for n := 0; ; n++ {
		key := fmt.Sprintf("caller-%d-%d", caller, n)
		for {
			select {
			case <-f.end:
				return
			case <-f.t.Context().Done():
				return
			default:
			}
			line := house.Told{Asked: time.Now(), Op: "send", Key: key, Body: key, Recipients: 1, Answer: "accepted", Status: 202}
			sent, err := clients[here].Messages.SendOnce(f.t.Context(), key, house.Text("generic", n))
			line.At = time.Now()
			if err == nil {
				line.Message = sent.Accepted[0].ID
				if sent.Replayed {
					line.Answer = "replayed"
				}
				f.s.Tell(f.t, line)
				f.accepted.Add(1)
				break
			}
			var coded *posthouse.Error
			line.Code, line.Status, line.Answer = string(posthouse.CodeOf(err)), 503, "unknown"
			if errors.As(err, &coded) && coded.Place != nil {
				line.Answer = "refused"
				if f.directed.Add(1); clients[coded.Place.URL] != nil {
					here = coded.Place.URL
				}
			}
			f.s.Tell(f.t, line)
			select {
			case <-f.end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// switchTo is the person's part, as the command says it.
func (s *sites) switchTo(t *testing.T, from, to *site) {
	t.Helper()
	s.place(t, from, "switch", to.name)
	if err := from.db.HandOver(to.db); err != nil {
		t.Fatal(err)
	}
	to.WaitReady(t, 200)
	if err := from.db.Demote(to.db, from.name); err != nil {
		t.Fatal(err)
	}
	if from.db.Kind() == dbtest.KindMariaDB {
		return // it follows already
	}
	if err := from.db.Restart(); err != nil {
		t.Fatal(err)
	}
}

func (s *sites) place(t *testing.T, at *site, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), house.Binary(t), append(append([]string{"place"}, args...), "--json")...)
	cmd.Env = append(os.Environ(), at.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("place %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// said is what a place says of itself.
func (s *site) said(t *testing.T) wire.PlaceStance {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr + "/readyz")
	if err != nil {
		return wire.PlaceStance{}
	}
	defer resp.Body.Close()
	var r wire.Readiness
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || r.Place == nil {
		return wire.PlaceStance{}
	}
	return *r.Place
}

// HA: a place hands over to another under load, and takes over again. Callers follow where they are sent.
func TestHAPlaceHandsOverAndBack(t *testing.T) {
	if !house.Full() {
		return // it waits for heartbeats; TestAPlaceHandsOver of package server is the short form
	}
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			handsOverAndBack(t, kind)
		})
	}
}

func handsOverAndBack(t *testing.T, kind dbtest.Kind) {
	s := openSites(t, kind, "a")
	f := s.load(t, 64)
	f.more(100)
	times := house.Size(1, 5)
	begin := time.Now()
	for range times {
		s.switchTo(t, s.a, s.b)
		f.more(100)
		s.switchTo(t, s.b, s.a)
		f.more(100)
	}
	f.stop()
	s.Settle(t)
	s.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "place", Note: "switched over"})
	report := s.Judge(t)
	house.Report(t, house.Row{
		Test: "HA", Database: string(kind), What: "two places, switched over under the load of 64 callers that follow, and back", N: times, Unit: "times there and back",
		Figure: fmt.Sprintf("%d messages, lost %d, unexplained doubles %d, unknown %d; %d callers were sent elsewhere", f.accepted.Load(), report.Totals.Lost, report.Totals.DuplicatedUnexplained, report.Unknowns.Entered, f.directed.Load()),
		Bar:    fmt.Sprintf("lost 0, unexplained doubles 0, unknown ≤ %d", 2*times*inflight), Bound: house.Bound(times),
		Pass: report.Totals.Lost == 0 && report.Totals.DuplicatedUnexplained == 0 && report.Unknowns.Entered <= 2*times*inflight && f.directed.Load() > 0,
	})
}

// HA: a place is lost, the other one's database promoted and its epoch begun. Then the lost one comes back and takes itself for the holder: it is
// beaten by the epoch as soon as it sees the other.
func TestHAPlaceThatComesBackStops(t *testing.T) {
	if !house.Full() {
		return // as above
	}
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			comesBackAndStops(t, kind)
		})
	}
}

func comesBackAndStops(t *testing.T, kind dbtest.Kind) {
	s := openSites(t, kind, "b")
	f := s.load(t, 8)
	f.more(100)
	s.a.Kill(t)
	begin := time.Now()
	s.follows(t)
	if err := s.b.db.Promote(); err != nil {
		t.Fatal(err)
	}
	house.Until(t, "the other place to say that it does not take over by itself", func() bool {
		is := s.b.said(t)
		return !is.Active && is.Holder != nil && is.Holder.Name == "a"
	})
	cmd := exec.CommandContext(t.Context(), house.Binary(t), "migrate", "new-epoch", "--yes")
	cmd.Env = append(os.Environ(), s.b.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("new-epoch: %v: %s", err, out)
	}
	s.b.WaitReady(t, 200)
	s.a.Launch(t) // its database still takes writes, and says that it holds
	house.Until(t, "the place that was lost to stop", func() bool {
		is := s.a.said(t)
		return is.Name == "a" && !is.Active && is.Holder != nil && is.Holder.Name == "b" && is.Epoch >= s.b.said(t).Epoch
	})
	f.stop()
	s.Settle(t, posthouse.Unknown)
	s.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "place", Note: "lost"})
	report := s.Verdict(t)
	house.Report(t, house.Row{
		Test: "HA", Database: string(kind), What: "a place is lost, the other one promoted and its epoch begun; the first comes back with its own database", N: 1, Unit: "times",
		Figure: fmt.Sprintf("%d messages, unexplained doubles %d, held %d; the first is passive", f.accepted.Load(), report.Totals.DuplicatedUnexplained, report.Unknowns.EpochHold),
		Bar:    "unexplained doubles 0, the one with the older epoch stops", Pass: report.Totals.DuplicatedUnexplained == 0,
	})
}
