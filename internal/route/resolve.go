package route

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Resolve ends a notification's plan, since its sender has said, by a key, that what it tells of is over: no further step begins. A notification that
// was told or acknowledged stays so. ending is what whoever got something of it hears of that, nil for nothing.
func Resolve(p work.Plan, by string, ending *Ending, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
	n, err := read(p)
	if err != nil || n.ResolvedBy != "" {
		return p, withdraw, false, err
	}
	n.ResolvedBy, n.ResolvedAt, n.Ending = by, now, ending
	n.Closed = true // a receipt that takes a proof back leads to no further step either
	withdraw = n.settle(now)
	next, err = n.plan()
	return next, withdraw, true, err
}

// The bounds of what is looked through for what is over: pages, and notifications of a page.
const (
	mostOverPages = 20
	overPage      = 200
)

// Resolve ends the notifications of what is over, and returns what became of them. What comes again is told of the same ones; those that began since
// it came first are not over by it.
func (b Book) Resolve(ctx context.Context, tenant string, over work.Over) (ended work.Ended, err error) {
	list, first, err := b.over(ctx, tenant, &over)
	if err != nil {
		return ended, err
	}
	says := map[string]*posthouse.Content{} // by the channel
	for i := range list {
		n := &list[i]
		if n.ResolvedBy == "" && !first.IsZero() && n.CreatedAt.After(first) {
			continue
		}
		ending := n.endingOf(&over, says)
		waited, first := false, false // the transaction may begin anew
		_, err := b.Store.Notification(ctx, time.Now(), tenant, n.ID, func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, changed bool, err error) {
			next, withdraw, changed, err = Resolve(p, over.By, ending, now)
			waited, first = changed && p.State == string(posthouse.NotificationWaiting), changed
			return next, withdraw, changed, err
		})
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			continue // it was pruned
		}
		if err != nil {
			return ended, err
		}
		ended.Count(waited, first)
	}
	return ended, nil
}

// over are the notifications of what is over, and when it was said of the first of them: zero where it was not yet.
func (b Book) over(ctx context.Context, tenant string, over *work.Over) (list []notification, first time.Time, err error) {
	f := work.PlanFilter{Kind: over.Kind, Ref: over.Ref, Keep: func(p work.Plan) (bool, error) {
		n, err := read(p)
		return err == nil && n.Draft.Source == over.Source && (over.Key == "" || n.DedupKey == over.Key) && (n.ResolvedBy == "" || n.ResolvedBy == over.By), err
	}}
	cursor := ""
	for range mostOverPages {
		plans, next, err := b.Store.PlansIn(ctx, tenant, work.PlanNotification, f, cursor, overPage)
		if err != nil {
			return nil, first, err
		}
		for _, p := range plans {
			n, err := read(p)
			if err != nil {
				return nil, first, err
			}
			if n.ResolvedBy != "" && (first.IsZero() || n.ResolvedAt.Before(first)) {
				first = n.ResolvedAt
			}
			list = append(list, n)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return list, first, nil
}

// recipient is the recipient of a delivery, as the message or its step names it.
func (n *notification) recipient(d *posthouse.NotificationDelivery) posthouse.Recipient {
	named := n.To
	if d.Step >= 1 && d.Step <= len(n.Follows.Steps) && len(n.step(d.Step).To) > 0 {
		named = n.step(d.Step).To
	}
	for _, r := range named {
		if r.User == "" && r.Address != "" && r.Address == d.User {
			return r
		}
	}
	return posthouse.Recipient{User: d.User}
}
