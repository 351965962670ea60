package network

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// outage is how a channel is away: its provider answers, and takes nothing.
type outage struct {
	name  string
	fault simulator.Fault
	set   func(ch *posthouse.Channel)
}

var outages = []outage{
	{"too many requests", simulator.Fault{Kind: simulator.RateLimited, RetryAfter: 1}, func(*posthouse.Channel) {}},
	{"the account is refused", simulator.Fault{Kind: simulator.ServerError}, func(ch *posthouse.Channel) {
		ch.Codes = map[string]posthouse.Class{"HTTP_503": posthouse.ClassAccount}
		ch.ProbeAfter, ch.ProbeMax = posthouse.Duration(500*time.Millisecond), posthouse.Duration(time.Second)
	}},
}

// TestB7AChannelThatWasAway lets a queue build up behind a channel that refuses everything, and brings
// the provider back with a limit and a lockout for those who exceed it.
func TestB7AChannelThatWasAway(t *testing.T) {
	house.Alone(t)
	each(t, func(t *testing.T, db house.Database) {
		for _, o := range outages {
			t.Run(o.name, func(t *testing.T) {
				house.Alone(t)
				recoverFrom(t, db, o)
			})
		}
	}, house.SQLite)
}

func recoverFrom(t *testing.T, db house.Database, o outage) {
	backlog, limit := house.Size(60, 8000), house.Form(40, 400)
	h := house.Open(t, house.Options{DSN: db.DSN(t)})
	h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{o.fault}})
	ch := h.Channel("generic")
	ch.Limits = []posthouse.Limit{{Max: limit, Per: posthouse.Duration(time.Second)}}
	ch.Timeout = posthouse.Duration(20 * time.Second)
	o.set(&ch)
	h.PutChannel(t, ch)

	began := time.Now()
	h.Produce(t, house.Load{Messages: backlog})
	house.Pause(t.Context(), time.Duration(house.Form(1, 20))*time.Second)
	away := time.Since(began)
	refused := len(h.Provider.Arrivals(t))
	back := simulator.Behaviour{Limit: &simulator.Limit{Max: limit + limit/10, Per: posthouse.Duration(time.Second), Lockout: posthouse.Duration(2 * time.Second)}}
	returned := time.Now()
	h.Provider.Behave(t, "generic", back)
	h.Fault(t, house.Fault{At: began, Until: returned, Kind: "provider", Target: "generic", Note: o.name})
	h.Settle(t)
	h.Judge(t)

	burned := 0
	for _, r := range readLog(t, h) {
		burned += r.tries
	}
	var offered []time.Time
	taken, violations := 0, 0
	for _, a := range h.Provider.Arrivals(t)[refused:] {
		offered = append(offered, a.At)
		if a.Answer == simulator.Accepted {
			taken++
		} else {
			violations++
		}
	}
	slices.SortFunc(offered, time.Time.Compare)
	ideal := time.Duration(float64(backlog) / float64(limit) * float64(time.Second))
	drain := offered[len(offered)-1].Sub(returned)
	peak := busiest(offered, time.Second)
	// The gate opens a moment after the return; the first limit's worth leaves at once.
	onTime := !house.Full() || drain <= ideal+ideal/10+2*time.Second && float64(peak) <= 1.1*float64(limit)
	house.Report(t, house.Row{
		Test: "B7", Database: string(db), What: "away for a while: " + o.name, N: backlog, Unit: "queued messages",
		Figure: fmt.Sprintf("away %s with %d probes; %d tries burned; then at most %d in a second of a limit of %d, %d refused again; drained in %s, backlog / limit is %s",
			away.Round(100*time.Millisecond), refused, burned, peak, limit, violations, drain.Round(10*time.Millisecond), ideal),
		Bar:  "no try burned, at most 1.1 × the limit offered, drained in backlog / limit + 10 % and the gate's 2 s, each taken once",
		Pass: burned == 0 && taken == backlog && onTime,
	})
}

// busiest is the most of ordered times in any span.
func busiest(times []time.Time, span time.Duration) (most int) {
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
