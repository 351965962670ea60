package rate_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/rate"
)

// event is what happens at a moment of a simulated drive.
type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// world is a provider whose limit nobody knows, and processes that send by one account as the engine does: a look for room
// takes a claim, what is claimed begins together, and its ends are seen only when the provider has answered.
type world struct {
	limit func(at time.Duration) float64 // calls in any second
	lock  time.Duration                  // what one call too many costs, 0 for a refusal alone
	waits time.Duration                  // that a refusal names, 0 for none
	busy  bool                           // says that it is busy where others refuse
	flaky float64                        // the share of calls that fail
	lies  float64                        // the share of calls that are refused without a reason
	late  time.Duration                  // by how much longer each of both ways takes some calls

	begin    time.Time
	now      time.Duration
	queue    events
	paces    []*rate.Pace
	dice     *rand.Rand
	taken    []time.Duration
	locked   time.Duration
	punished []time.Duration
	seconds  []tally // by second
}

const (
	latency  = 80 * time.Millisecond // of a call; it varies by a quarter
	claiming = 3 * time.Millisecond  // the time of a claim
)

type tally struct{ called, ok, refused int }

func (w *world) after(d time.Duration, do func()) { heap.Push(&w.queue, event{w.now + d, do}) }

// arrive is a call as it reaches the provider.
func (w *world) arrive() (posthouse.Class, time.Duration) {
	for len(w.taken) > 0 && w.now-w.taken[0] >= time.Second {
		w.taken = w.taken[1:]
	}
	t := &w.seconds[int(w.now/time.Second)]
	t.called++
	refuse := func(wait time.Duration) (posthouse.Class, time.Duration) {
		t.refused++
		if w.busy {
			return posthouse.ClassTransient, 0
		}
		return posthouse.ClassRate, wait
	}
	switch {
	case w.now < w.locked:
		return refuse(w.locked - w.now)
	case w.flaky > 0 && w.dice.Float64() < w.flaky:
		return posthouse.ClassTransient, 0
	case w.lies > 0 && w.dice.Float64() < w.lies:
		return refuse(0)
	case float64(len(w.taken)+1) > w.limit(w.now):
		if w.lock > 0 {
			w.locked = w.now + w.lock
			w.punished = append(w.punished, w.now)
		}
		return refuse(max(w.lock, w.waits))
	}
	w.taken = append(w.taken, w.now)
	t.ok++
	return posthouse.ClassOK, 0
}

// process sends by an account, with endless work.
func (w *world) process(s rate.Settings) {
	p := rate.NewPace(w.begin, s, 0)
	w.paces = append(w.paces, p)
	around := rate.Surroundings{Room: 256, Time: 1}
	inflight := 0
	var look func()
	call := func() {
		inflight++
		began := w.now
		took := time.Duration(float64(latency) * (0.75 + w.dice.Float64()/2))
		if w.late > 0 {
			took += time.Duration(2 * w.dice.Float64() * float64(w.late))
		}
		w.after(took/2, func() {
			class, wait := w.arrive()
			w.after(took/2, func() {
				inflight--
				p.Flights(inflight)
				p.Saw(w.begin.Add(w.now), class, w.now-began, wait)
				if rate.Punishes(wait) { // its gate tells the others
					for _, other := range w.paces {
						if other != p {
							other.Heard(w.begin.Add(w.now), w.begin.Add(w.now+wait), p.Punished(w.begin.Add(w.now)))
						}
					}
				}
			})
		})
	}
	look = func() {
		p.Surround(around)
		p.Flights(inflight)
		n, next := p.Free(w.begin.Add(w.now))
		if n == 0 {
			p.Short()
			w.after(max(next.Sub(w.begin.Add(w.now)), time.Microsecond), look)
			return
		}
		w.after(claiming, func() {
			p.Spend(n)
			for range n {
				call()
			}
			look()
		})
	}
	look()
}

func (w *world) run(until time.Duration, processes int, s rate.Settings) {
	w.begin = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	w.dice = rand.New(rand.NewPCG(1, 2))
	w.seconds = make([]tally, int(until/time.Second)+2)
	for range processes {
		w.process(s)
	}
	for len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		if e.at >= until {
			return
		}
		w.now = e.at
		e.do()
	}
}

// settling is what a process has to find a limit, at the start and after a step.
const settling = 30

// used is the share of the limit that was used, the time for settling left out.
func (w *world) used() float64 {
	var ok, allowed float64
	changed := 0
	for i := range len(w.seconds) - 2 {
		now, before := w.limit(time.Duration(i)*time.Second), w.limit(time.Duration(max(i-1, 0))*time.Second)
		if now > 1.5*before || now < before/1.5 {
			changed = i
		}
		if i >= changed+settling {
			ok += float64(w.seconds[i].ok)
			allowed += w.limit(time.Duration(i)*time.Second + time.Second/2)
		}
	}
	return ok / allowed
}

// refused is the share of all calls that were refused for going too fast.
func (w *world) refused() float64 {
	var called, refused float64
	for _, s := range w.seconds {
		called += float64(s.called)
		refused += float64(s.refused)
	}
	return refused / called
}

func steady(limit float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return limit }
}

// steps are limits of two minutes each.
func steps(limits ...float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 { return limits[min(int(at/(2*time.Minute)), len(limits)-1)] }
}

// spell is a limit that falls to 1 a second for some seconds after half a minute.
func spell(limit float64, lasts time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at >= 30*time.Second && at < 30*time.Second+lasts {
			return 1
		}
		return limit
	}
}

func sine(mean, swing float64, period time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		return math.Floor(mean + swing*math.Sin(2*math.Pi*at.Seconds()/period.Seconds()))
	}
}

// walk is a limit between 10 and 60 that changes by some 3 % each second.
func walk(seed uint64) func(time.Duration) float64 {
	dice := rand.New(rand.NewPCG(seed, 7))
	limits := make([]float64, 700)
	v := 30.0
	for i := range limits {
		v = min(60, max(10, v*(1+0.03*dice.NormFloat64())))
		limits[i] = math.Floor(v)
	}
	return func(at time.Duration) float64 { return limits[at/time.Second] }
}

// The bars of FLEET-5 with a provider that only refuses, one process and two, from 30 s after the start and after each step:
// nine tenths of what is allowed, and one refusal in a hundred over ten minutes. A limit that never stands still costs a
// little more of both; so does one of a few calls a second, of which a single refusal is a large share.
func TestALimitThatMovesIsFollowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		world   world
		base    float64
		used    [2]float64 // at least, by one process and by two
		refused [2]float64 // at most
	}{
		{name: "5 a second", world: world{limit: steady(5)}, used: [2]float64{0.9, 0.8}, refused: [2]float64{0.01, 0.015}},
		{name: "20 a second", world: world{limit: steady(20)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "50 a second", world: world{limit: steady(50)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "200 a second", world: world{limit: steady(200)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "1000 a second", world: world{limit: steady(1000)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "20 a second, names a wait", world: world{limit: steady(20), waits: time.Second}, used: [2]float64{0.89, 0.84}, refused: [2]float64{0.01, 0.01}},
		{name: "50 a second, names a wait", world: world{limit: steady(50), waits: time.Second}, used: [2]float64{0.89, 0.84}, refused: [2]float64{0.01, 0.01}},
		{name: "steps, names a wait", world: world{limit: steps(30, 10, 40, 40, 40), waits: time.Second}, used: [2]float64{0.87, 0.84}, refused: [2]float64{0.01, 0.01}},
		{name: "base above it", world: world{limit: steady(50)}, base: 100, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "steps", world: world{limit: steps(30, 10, 40, 40, 40)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "steps, base above", world: world{limit: steps(30, 10, 40, 40, 40)}, base: 50, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.011}},
		{name: "high steps", world: world{limit: steps(300, 100, 400, 400, 400)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "a spell of refusals", world: world{limit: spell(30, 20*time.Second)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.015, 0.015}},
		{name: "a longer one, base above", world: world{limit: spell(20, time.Minute)}, base: 20, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.015, 0.015}},
		{name: "5 minutes of 1 a second", world: world{limit: spell(100, 5*time.Minute)}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.015, 0.015}},
		{name: "sine of two minutes", world: world{limit: sine(30, 10, 2*time.Minute)}, used: [2]float64{0.88, 0.87}, refused: [2]float64{0.01, 0.011}},
		{name: "sine of a minute", world: world{limit: sine(300, 100, time.Minute)}, used: [2]float64{0.87, 0.88}, refused: [2]float64{0.01, 0.01}},
		{name: "walk", world: world{limit: walk(1)}, used: [2]float64{0.86, 0.86}, refused: [2]float64{0.01, 0.01}},
		{name: "another walk", world: world{limit: walk(2)}, used: [2]float64{0.87, 0.88}, refused: [2]float64{0.01, 0.01}},
		{name: "says that it is busy", world: world{limit: steady(300), busy: true}, used: [2]float64{0.9, 0.9}, refused: [2]float64{0.01, 0.01}},
		{name: "the same, slower", world: world{limit: steady(50), busy: true}, used: [2]float64{0.85, 0.88}, refused: [2]float64{0.01, 0.025}},
		{name: "fails by itself", world: world{limit: steady(300), flaky: 0.03}, used: [2]float64{0.85, 0.85}, refused: [2]float64{0.01, 0.01}},
	} {
		for i, name := range []string{"one process", "two processes"} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				w := c.world
				w.run(10*time.Minute, i+1, rate.Settings{Base: c.base})
				used, refused := w.used(), w.refused()
				t.Logf("%.1f %% of the limit is used, %.2f %% of the calls are refused", 100*used, 100*refused)
				if used < c.used[i] || refused > c.refused[i] {
					t.Errorf("got %.3f used and %.4f refused; want at least %v and at most %v", used, refused, c.used[i], c.refused[i])
				}
			})
		}
	}
}

// With a provider that punishes: one punishment, and then nothing above what was learned from it.
func TestAProviderThatPunishesDoesSoOnce(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, 100 * time.Millisecond} {
		for _, limit := range []float64{5, 50, 300} {
			for i, name := range []string{"one process", "two processes"} {
				t.Run(fmt.Sprint(limit, " a second, ", late, " late, ", name), func(t *testing.T) {
					t.Parallel()
					w := world{limit: steady(limit), lock: 10 * time.Second, late: late}
					w.run(30*time.Minute, i+1, rate.Settings{})
					if len(w.punished) != 1 {
						t.Errorf("it punished at %v, want once", w.punished)
					}
					if used := w.used(); used < 0.4 {
						t.Errorf("%.3f of the limit was used", used)
					}
				})
			}
		}
	}
}
