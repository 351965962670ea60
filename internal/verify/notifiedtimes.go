package verify

import (
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// never is the year until which quiet hours hold whom they leave alone for good.
const never = 9999

// apart is how far the clock of a process, by which a step begins, and the database's, by which it is written, may be apart.
const apart = 5 * time.Second

// judgeTimes holds that a notification that waits is looked at when its step's time is over, and that nobody's was given up before (I38).
func (c notifying) judgeTimes(n *Notified, known map[string]*stepOf, elsewhere bool) {
	why := ""
	switch n.State {
	case posthouse.NotificationWaiting:
		why = n.sleeps(elsewhere)
	case posthouse.NotificationNotTold:
		if n.Ack == nil {
			why = n.early(known)
		}
	}
	if n.Listed != "" && n.Listed != n.State {
		why = "it is listed as " + string(n.Listed) + ", and is " + string(n.State)
	}
	for _, s := range n.Steps {
		if !n.CreatedAt.IsZero() && s.At.Before(n.CreatedAt.Add(-apart)) {
			why = "its step " + strconv.Itoa(s.Step) + " came at " + stampText(s.At) + ", and its message was accepted at " + stampText(n.CreatedAt)
		}
	}
	if why != "" {
		c.fail(told, n.ID, n.stands(), "%s", why)
	}
}

// over is when the time of the step that began last is over at the earliest, by what is written of its begin; of steps that all began at once, of the
// longest. It is zero where they have no time.
func (n *Notified) over() (at time.Time) {
	for _, s := range n.Steps {
		if s.Skipped != "" || s.Step < 1 || s.Step > len(n.Follows.Steps) || n.Follows.Kind != posthouse.RouteAll && (s.Step != n.Step || s.Round != n.Round) {
			continue
		}
		if within := n.Follows.Steps[s.Step-1].Within.Std(); within > 0 && s.At.Add(within).After(at) {
			at = s.At.Add(within)
		}
	}
	return at.Truncate(time.Microsecond)
}

// sleeps says what is wrong with the time at which a notification that waits goes on, empty for nothing. elsewhere is set where somebody else was
// told: then what is under way to the person alone is waited for.
func (n *Notified) sleeps(elsewhere bool) string {
	over, latest := n.over(), n.UpdatedAt
	for _, t := range []time.Time{n.Over, n.QuietUntil, n.Begins} {
		if t.After(latest) {
			latest = t
		}
	}
	switch {
	case n.Held != "":
		if !n.NextAt.IsZero() {
			return "it is held, and goes on at " + stampText(n.NextAt)
		}
		return ""
	case n.Over.Before(over):
		return "the time of its step is over at " + stampText(n.Over) + ", and would be at " + stampText(over)
	case n.NextAt.IsZero() && !elsewhere && over.After(n.UpdatedAt.Add(apart)):
		return "the time of its step is over at " + stampText(over) + ", and nothing wakes it then"
	case n.NextAt.IsZero() && !slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.State.Open() }):
		return "it waits, and nothing of it is under way or to come"
	case !n.PutOff && n.NextAt.After(latest.Add(apart)):
		return "it goes on at " + stampText(n.NextAt) + ", and should by " + stampText(latest)
	}
	return ""
}

// early says why nobody's having been told was decided too early, empty where it was not. What ends a notification before its last step has to show.
func (n *Notified) early(known map[string]*stepOf) string {
	by := n.UpdatedAt
	if i := len(n.Decisions) - 1; i >= 0 && n.Decisions[i].State == n.State {
		by = n.Decisions[i].At
	}
	by = by.Add(apart)
	is := func(s posthouse.State, reason string) bool {
		return slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool {
			return d.State == s && (reason == "" || d.Reason == reason)
		})
	}
	var shown bool
	switch n.Reason {
	case "escalated":
		return "" // it was told to somebody else
	case "cancelled":
		shown = n.Closed || is(posthouse.Cancelled, "")
	case "resolved":
		shown = n.Closed // by a program that does not know when, too
	case "forgotten":
		shown = n.Sensitive
	case "expired":
		shown = !n.Deadline.IsZero() && n.Deadline.Before(by.Add(time.Second)) || is(posthouse.Expired, "")
	case "quiet_hours":
		shown = !n.Deadline.IsZero() || is(posthouse.Suppressed, n.Reason) || n.QuietUntil.Year() == never
	case "capped":
		shown = is(posthouse.Suppressed, n.Reason)
	case "preference":
		shown = is(posthouse.Suppressed, n.Reason) || slices.ContainsFunc(n.Steps, func(s posthouse.NotificationStep) bool { return s.Skipped == n.Reason })
	default:
		return n.unfinished(known, by)
	}
	if !shown {
		return "nobody was told for the reason " + n.Reason + ", of which nothing shows"
	}
	return ""
}

// unfinished says which step of a notification that came to its end had not ended by a time, empty for none.
func (n *Notified) unfinished(known map[string]*stepOf, by time.Time) string {
	sent := slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.Round == n.Round && !known[d.ID].replay })
	switch {
	case n.Step < len(n.Follows.Steps):
		return "nobody was told, and its next step had not begun"
	case n.Round <= n.Follows.Repeat && sent:
		return "nobody was told, and its steps had not begun anew"
	}
	over := n.over()
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		s := known[d.ID]
		current := n.Follows.Kind == posthouse.RouteAll || d.Step == n.Step && d.Round == n.Round
		if !current || s.replay || s.ended() || d.State == posthouse.Unknown && n.Follows.OnUnknown == posthouse.UnknownFallBack {
			continue
		}
		if d.State == posthouse.Pending || over.IsZero() || over.After(by) {
			return "nobody was told, and " + d.ID + " of its last step was " + string(d.State) + " and had time until " + stampText(over)
		}
	}
	return ""
}

// ended reports whether the log ever had a delivery as one of which nothing came.
func (s *stepOf) ended() bool {
	return slices.ContainsFunc(s.stands, func(at standing) bool {
		return at.state == posthouse.Quarantined || !at.state.Open() && !happy(at.state)
	})
}

// judgeWithdrawn holds that what was withdrawn since somebody was told follows an acknowledgement, or a proof that the log has (I38).
func (c notifying) judgeWithdrawn(n *Notified, known map[string]*stepOf) {
	proven := n.Ack != nil
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		proven = proven || slices.ContainsFunc(known[d.ID].stands, func(at standing) bool { return proves(at.state, n.until(d)) })
	}
	for i := range n.Deliveries {
		if d := &n.Deliveries[i]; !proven && d.State == posthouse.Cancelled && d.Reason == "told" {
			c.fail(told, n.ID, with(known[d.ID].show(), n.stands()), "%s was withdrawn since somebody was told, and neither a proof nor an acknowledgement is there", d.ID)
			return
		}
	}
}
