package route

import (
	"cmp"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/shellword"
)

// Explain says of a notification in sentences what became of it and what comes next, and then of each step what it sent or why it was passed over.
// at writes times as whoever asks reads them.
func Explain(n *posthouse.Notification, at func(time.Time) string) (summary string, steps []string) {
	for i := range n.Steps {
		s := &n.Steps[i]
		if steps = append(steps, taken(s, at)); s.Skipped != "" {
			continue
		}
		for j := range n.Deliveries {
			d := &n.Deliveries[j]
			if d.Step != s.Step || d.Round != s.Round {
				continue
			}
			line := fmt.Sprintf("Delivery %s to %s by %s is %s.", d.ID, d.User, d.Channel, d.State)
			if d.Reason != "" {
				line = fmt.Sprintf("Delivery %s to %s by %s is %s (%s).", d.ID, d.User, d.Channel, d.State, d.Reason)
			}
			steps = append(steps, line)
		}
	}
	for i := range n.Ends {
		steps = append(steps, heard(&n.Ends[i], at))
	}
	return outcome(n, at), steps
}

// taken is how a step began or was passed over. Only what has begun anew says in which round.
func taken(s *posthouse.NotificationStep, at func(time.Time) string) string {
	switch again := s.Round > 1; {
	case s.Skipped != "" && s.Detail != "" && again:
		return fmt.Sprintf("In round %d step %d was passed over at %s: %s (%s).", s.Round, s.Step, at(s.At), s.Skipped, s.Detail)
	case s.Skipped != "" && s.Detail != "":
		return fmt.Sprintf("Step %d was passed over at %s: %s (%s).", s.Step, at(s.At), s.Skipped, s.Detail)
	case s.Skipped != "" && again:
		return fmt.Sprintf("In round %d step %d was passed over at %s: %s.", s.Round, s.Step, at(s.At), s.Skipped)
	case s.Skipped != "":
		return fmt.Sprintf("Step %d was passed over at %s: %s.", s.Step, at(s.At), s.Skipped)
	case s.Detail != "" && again:
		return fmt.Sprintf("In round %d step %d began at %s: %s.", s.Round, s.Step, at(s.At), s.Detail)
	case s.Detail != "":
		return fmt.Sprintf("Step %d began at %s: %s.", s.Step, at(s.At), s.Detail)
	case again:
		return fmt.Sprintf("In round %d step %d began at %s.", s.Round, s.Step, at(s.At))
	}
	return fmt.Sprintf("Step %d began at %s.", s.Step, at(s.At))
}

// heard is how somebody hears that what a notification tells of is over.
func heard(e *posthouse.NotificationEnd, at func(time.Time) string) string {
	switch {
	case e.Skipped == SkippedCall:
		return fmt.Sprintf("%s does not hear that it is over: %s calls people, and the route has no other channel for this person.", e.User, e.Reached)
	case e.Skipped != "":
		return fmt.Sprintf("%s does not hear that it is over: %s.", e.User, cmp.Or(e.Detail, e.Skipped))
	}
	return fmt.Sprintf("%s hears by %s that it is over, from %s.", e.User, e.Channel, at(e.At))
}

// outcome is how a notification stands, and what comes next.
func outcome(n *posthouse.Notification, at func(time.Time) string) string {
	switch n.State {
	case posthouse.NotificationAcknowledged:
		return fmt.Sprintf("It was acknowledged at %s by %s: no further step begins.", at(n.Ack.At), n.Ack.By)
	case posthouse.NotificationTold:
		return fmt.Sprintf("%s was told at %s: no further step begins.", n.ToldUser, at(n.ToldAt))
	case posthouse.NotificationNotTold:
		if n.Reason == ReasonEscalated {
			return fmt.Sprintf("Its person was not told: %s was, at %s.", n.ToldUser, at(n.ToldAt))
		}
		if n.Reason == ReasonResolved {
			return fmt.Sprintf("Its sender said at %s that it is over, before it was proven that anybody was told: no further step begins.", at(n.ResolvedAt))
		}
		return fmt.Sprintf("It was not told: %s. All its steps are over.", n.Reason)
	}
	switch {
	case n.Held != "":
		return fmt.Sprintf("A new epoch holds it: a step may have begun in what a restore has undone. posthouse notification resume %s has it go on, posthouse notification end ends it.", shellword.Quote(n.ID))
	case n.NextAt.IsZero():
		return "It waits for what is under way or in doubt: nothing else begins the next step."
	case n.Step == 0 && n.Reason == "":
		return fmt.Sprintf("Its first step begins at %s.", at(n.NextAt))
	case n.Reason != "":
		return fmt.Sprintf("It waits: %s. It goes on at %s.", n.Reason, at(n.NextAt))
	case !n.Deadline.IsZero() && !n.NextAt.Before(n.Deadline):
		return fmt.Sprintf("It waits for step %d of the route %s. No step begins after its deadline, %s.", n.Step, cmp.Or(n.Route, "?"), at(n.Deadline))
	case n.Round > 1:
		return fmt.Sprintf("It waits for step %d of the route %s in round %d. The next step begins at %s, unless that ends it before.", n.Step, cmp.Or(n.Route, "?"), n.Round, at(n.NextAt))
	}
	return fmt.Sprintf("It waits for step %d of the route %s. The next step begins at %s, unless that ends it before.", n.Step, cmp.Or(n.Route, "?"), at(n.NextAt))
}
