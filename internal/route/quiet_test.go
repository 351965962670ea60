package route

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
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

// The time of a step stands still while its people are left alone, and not for one of a team beside somebody who was turned to.
func TestASleeperDoesNotHoldTheOthersOfATeam(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 3, 0, 0, 0, time.UTC)
	one := func(id, user string, state posthouse.State, reason string) posthouse.NotificationDelivery {
		return posthouse.NotificationDelivery{ID: id, Step: 1, Round: 1, Channel: "a", User: user, State: state, Reason: reason}
	}
	asleep := one("1", "aq", posthouse.Pending, ReasonQuietHours)
	for name, c := range map[string]struct {
		other posthouse.NotificationDelivery
		late  bool
	}{
		"another does not answer":    {one("2", "an", posthouse.Sent, ""), true},
		"another cannot be reached":  {one("2", "an", posthouse.Failed, ""), false},
		"another sleeps too":         {one("2", "an", posthouse.Pending, ReasonCapped), false},
		"it is by another channel":   {one("2", "aq", posthouse.Sent, ""), false},
		"another is not turned to":   {one("2", "an", posthouse.Suppressed, ""), false},
		"another is being turned to": {one("2", "an", posthouse.Pending, ""), true},
	} {
		n := notification{Follows: posthouse.Route{Kind: posthouse.RouteFirst, For: posthouse.RouteAny, Steps: []posthouse.RouteStep{{Until: posthouse.ProofAcknowledged}, {}}}, Over: now}
		n.Step, n.Round, n.Deliveries = 1, 1, []posthouse.NotificationDelivery{asleep, c.other}
		if got := slices.Contains(n.late(now), "1"); got != c.late {
			t.Errorf("%s: what waits for the sleeper is withdrawn: %t, want %t", name, got, c.late)
		}
		if c.late && !n.next(now).Equal(now) {
			t.Errorf("%s: it goes on at %s, want now", name, n.next(now))
		}
	}
}

// A condition that cannot be judged is logged once for its step, however often the step is looked at and however many people it has.
func TestAConditionThatFailsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	way := WithDefaults(posthouse.Route{Name: "w", Version: 1, For: posthouse.RouteAny, Steps: []posthouse.RouteStep{
		{Channels: []string{"a"}, To: []posthouse.Recipient{{User: "li.na"}, {User: "zhang.san"}}, When: "payload.level > 3"},
	}})
	w := worldOf(t, rand.New(rand.NewPCG(1, 2)), way, false)
	var said bytes.Buffer
	w.router.Log = slog.New(slog.NewTextHandler(&said, nil))
	w.router.Quiet = func(context.Context, string, string, string, posthouse.Recipient, time.Time, time.Time) (time.Time, error) {
		return time.Time{}, nil
	}
	c, due := w.plans()
	if !due || c == nil {
		w.fatal("nothing is due")
	}
	w.stores(c)
	if got := strings.Count(said.String(), "the condition of a route's step fails"); got != 1 || len(w.order) != 2 {
		t.Errorf("it is logged %d times for %d deliveries, want once for 2:\n%s", got, len(w.order), said.String())
	}
}
