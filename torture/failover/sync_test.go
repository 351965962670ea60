package failover

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// scene is one way in which a primary is lost. It returns when the standby was promoted.
type scene struct {
	name   string
	strike func(t *testing.T, p *pair, l *load) time.Time
	mend   func(t *testing.T, p *pair)
}

var scenes = []scene{
	{"killed", func(t *testing.T, p *pair, _ *load) time.Time {
		if err := p.primary.Kill(); err != nil {
			t.Fatal(err)
		}
		return p.promote(t)
	}, func(*testing.T, *pair) {}},
	{"frozen", func(t *testing.T, p *pair, _ *load) time.Time {
		if err := p.primary.Freeze(); err != nil {
			t.Fatal(err)
		}
		return p.promote(t)
	}, func(*testing.T, *pair) {}},
	// The first server is left with the primary and cannot see the standby; the second sees the standby alone. The first
	// goes on for a while after the promotion.
	{"cut off", func(t *testing.T, p *pair, l *load) time.Time {
		p.stream.Set(hole)
		p.links[0][1].Set(hole)
		p.links[1][0].Set(hole)
		at := p.promote(t)
		house.Pause(t.Context(), time.Duration(house.Form(1000, 3000))*time.Millisecond)
		return at
	}, func(_ *testing.T, p *pair) { p.links[0][1].Set(fine) }},
}

// sceneOf is a scene with one of the databases.
type sceneOf struct {
	scene
	kind dbtest.Kind
}

func scenesOf(list []scene) (all []sceneOf) {
	for _, kind := range kinds {
		for _, s := range list {
			all = append(all, sceneOf{s, kind})
		}
	}
	return all
}

// HA: the primary is lost under load and its standby promoted, with commits that wait for it. Nothing that callers were
// told is lost, nothing is sent twice without a name, and the servers go on by themselves.
func TestHAStandbyThatCommitsWaitForLosesNothing(t *testing.T) {
	t.Parallel()
	list := scenes
	if !house.Full() {
		list = scenes[2:] // it has most of the others
	}
	for _, c := range scenesOf(list) {
		t.Run(string(c.kind)+" "+c.name, func(t *testing.T) {
			t.Parallel()
			times := house.Size(1, 5)
			accepted, unknown, doubled := 0, 0, 0
			var longest time.Duration
			for range times {
				p := openPair(t, c.kind, true)
				l := p.load(t, callers())
				l.more(house.Form(60, 300))
				begin := time.Now()
				at := c.strike(t, p, l)
				took := p.firstAfter(t, at)
				c.mend(t, p)
				l.more(house.Form(40, 300))
				l.stop()
				p.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "primary", Note: c.name})
				for _, m := range p.Members {
					m.WaitReady(t, 200)
				}
				p.Settle(t)
				report := p.Judge(t)
				accepted += l.count()
				unknown = max(unknown, report.Unknowns.Entered)
				doubled += report.Totals.DuplicatedUnexplained
				longest = max(longest, took)
				if report.Totals.Lost > 0 {
					t.Errorf("%d messages that were accepted are lost", report.Totals.Lost)
				}
			}
			house.Report(t, house.Row{
				Test: "HA", Database: string(c.kind), What: "primary " + c.name + " under load, synchronous standby promoted", N: times, Unit: "promotions",
				Figure: fmt.Sprintf("%d messages, lost 0, unexplained doubles %d, unknown at most %d; first message %s after the promotion at most", accepted, doubled, unknown, longest.Round(10*time.Millisecond)),
				Bar:    fmt.Sprintf("lost 0, unexplained doubles 0, unknown ≤ %d, first message ≤ 5 s", 2*inflight), Bound: house.Bound(times),
				Pass: doubled == 0 && unknown <= 2*inflight && (!house.Full() || longest <= 5*time.Second),
			})
		})
	}
}
