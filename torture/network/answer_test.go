package network

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// lossPolicy is a channel whose answers are lost, and what must come of that.
type lossPolicy struct {
	name string
	set  func(ch *posthouse.Channel)
	// want says what is wrong, "" for nothing.
	want func(l losses) string
}

var lossPolicies = []lossPolicy{
	{"retry", func(*posthouse.Channel) {}, func(l losses) string {
		return l.differ(losses{lost: l.lost, duplicates: l.lost, sent: l.messages})
	}},
	{"dedup", func(ch *posthouse.Channel) { ch.Config["idempotency_header"] = "Idempotency-Key" }, func(l losses) string {
		return l.differ(losses{lost: l.lost, repeats: l.lost, sent: l.messages})
	}},
	{"hold", func(ch *posthouse.Channel) { ch.OnUnknown = posthouse.Hold }, func(l losses) string {
		return l.differ(losses{lost: l.lost, sent: l.messages - l.lost, unknown: l.lost})
	}},
}

// losses is what became of one channel's messages.
type losses struct {
	messages   int
	lost       int // answers
	duplicates int // arrivals that gave a recipient the message once more
	repeats    int // arrivals that the provider knew and did not take again
	sent       int // deliveries
	unknown    int
}

// differ compares all but the number of messages with what must be.
func (l losses) differ(want losses) string {
	want.messages = l.messages
	if l == want {
		return ""
	}
	return fmt.Sprintf("got %+v, want %+v", l, want)
}

// lostShare is how many answers are lost.
const lostShare = 0.05

// TestB3AnswersThatAreLost loses the answers of one request in twenty: each costs exactly one more
// arrival, which nobody sees where the provider knows keys, and none where the policy is hold.
func TestB3AnswersThatAreLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db house.Database) {
		h := house.Open(t, house.Options{DSN: db.DSN(t)})
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{house.Share(simulator.CutAfter, lostShare)}})
		accepted := map[string]map[int]string{}
		for _, p := range lossPolicies {
			ch := h.Channel(p.name)
			ch.Config["url"] = h.Provider.URL + "/generic/" + p.name
			ch.Timeout = posthouse.Duration(20 * time.Second) // no answer is lost to a busy machine
			p.set(&ch)
			h.PutChannel(t, ch)
			accepted[p.name] = h.Produce(t, house.Load{
				Messages: house.Size(300, 20000), Prefix: p.name, Draft: func(n int) posthouse.Draft { return house.Text(p.name, n) },
			})
		}
		h.Settle(t, posthouse.Unknown)
		h.Judge(t)
		states, arrivals := statesOf(t, h), h.Provider.Arrivals(t)
		for _, p := range lossPolicies {
			l := count(accepted[p.name], states, arrivals, "/generic/"+p.name)
			problem := p.want(l)
			if problem != "" {
				t.Errorf("%s: %s", p.name, problem)
			}
			house.Report(t, house.Row{
				Test: "B3", Database: string(db), What: "5 % of answers lost, " + p.name, N: l.messages, Unit: "messages",
				Figure: fmt.Sprintf("%d answers lost, %d visible duplicates (%.2f %%), %d recognised, %d unknown",
					l.lost, l.duplicates, 100*float64(l.duplicates)/float64(l.messages), l.repeats, l.unknown),
				Bar: lossBars[p.name], Pass: problem == "" && l.lost > 0,
			})
		}
	}, house.SQLite)
}

var lossBars = map[string]string{
	"retry": "one duplicate a lost answer, none more",
	"dedup": "no visible duplicate",
	"hold":  "no duplicate, one unknown a lost answer",
}

// statesOf is the last state of each delivery, by the event log.
func statesOf(t *testing.T, h *house.House) map[string]posthouse.State {
	t.Helper()
	states := map[string]posthouse.State{}
	_, err := h.Store(t).History.ExportEvents(context.WithoutCancel(t.Context()), "", "", func(e posthouse.Event) error {
		states[e.Delivery] = e.To
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// count says what became of the messages that went to one path of the provider.
func count(accepted map[int]string, states map[string]posthouse.State, arrivals []simulator.Arrival, path string) losses {
	l := losses{messages: len(accepted)}
	for _, id := range accepted {
		switch states[posthouse.DeliveryID(id, 1)] {
		case posthouse.Sent:
			l.sent++
		case posthouse.Unknown:
			l.unknown++
		}
	}
	for _, a := range arrivals {
		if a.Path != path {
			continue
		}
		if a.Answer == simulator.Lost {
			l.lost++
		}
		if a.Duplicate {
			l.duplicates++
		}
		if a.Repeat {
			l.repeats++
		}
	}
	return l
}
