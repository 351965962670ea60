package crash

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
)

// A3: SIGTERM of one server after the other under load, as an upgrade does it: what is under way is
// finished and recorded, what is not is left to others, so nothing is sent twice and nothing unknown.
func TestA3StopsLoseAndDoubleNothing(t *testing.T) {
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		h.PutChannel(t, house.Patient(h.Channel("generic")))
		busy(t, h)
		stops := house.Size(5, 200)
		var took []time.Duration
		accepted := storm(t, h, house.Form(60, 250), stops, func(n int) {
			m := h.Members[n%len(h.Members)]
			drain, err := m.Term(t)
			if err != nil {
				t.Errorf("stop %d ended with %v\n%s", n, err, m.Log())
			}
			took = append(took, drain)
			m.Start(t)
		})
		h.Settle(t)
		h.Judge(t)
		n := count(t, h, accepted)
		slices.Sort(took)
		longest := took[len(took)-1]
		row := house.Row{
			Test: "A3", Database: string(db), What: "SIGTERM under load", N: stops, Unit: "stops",
			Figure: fmt.Sprintf("%d messages, lost %d, duplicates %d, unknown %d; drained in %s, at most %s", n.messages, n.lost, n.extra, n.unknown, round(took[len(took)/2]), round(longest)),
			Bar:    "lost 0, duplicates 0, unknown 0, drained ≤ 10 s", Bound: house.Bound(stops),
			Pass: n.lost+n.extra+n.unknown == 0 && inFull(longest <= 10*time.Second),
		}
		house.Report(t, row)
	})
}

// round is a time as a row shows it.
func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// inFull is a bar of time: it stands in the long form, which has the machine to itself.
func inFull(ok bool) bool { return ok || !house.Full() }
