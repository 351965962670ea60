package failover

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/torture/internal/house"
)

const (
	readers    = 20               // people with the console open
	readerLook = 10 * time.Second // after which its pages look again by themselves
	perSecond  = 200              // messages
)

// HA: what twenty people with the console open, and an export that goes on and on, cost the primary for each message, with and without a
// replica that they are shown. It takes minutes, and measures the processor time of the primary's processes alone.
func TestHAReadersCostThePrimaryLittle(t *testing.T) {
	if !house.Full() {
		return // the short form would measure nothing
	}
	primary := dbtest.Own(t, dbtest.Options{Kind: dbtest.KindPostgres, Durable: true})
	replica, err := primary.Standby(dbtest.StandbyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replica.Stop(); err != nil {
			t.Error(err)
		}
	})
	h := house.Open(t, house.Options{DSN: primary.DSN})
	h.PutChannel(t, h.Channel("generic"))
	session(t, h)
	h.Produce(t, house.Load{Messages: 20_000, Prefix: "before"})
	h.Settle(t)
	m := h.Members[0]
	ways := []struct {
		name    string
		env     []string
		readers int
	}{{name: "nobody looks"}, {name: "they read the primary", readers: readers}, {name: "they read the replica", readers: readers, env: []string{"POSTHOUSE_READ_DSN=" + replica.DSN}}}
	cost := make([][]time.Duration, len(ways))
	rounds, long := house.Size(1, 5), readMeasured()
	for round := range rounds {
		for i, w := range ways {
			if _, err := m.Term(t); err != nil {
				t.Fatal(err)
			}
			m.Env = w.env
			m.Start(t)
			r := look(t, m, w.readers)
			settled := time.Now().Add(readerLook) // until all have looked once
			steady(t, h, fmt.Sprintf("warm-%d-%d", round, i), settled)
			began := house.Processor(t, primary.PID())
			n := steady(t, h, fmt.Sprintf("run-%d-%d", round, i), time.Now().Add(long))
			used := house.Processor(t, primary.PID()) - began
			r.stop()
			cost[i] = append(cost[i], used/time.Duration(n))
			t.Logf("round %d, %s: %d messages, %s each", round+1, w.name, n, used/time.Duration(n))
		}
	}
	mid := make([]float64, len(ways))
	for i := range cost {
		slices.Sort(cost[i])
		mid[i] = float64(cost[i][len(cost[i])/2].Microseconds())
	}
	aside, beside := 100*(mid[2]/mid[0]-1), 100*(mid[1]/mid[0]-1)
	house.Report(t, house.Row{
		Test: "HA", Database: "postgres", What: fmt.Sprintf("%d people with the console open and an export, at %d messages a second", readers, perSecond), N: rounds, Unit: "rounds",
		Figure: fmt.Sprintf("the primary's processor time a message: %.0f µs without them, %+.1f %% when they read the primary, %+.1f %% when they read a replica (medians)", mid[0], beside, aside),
		Bar:    "at most 2 % more when they read a replica", Pass: aside <= 2,
	})
}

// readMeasured is for how long each way is measured.
func readMeasured() time.Duration { return time.Duration(house.Size(10, 30)) * time.Second }

// session makes a person whose session is called viewer.
func session(t *testing.T, h *house.House) {
	t.Helper()
	st := h.Store(t)
	if _, _, err := st.People.PutPerson(t.Context(), time.Now(), posthouse.Person{Name: "viewer", Roles: map[string]posthouse.Role{posthouse.DefaultTenant: posthouse.RoleAdmin}}); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("viewer"))
	if err := st.People.AddPass(t.Context(), time.Now(), work.Pass{Kind: work.PassSession, Mark: hex.EncodeToString(sum[:]), Person: "viewer", Source: "127.0.0.1"}, time.Hour); err != nil {
		t.Fatal(err)
	}
}

// steady hands in messages at one rate until a moment, and returns how many.
func steady(t *testing.T, h *house.House, prefix string, until time.Time) (n int) {
	t.Helper()
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	var calls sync.WaitGroup
	defer calls.Wait()
	for ; time.Now().Before(until); <-tick.C {
		n++
		key := fmt.Sprintf("%s-%d", prefix, n)
		calls.Go(func() {
			if _, err := h.Send(t, key, house.Text("generic", n), false); err != nil {
				t.Error(err)
			}
		})
	}
	return n
}

// reading are people who look.
type reading struct {
	end     chan struct{}
	running sync.WaitGroup
}

func (r *reading) stop() {
	close(r.end)
	r.running.Wait()
}

// look has people look at the pages that are open all day, each by turn, and one export read all deliveries again and again.
func look(t *testing.T, m *house.Member, people int) *reading {
	t.Helper()
	r := &reading{end: make(chan struct{})}
	pages := []string{"", "search?state=failed", "attention", "channels"}
	for i := range people {
		r.running.Go(func() {
			pause := time.NewTimer(readerLook * time.Duration(i) / time.Duration(max(people, 1)))
			defer pause.Stop()
			for {
				select {
				case <-r.end:
					return
				case <-pause.C:
				}
				get(t, m, "/console/t/default/"+pages[i%len(pages)], true)
				pause.Reset(readerLook)
			}
		})
	}
	if people > 0 {
		r.running.Go(func() {
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-r.end:
					return
				case <-tick.C:
					get(t, m, "/v1/deliveries?limit=1000", false)
				}
			}
		})
	}
	return r
}

func get(t *testing.T, m *house.Member, path string, person bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.Addr+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	if person {
		req.AddCookie(&http.Cookie{Name: "posthouse", Value: "viewer"}) //nolint:gosec // a request has no attributes of cookies
	} else {
		req.Header.Set("Authorization", "Bearer "+m.Key())
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %s, %v", path, res.Status, err)
	}
}
