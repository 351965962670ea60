package fleet

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

var (
	rateFor  = flag.Duration("rate.for", 10*time.Minute, "how long the long form sends against hidden limits")
	rateOnly = flag.String("rate.only", "", "only the hidden limits with this `WORD` in their names")
)

// hidden is a provider's limit that nobody has documented: so many calls in any second, which may move.
type hidden struct {
	name  string
	limit func(at time.Duration) int
	busy  bool          // it says that it is busy where others refuse
	waits bool          // it says after how many seconds it will take calls again: one
	lock  time.Duration // it refuses everything so long after one call too many, and says so
	// used is how much of it is to be used at least from settling on, and refused how much of the calls at most, in percent.
	used, refused float64
	// provider plays it, and changes are when the limit moved.
	provider *house.Provider
	changes  []change
}

// change is a limit from a time on.
type change struct {
	at    time.Time
	limit int
}

// hiddenLimits are those of the table of the pure controller (internal/rate), and one that names a wait.
func hiddenLimits() []*hidden {
	steady := func(n int) func(time.Duration) int { return func(time.Duration) int { return n } }
	return []*hidden{
		{name: "steady", limit: steady(30), used: 90, refused: 1},
		{name: "steady, waits", limit: steady(30), waits: true, used: 84, refused: 1},
		{name: "sine", used: 87, refused: 1.1, limit: func(at time.Duration) int {
			return int(30 + 10*math.Sin(2*math.Pi*at.Seconds()/120))
		}},
		{name: "walk", used: 86, refused: 1, limit: walk()},
		{name: "steps", used: 90, refused: 1, limit: func(at time.Duration) int {
			return []int{30, 10, 40, 40, 40}[min(int(at/(2*time.Minute)), 4)]
		}},
		{name: "busy", limit: steady(50), busy: true, used: 85, refused: 2.5},
		{name: "punishes", limit: steady(50), lock: 10 * time.Second},
	}
}

// walk is a limit between 10 and 60 that moves by some 3 % each second.
func walk() func(time.Duration) int {
	dice := rand.New(rand.NewPCG(1, 7))
	limits := make([]int, 3600)
	v := 30.0
	for i := range limits {
		v = min(60, max(10, v*(1+0.03*dice.NormFloat64())))
		limits[i] = int(v)
	}
	return func(at time.Duration) int { return limits[min(int(at/time.Second), len(limits)-1)] }
}

// move sets the limit of a moment, where it is another than before.
func (l *hidden) move(t *testing.T, at time.Duration) {
	t.Helper()
	n := l.limit(at)
	if len(l.changes) > 0 && l.changes[len(l.changes)-1].limit == n {
		return
	}
	ms := posthouse.Duration(time.Millisecond)
	l.provider.Behave(t, "tianyuan", simulator.Behaviour{
		Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: 80 * ms, Jitter: 20 * ms}},
		Limit:  &simulator.Limit{Max: n, Per: posthouse.Duration(time.Second), Lockout: posthouse.Duration(l.lock)},
	})
	l.changes = append(l.changes, change{time.Now(), n})
}

// channel is one to its provider, whose rate is learned.
func (l *hidden) channel() posthouse.Channel {
	meaning := "rate"
	if l.busy {
		meaning = "transient"
	}
	config := map[string]any{
		"url":  l.provider.URL + "/tianyuan/api/message/send",
		"body": `{"touser":"${user}","content":"${text}","msgId":"${idempotency_key}"}`, "id_path": "$.data.messageId",
		"success_path": "$.code", "success_values": []string{"0"}, "codes": map[string]string{"2001": meaning},
	}
	if l.waits || l.lock > 0 {
		config["retry_after_path"] = "$.retryAfter"
	}
	ch := house.Patient(posthouse.Channel{Name: l.channelName(), Driver: "httpapi", Config: config})
	ch.Rate = &posthouse.RateSettings{}
	ch.OnUnknown, ch.Tries = posthouse.Retry, 1000
	ch.Backoff = []posthouse.Duration{posthouse.Duration(time.Second)}
	return ch
}

func (l *hidden) channelName() string {
	return strings.NewReplacer(", ", "-", " ", "-").Replace(l.name)
}

// followed is what the arrivals say of how a hidden limit was followed.
type followed struct {
	allowed, accepted float64 // from so long after the start and after each step
	calls, refused    int     // in all
	punished          int
	most              int // in a second, after the first punishment
}

func (f followed) used() float64         { return 100 * f.accepted / max(f.allowed, 1) }
func (f followed) refusedShare() float64 { return 100 * float64(f.refused) / float64(max(f.calls, 1)) }

// settling is what a server has to find a limit, at the start and after a step.
const settling = 30 * time.Second

// look goes through what arrived until the end.
func (l *hidden) look(arrivals []simulator.Arrival, end time.Time) (f followed) {
	slices.SortFunc(arrivals, func(a, b simulator.Arrival) int { return a.At.Compare(b.At) })
	arrivals = arrivals[:countBefore(arrivals, end)]
	if len(arrivals) == 0 {
		return f
	}
	f.calls = len(arrivals)
	begin := arrivals[0].At
	var locked time.Time
	var after []time.Time // of accepted calls since the first punishment
	for i := range arrivals {
		a := &arrivals[i]
		switch {
		case a.Answer != simulator.Refused:
			if f.punished > 0 {
				after = append(after, a.At)
			}
			continue
		case l.lock > 0 && !a.At.Before(locked):
			f.punished++
			locked = a.At.Add(l.lock)
		}
		f.refused++
	}
	from := 0
	for i := range after {
		for after[i].Sub(after[from]) >= time.Second {
			from++
		}
		f.most = max(f.most, i-from+1)
	}
	settled := begin.Add(settling)
	before := l.limitAt(begin)
	for at := begin; at.Add(time.Second).Before(end); at = at.Add(time.Second) {
		now := l.limitAt(at.Add(time.Second / 2))
		if float64(now) > 1.5*float64(before) || 1.5*float64(now) < float64(before) {
			settled = at.Add(settling)
		}
		before = now
		if at.Before(settled) {
			continue
		}
		f.allowed += float64(now)
		for _, a := range arrivals[countBefore(arrivals, at):countBefore(arrivals, at.Add(time.Second))] {
			if a.Answer != simulator.Refused {
				f.accepted++
			}
		}
	}
	return f
}

// countBefore is how many of the sorted arrivals came before a time.
func countBefore(arrivals []simulator.Arrival, at time.Time) int {
	n, _ := slices.BinarySearchFunc(arrivals, at, func(a simulator.Arrival, at time.Time) int { return a.At.Compare(at) })
	return n
}

func (l *hidden) limitAt(at time.Time) int {
	n := l.changes[0].limit
	for _, c := range l.changes {
		if c.at.After(at) {
			break
		}
		n = c.limit
	}
	return n
}

// TestHiddenLimits has real servers find limits that nobody has documented, and follow them as they move: the table of the pure
// controller, once more through the program. (FLEET-5)
func TestHiddenLimits(t *testing.T) {
	house.Alone(t)
	servers, db := []int{1}, house.SQLite
	if house.Full() {
		servers, db = []int{1, 2}, house.Postgres
	}
	for _, n := range servers {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel() // they wait more than they work
			follow(t, db, n)
		})
	}
}

func follow(t *testing.T, db house.Database, servers int) {
	limits, length := hiddenLimits(), *rateFor
	limits = slices.DeleteFunc(limits, func(l *hidden) bool { return !strings.Contains(l.name, *rateOnly) })
	if !house.Full() {
		limits, length = limits[:1], 15*time.Second
	}
	for _, l := range limits {
		l.provider = house.StartProvider(t)
	}
	h := house.Open(t, house.Options{DSN: db.DSN(t), Members: servers, Provider: limits[0].provider})
	for _, l := range limits {
		l.move(t, 0)
		h.PutChannel(t, l.channel())
		const people = 1000
		need := 0
		for at := time.Duration(0); at < length; at += time.Second {
			need += l.limit(at) + 1
		}
		h.Produce(t, house.Load{Messages: 1 + need/people, Producers: 2, Prefix: l.name, Draft: func(n int) posthouse.Draft {
			d := house.Text(l.channelName(), n)
			d.To = nil
			for k := range people {
				d.To = append(d.To, posthouse.Recipient{User: fmt.Sprintf("u%d-%d", n, k)})
			}
			return d
		}})
	}
	for begin := time.Now(); time.Since(begin) < length; house.Pause(t.Context(), 200*time.Millisecond) {
		for _, l := range limits {
			l.move(t, time.Since(begin).Truncate(time.Second))
		}
	}
	end := time.Now()
	for _, m := range h.Members {
		learned(t, m, limits)
	}
	for _, m := range h.Members {
		m.Kill(t)
	}
	for _, l := range limits {
		l.report(t, h, db, end)
	}
}

// learned says what a server has learned of each limit.
func learned(t *testing.T, m *house.Member, limits []*hidden) {
	t.Helper()
	for _, l := range limits {
		rates, err := m.Client(t, 3).Channels.Rates(t.Context(), l.channelName())
		if err != nil || len(rates) != 1 {
			t.Fatalf("rates of %s: %v %v", l.name, rates, err)
		}
		t.Logf("%s, %s: %.2f a second, learned %.2f, %s since %s", m.Name(), l.name, rates[0].Rate, rates[0].Base, rates[0].Reason, rates[0].Since.Format(time.TimeOnly))
	}
}

func (l *hidden) report(t *testing.T, h *house.House, db house.Database, end time.Time) {
	t.Helper()
	f := l.look(l.provider.Arrivals(t), end)
	row := house.Row{
		Test: "RATE", Database: string(db), N: f.calls, Unit: "calls",
		What:   fmt.Sprintf("%s: %d servers find a hidden limit", l.name, len(h.Members)),
		Figure: fmt.Sprintf("%.1f %% of the limit used, %.2f %% of the calls refused", f.used(), f.refusedShare()),
	}
	switch {
	case l.lock > 0:
		row.Figure += fmt.Sprintf("; punished %d times, then at most %d in a second", f.punished, f.most)
		row.Bar, row.Pass = "punished once", f.punished == 1
	case house.Full():
		row.Bar, row.Pass = fmt.Sprintf("%v %% used, %v %% refused", l.used, l.refused), f.used() >= l.used && f.refusedShare() <= l.refused
	default: // on a machine that does other things too, what was used says nothing
		row.Bar, row.Pass = "found, 10 % refused", f.refused > 0 && f.refusedShare() <= 10
	}
	house.Report(t, row)
}
