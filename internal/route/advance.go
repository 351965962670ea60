package route

import (
	"cmp"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// reached reports whether a delivery in a state proves what a step waits for.
func reached(s posthouse.State, until posthouse.Proof) bool {
	switch until {
	case posthouse.ProofSent:
		return s == posthouse.Sent || s == posthouse.Delivered
	case posthouse.ProofDelivered:
		return s == posthouse.Delivered
	}
	return false
}

// failed reports whether nothing comes any more of a delivery, and nothing came.
func failed(s posthouse.State) bool {
	switch s {
	case posthouse.Failed, posthouse.Undelivered, posthouse.Expired, posthouse.Suppressed, posthouse.Cancelled, posthouse.Quarantined:
		return true
	}
	return false
}

// step is the nth step of what a notification follows.
func (n *notification) step(i int) *posthouse.RouteStep { return &n.Follows.Steps[i-1] }

// limit is until when a step may begin and its messages may start; zero for ever.
func (n *notification) limit() time.Time {
	if n.StartBy.IsZero() || slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool {
		return d.Doubtful || reached(d.State, posthouse.ProofSent) || d.State == posthouse.Unknown || d.State == posthouse.Undelivered
	}) {
		return n.Draft.Deadline
	}
	return n.StartBy
}

// current are the deliveries of the step that began last; of a route that begins all at once, all.
func (n *notification) current() (list []posthouse.NotificationDelivery) {
	for _, d := range n.Deliveries {
		if n.Follows.Kind == posthouse.RouteAll || d.Step == n.Step && d.Round == n.Round {
			list = append(list, d)
		}
	}
	return list
}

// settle is what follows from all that is known of a notification: its state, when it is looked at next, and which of its deliveries are
// not to start any more. It may be asked at any time, and again.
func (n *notification) settle(now time.Time) (withdraw work.Withdrawal) {
	withdraw = n.decide(now)
	n.owe(now)
	return withdraw
}

func (n *notification) decide(now time.Time) (withdraw work.Withdrawal) {
	open := func(reason string, but func(posthouse.NotificationDelivery) bool) work.Withdrawal {
		var list []string
		for _, d := range n.Deliveries {
			if d.State.Open() && d.State != posthouse.Quarantined && !but(d) {
				list = append(list, d.ID)
			}
		}
		return work.Withdrawal{IDs: list, Reason: reason}
	}
	none := func(posthouse.NotificationDelivery) bool { return false }
	switch {
	case n.Ack != nil:
		n.State, n.Reason, n.NextAt = posthouse.NotificationAcknowledged, "", time.Time{}
		return open(ReasonTold, none)
	case n.Closed:
		withdraw = n.closes(open)
	}
	beside := func(d *posthouse.NotificationDelivery) func(posthouse.NotificationDelivery) bool {
		return func(o posthouse.NotificationDelivery) bool { return o.Step == d.Step && o.Round == d.Round }
	}
	if d := n.proof(n.means); d != nil {
		if n.State != posthouse.NotificationTold {
			n.toldBy(posthouse.NotificationTold, "", d)
		}
		n.NextAt = time.Time{}
		switch {
		case !n.ResolvedAt.IsZero(): // for nobody else either
			return open(ReasonResolved, none)
		case n.Follows.Kind == posthouse.RouteAll:
			return withdraw
		}
		return open(ReasonTold, beside(d))
	}
	if n.Closed {
		return withdraw
	}
	other := n.instead()
	if other == nil && (n.State == posthouse.NotificationTold || n.Reason == ReasonEscalated) { // a receipt has taken the proof back
		n.State, n.Reason, n.ToldBy, n.ToldUser, n.ToldAt = posthouse.NotificationWaiting, "", "", "", time.Time{}
	}
	if other != nil && (n.Follows.Kind != posthouse.RouteAll || n.State != posthouse.NotificationWaiting) {
		if withdraw = open(ReasonTold, beside(other)); n.Follows.Kind == posthouse.RouteAll {
			withdraw = work.Withdrawal{}
		}
		if n.State != posthouse.NotificationWaiting || !slices.ContainsFunc(n.Deliveries, func(o posthouse.NotificationDelivery) bool {
			return beside(other)(o) && n.means(&o) && o.State.Open() && !failed(o.State) && o.State != posthouse.Unknown
		}) {
			n.toldBy(posthouse.NotificationNotTold, ReasonEscalated, other)
			n.NextAt = time.Time{}
			return withdraw
		}
		// The person's own delivery of that step is under way: it says whether the person is told.
		if n.NextAt = (time.Time{}); other.Step == n.Step && other.Round == n.Round {
			n.NextAt = n.next(now)
		}
		return withdraw
	}
	if n.State == posthouse.NotificationWaiting {
		if n.NextAt = n.next(now); n.ends() {
			n.State, n.NextAt = posthouse.NotificationNotTold, time.Time{}
		}
	}
	return withdraw
}

// closes is what follows where a person or a program has ended a notification.
func (n *notification) closes(open func(reason string, but func(posthouse.NotificationDelivery) bool) work.Withdrawal) work.Withdrawal {
	why := ReasonCancelled
	if !n.ResolvedAt.IsZero() {
		why = ReasonResolved
	}
	if n.NextAt = (time.Time{}); n.proof(n.means) == nil {
		switch {
		case n.State == posthouse.NotificationWaiting:
			n.Reason = "" // for what its step waited
		case n.State == posthouse.NotificationTold, n.Reason == ReasonEscalated && n.instead() == nil: // a receipt has taken the proof back
			n.Reason, n.ToldBy, n.ToldUser, n.ToldAt = "", "", "", time.Time{}
		}
		n.State, n.Reason = posthouse.NotificationNotTold, cmp.Or(n.Reason, why)
	}
	return open(why, func(posthouse.NotificationDelivery) bool { return false })
}

// proof is the first delivery to one of some people that has reached what its step waits for; nil for none.
func (n *notification) proof(of func(*posthouse.NotificationDelivery) bool) *posthouse.NotificationDelivery {
	for i := range n.Deliveries {
		if d := &n.Deliveries[i]; reached(d.State, n.step(d.Step).Until) && of(d) {
			return d
		}
	}
	return nil
}

// means reports whether a delivery is to somebody whom the notification means. One whose message has no recipients means whoever its steps name.
func (n *notification) means(d *posthouse.NotificationDelivery) bool { return d.Means(n.To) }

// instead is the delivery that has told somebody else; nil where none has.
func (n *notification) instead() *posthouse.NotificationDelivery {
	return n.proof(func(d *posthouse.NotificationDelivery) bool { return !n.means(d) })
}

// toldBy is the state of a notification of which a delivery has told somebody.
func (n *notification) toldBy(state posthouse.NotificationState, reason string, d *posthouse.NotificationDelivery) {
	n.State, n.Reason, n.ToldBy, n.ToldUser, n.ToldAt = state, reason, d.ID, d.User, later(d.At, n.CreatedAt)
}

// ends reports whether quiet hours, a cap or what people prefer end the whole notification, and says so: nothing comes of its step since people
// are left alone. No other step goes around that. A channel that a person does not want leads to the next step, as a suppressed address does.
func (n *notification) ends() bool {
	reason := ""
	cur := n.current()
	for i := range cur {
		switch d := &cur[i]; {
		case !failed(d.State):
			return false
		case d.State == posthouse.Suppressed && (d.Reason == ReasonQuietHours || d.Reason == ReasonCapped || d.Reason == ReasonPreference):
			reason = d.Reason
		}
	}
	if reason != "" {
		n.Reason = reason
	}
	return reason != ""
}

// next is when the planner is to look at a notification that waits: at once where its step is done, at the end of the step's time, or
// when something is heard.
func (n *notification) next(now time.Time) time.Time {
	cur := n.current()
	over := !n.Over.IsZero() && !n.Over.After(now)
	waits := false
	if n.QuietUntil.After(now) {
		return n.QuietUntil
	}
	for _, d := range cur {
		switch {
		case failed(d.State), reached(d.State, n.step(d.Step).Until): // of steps that all begin at once, one to somebody else
		case d.State == posthouse.Unknown && n.Follows.OnUnknown == posthouse.UnknownFallBack:
		case d.State == posthouse.Unknown && over && n.escalates(&d):
		case !d.State.Open() && over: // it was sent, and not proven in time
		default:
			waits = true
		}
	}
	switch {
	case !waits:
		return now
	case len(n.late(now)) > 0:
		return now // the planner withdraws it
	case over:
		return time.Time{} // what is under way or in doubt says when it has ended
	}
	return n.Over
}

// escalates reports whether the end of its step's time leads on beside a delivery in doubt. Where more is waited for than that it was sent,
// what was sent leads on, and what may have been sent proves no more than that.
func (n *notification) escalates(d *posthouse.NotificationDelivery) bool {
	return n.Follows.OnUnknown == posthouse.UnknownFallBack || n.step(d.Step).Until != posthouse.ProofSent
}

// late are the deliveries of a step whose time is over that may still be kept from starting. What is in doubt is left to its policy,
// unless the step waits for more than that it was sent, or the route falls back.
func (n *notification) late(now time.Time) (ids []string) {
	if n.Stepped {
		return nil
	}
	return n.overdue(now)
}

// overdue are those of late, and those that were withdrawn already while a program was about to start them.
func (n *notification) overdue(now time.Time) (ids []string) {
	if n.Over.IsZero() || n.Over.After(now) || n.Follows.Kind == posthouse.RouteAll {
		return nil
	}
	for _, d := range n.current() {
		if d.State.Open() && !n.holds(&d) && d.State != posthouse.Quarantined && (!d.Doubtful || n.escalates(&d)) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// holds reports whether the time of a step stands still for one of its deliveries, whose recipient is left alone. Where the step has turned to
// somebody else too, who does not answer, the next one does not wait until the sleeper wakes.
func (n *notification) holds(d *posthouse.NotificationDelivery) bool {
	return left(d) && !slices.ContainsFunc(n.current(), func(o posthouse.NotificationDelivery) bool {
		return o.User != d.User && !left(&o) && !failed(o.State)
	})
}

// ended says why nobody was told after the last step.
func (n *notification) ended() string {
	reason := ReasonNobody
	for why, passed := range map[string]string{SkippedCondition: ReasonCondition, SkippedPreference: ReasonPreference, SkippedTemplate: ReasonTemplate} {
		if len(n.Steps) > 0 && !slices.ContainsFunc(n.Steps, func(s posthouse.NotificationStep) bool { return s.Skipped != why }) {
			reason = passed
		}
	}
	sent := false
	for _, d := range n.Deliveries {
		switch {
		case d.State == posthouse.Delivered, d.State == posthouse.Sent && n.step(d.Step).Until == posthouse.ProofAcknowledged:
			return ReasonNotAcknowledged
		case d.State == posthouse.Sent:
			sent = true
		case d.State == posthouse.Cancelled && (d.Reason == ReasonStepOver || d.Reason == ReasonTold): // no person has withdrawn it
			reason = ReasonNotDelivered
		default:
			reason = string(d.State)
		}
	}
	if sent {
		return ReasonNotDelivered
	}
	return reason
}

// follow moves on to the next step, and reports whether there is one.
func (n *notification) follow() bool {
	if n.Round == 0 {
		n.Round = 1
	}
	if n.Step++; n.Step <= len(n.Follows.Steps) {
		return true
	}
	sent := slices.ContainsFunc(n.Deliveries, func(d posthouse.NotificationDelivery) bool { return d.Round == n.Round })
	if n.Round > n.Follows.Repeat || !sent { // who was not there a moment ago is not there now
		n.Step--
		return false
	}
	n.Step, n.Round = 1, n.Round+1
	return true
}

// before is the last delivery of an earlier step to somebody, or to anybody where there is none.
func (n *notification) before(user string) string {
	found := ""
	for _, d := range slices.Backward(n.Deliveries) {
		if d.Step == n.Step && d.Round == n.Round {
			continue
		}
		if d.User == user {
			return d.ID
		}
		found = cmp.Or(found, d.ID)
	}
	return found
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
