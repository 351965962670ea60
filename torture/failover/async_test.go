package failover

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// HA: the same with commits that wait for no standby, which lags when it is promoted. What callers were told is lost then; each server finds
// it, names it, and sends nothing until a person has begun a new epoch, or by the setting until it has begun one by itself.
func TestHALostCommitsAreFoundAndNamed(t *testing.T) {
	t.Parallel()
	list := scenes
	if !house.Full() {
		list = scenes[:1]
	}
	for _, c := range scenesOf(list) {
		if !house.Full() && c.kind == dbtest.KindMariaDB {
			continue // what follows from the stand is the same
		}
		for _, way := range []string{"wait", "new-epoch"} {
			if !house.Full() && way == "wait" {
				continue // the same, and a person
			}
			t.Run(string(c.kind)+" "+c.name+" "+way, func(t *testing.T) {
				t.Parallel()
				var sum gone
				times := house.Size(1, 5)
				for range times {
					sum.add(loseSome(t, c, way))
				}
				house.Report(t, house.Row{
					Test: "HA", Database: string(c.kind), What: "primary " + c.name + " under load, a standby that lags promoted, after_promotion " + way, N: times, Unit: "promotions",
					Figure: fmt.Sprintf("%d messages, lost %d, of these named by the servers %d and by verify %d; sent between the promotion and the new epoch %d; held %d, doubles %d",
						sum.accepted, sum.lost, sum.named, sum.verified, sum.early, sum.held, sum.doubled),
					Bar:  "all that is lost is named, nothing is sent before the new epoch, doubles 0",
					Pass: sum.lost > 0 && sum.named == sum.lost && sum.verified == sum.lost && sum.early == 0 && sum.doubled == 0,
				})
			})
		}
	}
}

// gone is what a promotion that went back came to.
type gone struct{ accepted, lost, named, verified, early, held, doubled int }

func (g *gone) add(o gone) {
	g.accepted += o.accepted
	g.lost += o.lost
	g.named += o.named
	g.verified += o.verified
	g.early += o.early
	g.held += o.held
	g.doubled += o.doubled
}

func loseSome(t *testing.T, s sceneOf, way string) (g gone) {
	t.Helper()
	p := openPair(t, s.kind, false, "POSTHOUSE_AFTER_PROMOTION="+way)
	ch := p.Channel("generic")
	ch.MaxInflight, ch.OnUnknown = inflight, posthouse.Hold // a late answer is no reason to send again
	p.PutChannel(t, ch)
	l := p.load(t, callers())
	l.more(house.Form(40, 300))
	p.stream.Set(hole) // the standby lags
	l.more(house.Form(40, 200))
	begin := time.Now()
	at := s.strike(t, p, l)
	s.mend(t, p)
	for _, m := range p.Members {
		house.Until(t, "each server to find out", func() bool { return strings.Contains(m.Log(), "the database went back under this process") })
	}
	found := time.Now()
	if way == "wait" {
		house.Pause(t.Context(), 2*time.Second) // in which they send nothing
	}
	l.stop()
	for _, m := range p.Members {
		if way == "wait" {
			m.WaitReady(t, 503)
			m.Term(t)
		} else {
			m.Wait(t)
		}
	}
	before := p.Provider.Arrivals(t)
	for i := range before { // what was under way ends
		if before[i].At.After(found.Add(time.Second)) && before[i].At.After(at) {
			g.early++
		}
	}
	if way == "wait" {
		newEpoch(t, p)
	}
	p.Fault(t, house.Fault{At: begin, Until: time.Now(), Kind: "db_kill", Target: "primary", Note: s.name})
	for _, m := range p.Members {
		m.Start(t)
	}
	p.firstAfter(t, time.Now())
	p.Settle(t, posthouse.Unknown)
	lost := missing(t, p, l.accepted)
	g.accepted, g.lost = l.count(), len(lost)
	logs := p.Members[0].Log() + p.Members[1].Log()
	for _, id := range lost {
		if strings.Contains(logs, id) {
			g.named++
		} else {
			t.Errorf("message %s was accepted, is lost, and no server names it", id)
		}
	}
	times := map[string]int{}
	for _, a := range p.Provider.Arrivals(t) {
		if times[a.Key]++; times[a.Key] == 2 {
			g.doubled++
			t.Errorf("delivery %s arrived twice", a.Key)
		}
	}
	report := p.Verdict(t)
	g.verified, g.held = report.Totals.Lost, report.Unknowns.EpochHold
	return g
}

// newEpoch is the person's part, as the guide names it.
func newEpoch(t *testing.T, p *pair) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), house.Binary(t), "migrate", "new-epoch", "--yes", "--json", "--dsn", p.standby.DSN)
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	out, err := cmd.Output()
	var said struct{ Held int }
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("new-epoch: %v: %s", err, out)
	}
}

// missing are those of some messages that the database does not have.
func missing(t *testing.T, p *pair, ids []string) []string {
	t.Helper()
	list, err := p.Store(t).Tides.Missing(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
