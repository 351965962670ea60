package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/packed"
)

// Notified is what a database holds of a notification, and the route that it follows.
type Notified struct {
	posthouse.Notification
	Follows posthouse.Route
	// Begins is when its first step may begin, Over when the time of its step is over, QuietUntil until when quiet hours hold the next one, and Deadline
	// its message's.
	Begins, Over, QuietUntil, Deadline time.Time
	// Sensitive is its message's, Closed whether a person or a program has ended it, PutOff whether its last moment came in vain.
	Sensitive, Closed, PutOff bool
	// Listed is the state by which lists know it.
	Listed posthouse.NotificationState
	// Decisions are what the journal says of it, in their order. Recorded says that it has each of them that is no older than Kept; zero is not
	// known.
	Decisions []Decision
	Recorded  bool
	Kept      time.Time
	// Resumed is when a person last let it go that was held, and in which epoch; zero for never, or for one that nobody wrote down.
	Resumed Resumed
}

// Resumed is when a person let go what an epoch held.
type Resumed struct {
	At    time.Time
	Epoch int64
}

// notificationOwner begins the owner of a delivery's first event where it is a step of a notification.
const notificationOwner = "notification/"

// stepOf is what the log says of a delivery of a notification.
type stepOf struct {
	id     string
	replay bool
	epoch  int64 // in which it was accepted
	stands []standing
	starts []begun
	// told is the state that its notification knows: it is not told of who holds the delivery, nor of the epoch that does.
	told posthouse.State
	// whom is the user that its row goes to; empty where it goes to an address alone, which channels write in their own way, or is not stored.
	whom string
}

// standing is a state and since when it lasts.
type standing struct {
	at    time.Time
	state posthouse.State
}

// begun is an attempt, and whether a person had it begin. late is set where its withdrawal came while it was under way: whatever withdrew it, such as
// the receipt of another step, was committed after it had begun, however much earlier its transaction had taken its time.
type begun struct {
	at           time.Time
	manual, late bool
}

// routing is what is known of messages that follow routes.
type routing struct {
	steps  map[string][]stepOf  // by notification
	routed map[packed.ID]uint32 // how many notifications a message has, 0 where nobody says
	young  time.Time            // when the first notification changed that is too young to be judged; zero for none
	absent []call               // sends that were told as accepted and are not in the log
}

// noteSteps keeps what the log says of a message that a step of a notification has made.
func (c *checker) noteSteps(list []history) {
	notification, made := strings.CutPrefix(list[0].events[0].Owner, notificationOwner)
	if !made {
		return
	}
	if c.steps == nil {
		c.steps, c.routed = map[string][]stepOf{}, map[packed.ID]uint32{}
	}
	if id, ok := c.packer.ID(posthouse.MessageID(notification)); ok {
		c.routed[id] = 0
	}
	for _, h := range list {
		s := stepOf{id: h.id, replay: h.replay(), epoch: h.events[0].Epoch}
		for i := range h.events {
			e := &h.events[i]
			s.stands = append(s.stands, standing{e.At, e.To})
			switch {
			case e.Type == posthouse.EventEpochHold:
			case e.To == posthouse.Sending:
				s.told = posthouse.Pending
			default:
				s.told = e.To
			}
			if e.Type == posthouse.EventStart {
				before := h.before(i)
				s.starts = append(s.starts, begun{at: e.At, manual: before >= 0 && manual(&h.events[before])})
			}
			if n := len(s.starts); e.Type == posthouse.EventCancelRequest && e.To == posthouse.Sending && n > 0 {
				s.starts[n-1].late = true
			}
		}
		c.steps[notification] = append(c.steps[notification], s)
	}
}

// noteWhom keeps whom the row of a delivery goes to that a step of a notification has made.
func (c *checker) noteWhom(d *posthouse.Delivery, h history) {
	notification, made := strings.CutPrefix(h.events[0].Owner, notificationOwner)
	if !made {
		return
	}
	list := c.steps[notification]
	if i := slices.IndexFunc(list, func(s stepOf) bool { return s.id == d.ID }); i >= 0 {
		list[i].whom = d.User
	}
}

// judgeNotifications holds that what a notification says of its deliveries is what the log says, that its state follows from it, that
// no step tells somebody beside another one (I38), and that it is what was decided (I40).
func (c *checker) judgeNotifications() error {
	if c.in.Notifications == nil {
		return nil
	}
	for n, err := range c.in.Notifications {
		if err != nil {
			return err
		}
		if id, ok := c.packer.ID(posthouse.MessageID(n.ID)); ok {
			if c.routed == nil {
				c.routed = map[packed.ID]uint32{}
			}
			c.routed[id]++
			if n.Follows.For == posthouse.RouteAny { // one for all its recipients
				c.routed[id] = 0
			}
		}
		notifying{c}.judge(&n, c.steps[n.ID])
		delete(c.steps, n.ID)
	}
	if c.by[told].checked == 0 && !c.young.IsZero() {
		why := fmt.Sprintf("all that there is changed within the last %s: the first of it is looked at from %s on", posthouse.Duration(lately), c.young.Add(lately+time.Second).UTC().Format(time.DateTime)+" UTC")
		c.by[told].why, c.by[decided].why = why, why
	}
	now := cmp.Or(c.in.Now, c.report.To)
	young := posthouse.FirstID(now.Add(-youngReference))
	for id, steps := range c.steps { // an older one may have been pruned before its deliveries
		if id >= young {
			c.fail(told, id, line("delivery %s", steps[0].id), "the log knows deliveries of it, and it is not stored")
		}
	}
	return nil
}

// judge judges one notification.
func (c notifying) judge(n *Notified, steps []stepOf) {
	if !(keeping{c.checker}).settledDown(n.UpdatedAt) {
		if c.young.IsZero() || n.UpdatedAt.Before(c.young) {
			c.young = n.UpdatedAt
		}
		return
	}
	c.checked(told, 1)
	c.judgeDecisions(n)
	known, logged := map[string]*stepOf{}, map[string]*stepOf{}
	for i := range steps {
		known[steps[i].id], logged[steps[i].id] = &steps[i], &steps[i]
	}
	proven, other := false, ""
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		s := known[d.ID]
		if s == nil {
			c.fail(told, n.ID, line("%s, %s", d.ID, d.State), "it has a delivery that the log does not know")
			return
		}
		delete(known, d.ID)
		if s.whom != "" && s.whom != d.User {
			c.fail(told, n.ID, s.show(), "it has %s as one to %s, and its row is to %s", d.ID, d.User, s.whom)
			return
		}
		if s.told != d.State {
			c.fail(told, n.ID, s.show(), "it has %s as %s, and by the log it is %s", d.ID, d.State, s.told)
			return
		}
		switch reached := proves(d.State, n.until(d)); {
		case reached && d.Means(n.To):
			proven = true
		case reached:
			other = d.ID
		}
	}
	for id, s := range known {
		c.fail(told, n.ID, s.show(), "it does not know its delivery %s", id)
		return
	}
	c.judgeHeld(n, steps)
	c.judgeState(n, proven, other)
	c.judgeTimes(n, logged, other != "")
	c.judgeWithdrawn(n, logged)
	for i := range n.Deliveries {
		c.judgeStarts(n, &n.Deliveries[i], steps)
	}
}

// until is what the step of a delivery waits for.
func (n *Notified) until(d *posthouse.NotificationDelivery) posthouse.Proof {
	if d.Step < 1 || d.Step > len(n.Follows.Steps) {
		return posthouse.ProofAcknowledged // there is no such step: nothing proves it
	}
	return n.Follows.Steps[d.Step-1].Until
}

// proves reports whether a delivery in a state is the proof that its step waits for.
func proves(s posthouse.State, until posthouse.Proof) bool {
	return until == posthouse.ProofSent && happy(s) || until == posthouse.ProofDelivered && s == posthouse.Delivered
}

// judgeState holds that its state follows from what is known of it, and that it goes on in time. other is a delivery that told
// somebody whom the notification does not mean.
func (c notifying) judgeState(n *Notified, proven bool, other string) {
	want := posthouse.NotificationWaiting
	switch {
	case n.Ack != nil:
		want = posthouse.NotificationAcknowledged
	case proven:
		want = posthouse.NotificationTold
	case n.Reason == "escalated" && other == "":
		c.fail(told, n.ID, line("%s  version %d, %s", stampText(n.UpdatedAt), n.Version, n.State), "it was told to somebody else, and no delivery says so")
		return
	case n.State == posthouse.NotificationNotTold:
		want = n.State
	}
	proof := line("%s  version %d, %s", stampText(n.UpdatedAt), n.Version, n.State)
	if n.State != want {
		c.fail(told, n.ID, proof, "it is %s, and should be %s", n.State, want)
		return
	}
	if n.State != posthouse.NotificationWaiting || !c.in.AtRest {
		return
	}
	if now := cmp.Or(c.in.Now, c.report.To); !n.NextAt.IsZero() && n.NextAt.Before(now.Add(-Committing)) {
		c.fail(told, n.ID, proof, "it was to go on %s before the end", now.Sub(n.NextAt))
	}
}

// judgeHeld holds that nothing of a notification began in the epoch that holds it, until a person let it go. One that an earlier epoch holds still is no
// less held by this one.
func (c notifying) judgeHeld(n *Notified, steps []stepOf) {
	if r := n.Resumed; r.Epoch > 0 {
		for i := range steps {
			if s := &steps[i]; !s.replay && s.epoch == r.Epoch && s.stands[0].at.Before(r.At.Add(-apart)) {
				c.fail(told, n.ID, with(s.show(), n.stands()), "%s began at %s in epoch %d, which held it until somebody let it go at %s", s.id, stampText(s.stands[0].at), s.epoch, stampText(r.At))
				return
			}
		}
	}
	if n.Held == "" || c.in.Epoch <= 0 { // below zero it is about to begin
		return
	}
	for i := range steps {
		if s := &steps[i]; !s.replay && s.epoch == c.in.Epoch {
			c.fail(told, n.ID, with(s.show(), n.stands()), "%s began in epoch %d, in which it is held", s.id, s.epoch)
			return
		}
	}
}

// judgeStarts holds that a delivery of a step begins only when those before it are done, and starts no more once somebody is told.
func (c notifying) judgeStarts(n *Notified, d *posthouse.NotificationDelivery, steps []stepOf) {
	own := steps[slices.IndexFunc(steps, func(s stepOf) bool { return s.id == d.ID })]
	for _, start := range own.starts {
		if start.late {
			continue
		}
		if n.Ack != nil && !start.manual && !own.replay && start.at.After(n.Ack.At.Add(Committing)) {
			c.fail(told, n.ID, own.show(), "%s started at %s, after it was acknowledged at %s", d.ID, stampText(start.at), stampText(n.Ack.At))
		}
		if !n.ResolvedAt.IsZero() && !start.manual && !own.replay && start.at.After(n.ResolvedAt.Add(Committing)) {
			c.fail(told, n.ID, own.show(), "%s started at %s, and what it tells of was over at %s", d.ID, stampText(start.at), stampText(n.ResolvedAt))
		}
	}
	if n.Follows.Kind == posthouse.RouteAll || own.replay {
		return
	}
	for i := range n.Deliveries {
		o := &n.Deliveries[i]
		if o.Step == d.Step && o.Round == d.Round {
			continue
		}
		other := steps[slices.IndexFunc(steps, func(s stepOf) bool { return s.id == o.ID })]
		if began := own.stands[0].at; cmp.Or(cmp.Compare(o.Round, d.Round), cmp.Compare(o.Step, d.Step)) < 0 {
			if why := n.before(o, &other, began); why != "" {
				c.fail(told, n.ID, with(other.show(), own.show()), "%s began at %s, and %s of the step before %s", d.ID, stampText(began), o.ID, why)
			}
		}
		for _, start := range own.starts {
			if s, ok := other.at(start.at); ok && !start.manual && !start.late && proves(s, n.until(o)) {
				c.fail(told, n.ID, with(other.show(), own.show()), "%s started at %s, and %s of another step was %s", d.ID, stampText(start.at), o.ID, s)
			}
		}
	}
}

// before says why a step may not begin at a time beside a delivery of a step before it, empty where it may. What let it begin may have changed
// for as long as a commit takes.
func (n *Notified) before(o *posthouse.NotificationDelivery, s *stepOf, began time.Time) (why string) {
	if o.Step < 1 || o.Step > len(n.Follows.Steps) {
		return ""
	}
	step := &n.Follows.Steps[o.Step-1]
	over := n.counted(o, s.stands[0].at).Add(step.Within.Std())
	for _, stand := range slices.Backward(s.stands) {
		if stand.at.After(began) {
			continue
		}
		var now string
		switch state := stand.state; {
		case state == posthouse.Unknown && n.Follows.OnUnknown != posthouse.UnknownFallBack && step.Until == posthouse.ProofSent, state == posthouse.Pending, state == posthouse.Sending, proves(state, step.Until):
			now = "was " + string(state)
		case (happy(state) || state == posthouse.Unknown && n.Follows.OnUnknown != posthouse.UnknownFallBack) && began.Add(Committing).Before(over):
			now = fmt.Sprintf("was %s, and had time until %s", state, stampText(over))
		default:
			return ""
		}
		if why = cmp.Or(why, now); stand.at.Before(began.Add(-Committing)) {
			break
		}
	}
	return why
}

// counted is from when the time of a delivery's step counts: from its begin, as that is written, which a process that stood still meanwhile, or
// a database, may have stored later.
func (n *Notified) counted(o *posthouse.NotificationDelivery, stored time.Time) time.Time {
	for _, s := range n.Steps {
		if s.Step == o.Step && s.Round == o.Round && s.Skipped == "" && s.At.Before(stored) {
			return s.At
		}
	}
	return stored
}

// at is the state in which the log has a delivery at a moment, and had it for as long as a commit may take.
func (s *stepOf) at(moment time.Time) (posthouse.State, bool) {
	for _, stand := range slices.Backward(s.stands) {
		if !stand.at.After(moment) {
			return stand.state, moment.Sub(stand.at) > Committing
		}
	}
	return "", false
}

func (s *stepOf) show() func() []string {
	return func() (out []string) {
		for _, stand := range s.stands {
			out = append(out, fmt.Sprintf("%s  %s %s", stampText(stand.at), s.id, stand.state))
		}
		return out
	}
}
