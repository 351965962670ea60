package route

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// The slot of a reminder has a deadline, so that nobody is told late. It is until when somebody is to be reached: the steps that follow then go on
// however short it is beside their times, or those who ask after the first would never be told.
func TestWhatASlotHasBegunGoesOn(t *testing.T) {
	t.Parallel()
	way := WithDefaults(posthouse.Route{Name: "w", Version: 1, Steps: []posthouse.RouteStep{
		{Channels: []string{"a"}, Until: posthouse.ProofAcknowledged, Within: posthouse.Duration(time.Hour)}, {Channels: []string{"b"}},
	}})
	slot := func() (*world, time.Time) {
		var deadline time.Time
		w := worldOf(t, rand.New(rand.NewPCG(1, 2)), way, false, func(d *posthouse.Draft) {
			deadline = time.Date(2026, 11, 27, 3, 1, 0, 0, time.UTC)
			d.Reminder, d.Deadline = "r1", deadline
		})
		return w, deadline
	}
	goesOn := func(w *world) (deadlines []time.Time) {
		if c, due := w.plans(); due && c != nil {
			for i := range c.drafts {
				deadlines = append(deadlines, c.drafts[i].Deadline)
			}
			w.stores(c)
		}
		return deadlines
	}
	turn := func(w *world, to posthouse.State) {
		d := *w.rows[w.order[len(w.order)-1]]
		d.State = to
		w.settles(d)
	}

	w, deadline := slot()
	if got := goesOn(w); len(got) != 1 || !got[0].Equal(deadline) {
		w.fatal("the first step has the deadlines %v, want %v", got, deadline)
	}
	turn(w, posthouse.Sent)
	w.now = w.now.Add(time.Hour)
	if got := goesOn(w); len(got) != 1 || !got[0].IsZero() {
		w.fatal("the second step has the deadlines %v, want one delivery without", got)
	}

	for name, fails := range map[string]posthouse.State{"expired": posthouse.Expired, "refused": posthouse.Failed} {
		late, deadline := slot()
		goesOn(late)
		late.now = deadline
		turn(late, fails)
		goesOn(late)
		n, err := read(late.plan)
		late.must(err)
		if n.State != posthouse.NotificationNotTold || n.Reason != ReasonExpired || len(late.order) != 1 {
			late.fatal("%s at the deadline: %s (%s) after %d deliveries, want it ended", name, n.State, n.Reason, len(late.order))
		}
	}

	early, deadline := slot()
	goesOn(early)
	turn(early, posthouse.Failed)
	if got := goesOn(early); len(got) != 1 || !got[0].Equal(deadline) {
		early.fatal("after a refusal in time the second step has the deadlines %v, want %v", got, deadline)
	}
}
