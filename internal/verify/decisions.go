package verify

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// Decision is what became of a notification, as the journal has it: a row that the deciding transaction has written beside the notification's own.
type Decision struct {
	At time.Time
	posthouse.NotificationEvent
}

// judgeDecisions holds a notification against what the journal says was decided of it (I40). What is too old is not there any more, and what an
// earlier program decided may never have been.
func (c notifying) judgeDecisions(n *Notified) {
	list := slices.Clone(n.Decisions)
	for len(list) > 0 && list[len(list)-1].Version > n.Version {
		last := &list[len(list)-1]
		if (keeping{c.checker}).settledDown(last.At) { // else it was decided after the row was read
			c.fail(decided, n.ID, with(last.show(), n.stands()), "it is of version %d, and the journal has a decision of version %d", n.Version, last.Version)
			return
		}
		list = list[:len(list)-1]
	}
	if n.Recorded || len(list) > 0 {
		c.checked(decided, 1)
	}
	for i := range list {
		if why := c.contradicts(n, list, i); why != "" {
			c.fail(decided, n.ID, with(list[i].show(), n.stands()), "%s", why)
			return
		}
	}
	if n.Recorded && len(list) == 0 && n.State != posthouse.NotificationWaiting && !n.Kept.IsZero() && n.decidedAfter().After(n.Kept) {
		c.fail(decided, n.ID, n.stands(), "it is %s, and the journal, which has all since %s, has no decision of it", n.State, stampText(n.Kept))
	}
}

// contradicts says in what a notification is not as one of its decisions left it, empty where it is.
func (c notifying) contradicts(n *Notified, list []Decision, i int) string {
	d, last := &list[i], i == len(list)-1
	switch {
	case n.Recorded && i > 0 && d.From != list[i-1].State:
		return "a decision leads from " + string(d.From) + ", and the one before to " + string(list[i-1].State)
	case d.Route != n.Route || d.RouteVersion != n.RouteVersion || d.Recipients != len(n.To) || !slices.Equal(d.To, n.To[:min(len(n.To), len(d.To))]):
		return "it is for others, or by another route, than the journal says"
	case d.Ack != nil && n.Ack == nil:
		return "the journal says that " + d.Ack.By + " acknowledged it, and it does not"
	case d.Ack != nil && (d.Ack.By != n.Ack.By || d.Ack.Via != n.Ack.Via || !d.Ack.At.Equal(n.Ack.At)):
		return "it says that " + n.Ack.By + " acknowledged it by " + string(n.Ack.Via) + " at " + stampText(n.Ack.At) + ", and the journal that " +
			d.Ack.By + " did by " + string(d.Ack.Via) + " at " + stampText(d.Ack.At)
	case last && (n.Recorded || d.Version == n.Version || d.State == posthouse.NotificationAcknowledged) && d.State != n.State:
		return "it is " + string(n.State) + ", and the journal says " + string(d.State)
	case last && (n.Recorded || d.Version == n.Version) && n.State == posthouse.NotificationTold && (d.ToldBy != n.ToldBy || d.ToldUser != n.ToldUser || !d.ToldAt.Equal(n.ToldAt)):
		return "it was told by another delivery, to another person or at another time than the journal says"
	case last && (n.Recorded || d.Version == n.Version) && d.Reason == "resolved" && n.ResolvedAt.IsZero(): // an earlier program drops it
		return "the journal says that what it tells of is over, and it does not say since when"
	case last && d.Version == n.Version && d.Reason != n.Reason:
		return "its reason is not the one that the journal has"
	}
	return ""
}

// decidedAfter is a moment before which the state that a notification is in was not decided.
func (n *Notified) decidedAfter() time.Time {
	switch {
	case n.Ack != nil:
		return n.Ack.At
	case n.State == posthouse.NotificationTold:
		return n.ToldAt
	case len(n.Steps) > 0:
		return n.Steps[len(n.Steps)-1].At
	}
	return n.CreatedAt
}

func (d *Decision) show() func() []string {
	by := ""
	if d.Ack != nil {
		by = ", acknowledged by " + d.Ack.By
	}
	return line("%s  decision of version %d: %s to %s%s", stampText(d.At), d.Version, d.From, d.State, by)
}

// stands is the notification's own row.
func (n *Notified) stands() func() []string {
	by := ""
	if n.Ack != nil {
		by = ", acknowledged by " + n.Ack.By
	}
	return line("%s  version %d, %s%s", stampText(n.UpdatedAt), n.Version, n.State, by)
}
