package route

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Store keeps notifications.
type Store interface {
	Plans
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	PlansByRef(ctx context.Context, tenant string, kind work.PlanType, about, ref string) ([]work.Plan, error)
	PlansIn(ctx context.Context, tenant string, kind work.PlanType, f work.PlanFilter, cursor string, limit int) (list []work.Plan, next string, err error)
}

// Book shows notifications, and takes the word of people about them.
type Book struct {
	Store Store
	// Delivery reads a delivery as it is now. Defaults to none: what is open stands as the notification last heard of it.
	Delivery func(ctx context.Context, tenant, id string) (posthouse.Delivery, error)
	// Epoch is that of this process, which is written down where somebody lets a notification go. Defaults to none that is known.
	Epoch func() int64
	// Acknowledged is told of each acknowledgement, and how long after the accept it came. Defaults to nobody.
	Acknowledged func(via posthouse.AckVia, took time.Duration)
}

// sees reports whether a caller sees a notification: its kind, and each channel that its route has.
func (n *notification) sees(s work.Sight) bool {
	return s.Kind(n.Kind) && !slices.ContainsFunc(n.channels(), func(name string) bool { return !s.Channel(name) })
}

func unknown(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no notification %.80q", id)
}

// Get is one notification.
func (b Book) Get(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error) {
	p, found, err := b.Store.Plan(ctx, v.Tenant, work.PlanNotification, id)
	if err != nil {
		return posthouse.Notification{}, err
	}
	if !found {
		return posthouse.Notification{}, unknown(id)
	}
	n, err := read(p)
	if err == nil && !n.sees(v.Sight) {
		err = unknown(id)
	}
	if err != nil {
		return posthouse.Notification{}, err
	}
	return n.Notification, b.refresh(ctx, []posthouse.Notification{n.Notification})
}

// Overdue are the deliveries of a notification that are not to start any more, since the time of their step is over: the planner withdraws them as
// soon as it looks, and whoever has claimed one before that asks here.
func (b Book) Overdue(ctx context.Context, tenant, id string, now time.Time) ([]string, error) {
	p, found, err := b.Store.Plan(ctx, tenant, work.PlanNotification, id)
	if err != nil || !found {
		return nil, err
	}
	n, err := read(p)
	if err != nil || n.Held != "" || n.State != posthouse.NotificationWaiting {
		return nil, nil //nolint:nilerr // the planner tells of one that cannot be read
	}
	return n.overdue(now), nil
}

// mostRefreshed bounds the deliveries of notifications that are read anew.
const mostRefreshed = 100

// refresh has what is open of notifications stand as it is now: the plan is told of what settles and comes into doubt, not of what is being
// sent or held by an epoch.
func (b Book) refresh(ctx context.Context, list []posthouse.Notification) error {
	left := mostRefreshed
	for _, n := range list { // they share their deliveries with the list
		for j := range n.Deliveries {
			d := &n.Deliveries[j]
			if b.Delivery == nil || !d.State.Open() || left == 0 {
				continue
			}
			left--
			now, err := b.Delivery(ctx, n.Tenant, d.ID)
			if posthouse.CodeOf(err) == posthouse.CodeNotFound {
				continue
			}
			if err != nil {
				return err
			}
			d.State, d.Reason, d.Doubtful, d.At = now.State, now.Reason, d.Doubtful || now.State == posthouse.Unknown, now.UpdatedAt
		}
	}
	return nil
}

// Filter narrows a list of notifications. The zero value is all of them.
type Filter struct {
	State posthouse.NotificationState
	// Person is the user or the address of somebody whom it means, a step has told, or who has acknowledged it.
	Person string
	// Held keeps those alone that wait for a person to let them go.
	Held bool
	// Route is the one that it follows, Kind and Ref what its message is about.
	Route, Kind, Ref string
	// Since and Until bound when its message was handed in: from Since, before Until.
	Since, Until time.Time
}

// keeps reports whether a notification is of the list.
func (f *Filter) keeps(n *notification) bool {
	return (f.Person == "" || n.Concerns(f.Person)) && (f.Route == "" || n.Route == f.Route) && (f.Kind == "" || n.Kind == f.Kind) && (f.Ref == "" || n.Ref == f.Ref)
}

// List lists notifications, the newest first. What no index answers, which is all but state, time, and kind with ref, is looked for in a bounded
// number of them: a page may be short, and leads on.
func (b Book) List(ctx context.Context, v work.Viewer, f Filter, cursor string, limit int) ([]posthouse.Notification, string, error) {
	narrow := work.PlanFilter{State: string(f.State), Since: f.Since, Until: f.Until}
	if f.Kind != "" && f.Ref != "" {
		narrow.Kind, narrow.Ref = f.Kind, f.Ref
	}
	if f.Held {
		narrow.Held = work.ReasonEpochHold
	}
	list := []posthouse.Notification{}
	narrow.Keep = func(p work.Plan) (bool, error) {
		n, err := read(p)
		return err == nil && n.sees(v.Sight) && f.keeps(&n), err
	}
	plans, next, err := b.Store.PlansIn(ctx, v.Tenant, work.PlanNotification, narrow, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	for _, p := range plans {
		n, err := read(p)
		if err != nil {
			return nil, "", err
		}
		list = append(list, n.Notification)
	}
	return list, next, nil
}

func seen(plans []work.Plan, s work.Sight) ([]posthouse.Notification, error) {
	list := make([]posthouse.Notification, 0, len(plans))
	for _, p := range plans {
		n, err := read(p)
		if err != nil {
			return nil, err
		}
		if n.sees(s) {
			list = append(list, n.Notification)
		}
	}
	return list, nil
}

// Of are the notifications of a message, a page at a time: none where it follows no route. says is what each step of them sends.
func (b Book) Of(ctx context.Context, v work.Viewer, message, cursor string, limit int) (list []posthouse.Notification, says posthouse.Draft, next string, err error) {
	plans, next, err := b.Store.Notifications(ctx, v.Tenant, message, cursor, limit)
	if err != nil || len(plans) == 0 {
		return nil, says, "", err
	}
	list, err = seen(plans, v.Sight)
	if err != nil || len(list) == 0 {
		return nil, says, "", err
	}
	n, err := read(plans[0])
	if err == nil {
		err = b.refresh(ctx, list)
	}
	return list, n.Draft, next, err
}

// About is the newest message of a source that follows a route and is about a kind and a ref; empty where there is none.
func (b Book) About(ctx context.Context, v work.Viewer, kind, ref, source string) (message string, err error) {
	plans, err := b.Store.PlansByRef(ctx, v.Tenant, work.PlanNotification, kind, ref)
	for i := 0; i < len(plans) && err == nil; i++ {
		var n notification
		if n, err = read(plans[i]); err == nil && n.Draft.Source == source && n.sees(v.Sight) {
			message = max(message, n.Message)
		}
	}
	return message, err
}

// Waiting are the notifications that wait and are about a kind and a ref.
func (b Book) Waiting(ctx context.Context, v work.Viewer, kind, ref string) ([]posthouse.Notification, error) {
	plans, err := b.Store.PlansByRef(ctx, v.Tenant, work.PlanNotification, kind, ref)
	if err != nil {
		return nil, err
	}
	list, err := seen(plans, v.Sight)
	return slices.DeleteFunc(list, func(n posthouse.Notification) bool { return n.State != posthouse.NotificationWaiting }), err
}

// Acknowledge writes down that somebody has taken note of a notification, and withdraws what has not started of it. The first word stands.
func (b Book) Acknowledge(ctx context.Context, v work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error) {
	first := false // the transaction may begin anew
	n, err := b.change(ctx, v, id, func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
		next, withdraw, changed, err = Acknowledge(p, by, via, evidence, now)
		first = changed
		return next, withdraw, changed, err
	})
	if err == nil && first && b.Acknowledged != nil {
		b.Acknowledged(via, n.Ack.At.Sub(n.CreatedAt))
	}
	return n, err
}

// RevokeLinks makes the links and cards void by which a notification could be acknowledged.
func (b Book) RevokeLinks(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error) {
	return b.change(ctx, v, id, RevokeLinks)
}

// End keeps a notification that waits from going on, and withdraws what has not started of it.
func (b Book) End(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error) {
	return b.change(ctx, v, id, End)
}

// Resume lets a notification go on that is held, from now: its next step may begin at once.
func (b Book) Resume(ctx context.Context, v work.Viewer, id string) (posthouse.Notification, error) {
	now, err := b.Get(ctx, v, id)
	if err != nil || now.Held == "" {
		return now, err
	}
	var known []posthouse.Delivery
	for i := range now.Deliveries {
		if b.Delivery == nil || !now.Deliveries[i].State.Open() {
			continue
		}
		d, err := b.Delivery(ctx, v.Tenant, now.Deliveries[i].ID)
		if err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound {
			return now, err
		}
		if err == nil {
			known = append(known, d)
		}
	}
	return b.change(ctx, v, id, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		epoch := int64(0)
		if b.Epoch != nil {
			epoch = b.Epoch()
		}
		return Resume(p, known, epoch, now)
	})
}

func (b Book) change(ctx context.Context, v work.Viewer, id string, how func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (posthouse.Notification, error) {
	p, err := b.Store.Notification(ctx, time.Now(), v.Tenant, id, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		if n, err := read(p); err != nil || !n.sees(v.Sight) {
			return p, work.Withdrawal{}, false, unknown(id)
		}
		return how(p, now)
	})
	if err != nil {
		return posthouse.Notification{}, err
	}
	return Read(p)
}
