package route

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
)

// Quiet hours and caps defer or end the whole notification: no step goes around them, unless the message is critical.
func TestNoStepGoesAroundQuietHours(t *testing.T) {
	t.Parallel()
	way := WithDefaults(posthouse.Route{Name: "w", Version: 1, Steps: []posthouse.RouteStep{
		{Channels: []string{"a"}, Within: posthouse.Duration(time.Minute)}, {Channels: []string{"b"}},
	}})
	made := func(critical bool) *world {
		w := worldOf(t, rand.New(rand.NewPCG(1, 2)), way, critical)
		end := w.now.Add(time.Hour)
		w.router.Quiet = func(_ context.Context, _, channel, _ string, _ posthouse.Recipient, _, now time.Time) (time.Time, error) {
			if channel == "a" && now.Before(end) {
				return end, nil
			}
			return time.Time{}, nil
		}
		return w
	}
	goesOn := func(w *world) {
		t.Helper()
		if c, due := w.plans(); due && c != nil {
			w.stores(c)
		}
	}
	step := func(w *world, deliveries int, in posthouse.NotificationState, reason string) notification {
		t.Helper()
		n, err := read(w.plan)
		w.must(err)
		if len(w.order) != deliveries || n.State != in || n.Reason != reason {
			w.fatal("it has %d deliveries and is %s, %q: want %d, %s, %q", len(w.order), n.State, n.Reason, deliveries, in, reason)
		}
		return n
	}
	turn := func(w *world, to posthouse.State, reason string) {
		d := *w.rows[w.order[len(w.order)-1]]
		d.State, d.Reason = to, reason
		w.settles(d)
	}

	loud := made(true)
	goesOn(loud)
	step(loud, 1, posthouse.NotificationWaiting, "")

	w := made(false)
	goesOn(w)
	step(w, 0, posthouse.NotificationWaiting, ReasonQuietHours)
	w.now = w.now.Add(time.Hour)
	goesOn(w)
	step(w, 1, posthouse.NotificationWaiting, "")
	turn(w, posthouse.Pending, state.ReasonQuietHours) // a retry, say
	w.now = w.now.Add(2 * time.Hour)
	goesOn(w)
	step(w, 1, posthouse.NotificationWaiting, "") // the time of the step is over, and the next one does not begin
	turn(w, posthouse.Pending, "transient")
	goesOn(w)
	if n := step(w, 1, posthouse.NotificationWaiting, ""); !n.NextAt.Equal(w.now.Add(time.Minute)) {
		w.fatal("its step's time ends at %s, want a minute after it may start", n.NextAt)
	}
	turn(w, posthouse.Failed, "content")
	goesOn(w)
	step(w, 2, posthouse.NotificationWaiting, "")
	turn(w, posthouse.Suppressed, state.ReasonCapped)
	step(w, 2, posthouse.NotificationNotTold, ReasonCapped)

	capped := made(false)
	capped.now = capped.now.Add(time.Hour)
	goesOn(capped)
	turn(capped, posthouse.Suppressed, state.ReasonCapped)
	goesOn(capped)
	step(capped, 1, posthouse.NotificationNotTold, ReasonCapped)

	closed := made(false)
	goesOn(closed)
	next, _, _, err := End(closed.plan, closed.now)
	closed.must(err)
	closed.plan = next
	step(closed, 0, posthouse.NotificationNotTold, ReasonCancelled)
}
