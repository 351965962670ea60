package clock

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// fractions are the parts of a second around which a database could round a time: whole seconds,
// milliseconds and microseconds, and what lies just below and above.
var fractions = []time.Duration{
	0, 1, 500, 999, 1000, 499_999_500, 500_000_000, 500_000_001, 998_999_999, 999_000_001, 999_998_999, 999_999_000, 999_999_500, 999_999_999,
}

// D4: nothing starts before its time, to the nanosecond that its caller named.
func TestD4NothingStartsEarly(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2), Env: []string{"POSTHOUSE_POLL=20ms"}})
		h.PutChannel(t, h.Channel("generic"))
		n := house.Size(280, 5600)
		var mu sync.Mutex
		due := map[int]time.Time{}
		accepted := h.Produce(t, house.Load{Messages: n, Draft: func(i int) posthouse.Draft {
			d := house.Text("generic", i)
			d.NotBefore = time.Now().Truncate(time.Second).Add(time.Duration(1+i%3) * time.Second).Add(fractions[i%len(fractions)])
			mu.Lock()
			defer mu.Unlock()
			due[i] = d.NotBefore
			return d
		}})
		h.Settle(t)
		begun := starts(t, h)
		early, unsent := 0, 0
		var late []time.Duration
		for i, id := range accepted {
			list := begun[posthouse.DeliveryID(id, 1)]
			if len(list) == 0 {
				unsent++
				continue
			}
			if list[0].Before(due[i]) {
				early++
				t.Errorf("message %s was due at %s and started at %s", id, due[i].Format(time.RFC3339Nano), list[0].Format(time.RFC3339Nano))
			}
			late = append(late, list[0].Sub(due[i]))
		}
		house.Report(t, house.Row{
			Test: "D4", Database: string(db), What: fmt.Sprintf("due at %d borders where a time could be rounded", len(fractions)), N: n, Unit: "messages",
			Figure: fmt.Sprintf("%d early, %d never sent; started after their time: %s (polled every 20 ms)", early, unsent, quantiles(late)), Bar: "0 early", Bound: house.Bound(n), Pass: early == 0 && unsent == 0,
		})
	})
}

// D5: a herd, all due in the same second. Everybody else is still served.
func TestD5HerdLeavesRoomForOthers(t *testing.T) {
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		h := house.Open(t, house.Options{DSN: db.DSN(t)})
		for _, name := range []string{"generic", "other"} {
			h.PutChannel(t, house.Patient(h.Channel(name)))
		}
		const perMessage = 100
		n := house.Size(5_000, 100_000)
		at := time.Now().Add(time.Duration(house.Form(4, 60)) * time.Second).Truncate(time.Second)
		herd := h.Produce(t, house.Load{Messages: n / perMessage, Prefix: "herd", Producers: 4, Draft: func(i int) posthouse.Draft {
			d := house.Text("generic", i)
			d.NotBefore, d.To = at, nil
			for k := range perMessage {
				d.To = append(d.To, posthouse.Recipient{User: fmt.Sprintf("herd-%d-%d", i, k)})
			}
			return d
		}})
		calls := house.Size(100, 2000)
		idle := accepts(t, h, "idle", calls)
		house.Until(t, "the herd to start", func() bool { return h.Members[0].Metric(t, `posthouse_message_send_total{channel="generic"`) > 0 })
		busy := accepts(t, h, "busy", calls)
		left := waiting(t, h.Store(t))
		drain(t, h)
		claims := writes(t, h.Members[0], "claim", 0.99)
		beside := besideOthers(t, func() []time.Duration { return accepts(t, h, "beside", calls) })
		h.Settle(t)
		report := h.Judge(t)
		wait, twice, missing := spread(t, h, herd, perMessage, at)
		house.Report(t, house.Row{
			Test: "D5", Database: string(db), What: "deliveries due in one second", N: n, Unit: "deliveries",
			Figure: fmt.Sprintf("%d not sent, %d twice, %d early; %d accepts idle %s, while the herd runs %s, p99 %.1f times (%d still waiting after them), without it beside a process for each core that only computes %s, p99 %.1f times; 99 of 100 claims within %s; from due to start %s; %d checked by verify",
				missing, twice, wait.early, calls, quantiles(idle), quantiles(busy), ratio(busy, idle), left, quantiles(beside), ratio(beside, idle), claims, quantiles(wait.late), report.Totals.Acknowledged),
			Bar: "all sent, none twice, none early; wanted p99 at most 2 times (server, provider and callers share two cores)", Bound: house.Bound(n), Pass: missing+twice+wait.early == 0,
		})
	})
}

// besideOthers runs fn while as many processes as there are cores do nothing but compute: what it costs to share the
// machine with the herd's provider.
func besideOthers(t *testing.T, fn func() []time.Duration) []time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range runtime.NumCPU() {
		c := exec.CommandContext(ctx, "sh", "-c", "ulimit -t 60; while :; do :; done") // never for longer, whatever becomes of us
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { _ = c.Wait() }) // it is killed
	}
	return fn()
}

// accepts measures how long callers wait for their 202, two at a time.
func accepts(t *testing.T, h *house.House, prefix string, n int) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for caller := range 2 {
		wg.Go(func() {
			for i := range n / 2 {
				began := time.Now()
				if _, err := h.Send(t, fmt.Sprintf("%s-%d-%d", prefix, caller, i), house.Text("other", i), false); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return took
}

// writes is the time within which a share of a member's writes were answered, as its metrics tell it: in
// steps of the double.
func writes(t testing.TB, m *house.Member, what string, share float64) time.Duration {
	t.Helper()
	all := m.Metric(t, fmt.Sprintf("posthouse_write_duration_seconds_count{write=%q}", what))
	if all == 0 {
		t.Errorf("no write %q has been counted", what)
	}
	within := 0.0005 // the first step
	for m.Metric(t, fmt.Sprintf("posthouse_write_duration_seconds_bucket{write=%q,le=\"%v\"}", what, within)) < share*all && within < 30 {
		within *= 2
	}
	return time.Duration(within * float64(time.Second))
}

func ratio(a, b []time.Duration) float64 {
	return float64(at(a, 99)) / float64(max(at(b, 99), 1))
}

// drain waits for as long as the queue grows shorter: a large herd outlasts anybody's patience.
func drain(t *testing.T, h *house.House) {
	t.Helper()
	st := h.Store(t)
	for left, before := waiting(t, st), math.MaxInt; left > 0 && left < before; {
		house.Pause(t.Context(), time.Second)
		before, left = left, waiting(t, st)
	}
}

// waits is how long a herd waited.
type waits struct {
	late  []time.Duration
	early int
}

// spread tells how the herd started.
func spread(t *testing.T, h *house.House, herd map[int]string, each int, due time.Time) (w waits, twice, missing int) {
	t.Helper()
	begun, came := starts(t, h), arrivals(t, h)
	for _, id := range herd {
		for k := range each {
			key := posthouse.DeliveryID(id, k+1)
			if came[key] == 0 {
				missing++
			} else if came[key] > 1 {
				twice++
			}
			for _, start := range begun[key] {
				w.late = append(w.late, start.Sub(due))
				if start.Before(due) {
					w.early++
				}
			}
		}
	}
	return w, twice, missing
}

// D6: the provider is away while deadlines pass. Nothing starts after its deadline, and everything says
// that it expired.
func TestD6DeadlinesHoldThroughAnOutage(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		outage := simulator.Fault{Kind: simulator.ServerError, Status: http.StatusServiceUnavailable}
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{outage}})
		ch := h.Channel("generic")
		ch.Backoff = []posthouse.Duration{posthouse.Duration(time.Second)}
		h.PutChannel(t, ch)
		n := house.Size(500, 10_000)
		began := time.Now()
		accepted := h.Produce(t, house.Load{Messages: n, Draft: func(i int) posthouse.Draft {
			d := house.Text("generic", i)
			d.Deadline = time.Now().Add(time.Duration(house.Form(10, 3))*time.Second + time.Duration(i%2000)*time.Millisecond)
			return d
		}})
		h.Settle(t)
		h.Fault(t, house.Fault{At: began, Until: time.Now(), Kind: "provider"})
		h.Provider.Behave(t, "generic", simulator.Behaviour{}) // whatever was still to come would arrive now
		house.Pause(t.Context(), time.Second)
		h.Judge(t)
		late, tries, ends := 0, 0, map[string]posthouse.State{}
		readLog(t, h, func(e posthouse.Event) {
			ends[e.Delivery] = e.To
			if e.Type == posthouse.EventStart {
				tries++
				if !e.At.Before(e.Deadline) {
					late++
				}
			}
		})
		expired, taken := 0, 0
		for _, id := range accepted {
			if ends[posthouse.DeliveryID(id, 1)] == posthouse.Expired {
				expired++
			}
		}
		for _, a := range h.Provider.Arrivals(t) {
			if a.Answer != simulator.Refused {
				taken++
			}
		}
		house.Report(t, house.Row{
			Test: "D6", Database: string(db), What: "provider away while deadlines pass", N: n, Unit: "deadlines",
			Figure: fmt.Sprintf("%d of %d starts after the deadline, %d of %d expired, %d taken", late, tries, expired, n, taken), Bar: "0 starts after the deadline, all expired",
			Bound: house.Bound(n), Pass: late == 0 && expired == n && taken == 0 && tries > 0,
		})
	})
}
