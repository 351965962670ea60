package route

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Waiting finds the plans of notifications that wait.
type Waiting interface {
	// WaitingNotifications counts them by tenant.
	WaitingNotifications(ctx context.Context) (map[string]int, error)
	// PlansIn lists a tenant's plans of a type that a filter leaves, and returns the next page's cursor.
	PlansIn(ctx context.Context, tenant string, kind work.PlanType, f work.PlanFilter, cursor string, limit int) (list []work.Plan, next string, err error)
}

// wakePage is how many plans are read at once.
const wakePage = 200

// Wake has notifications go on whose next step waits for quiet hours that end sooner than they did when it was put off.
func (r *Router) Wake(ctx context.Context, in Waiting, now time.Time) error {
	tenants, err := in.WaitingNotifications(ctx)
	if err != nil {
		return err
	}
	held := work.PlanFilter{State: string(posthouse.NotificationWaiting), Keep: func(p work.Plan) (bool, error) {
		n, err := read(p)
		return err == nil && n.Held == "" && n.QuietUntil.After(now.Add(state.LeastSooner)), nil // one that cannot be read is the planner's to tell of
	}}
	for tenant := range tenants {
		for cursor := ""; ; {
			list, next, err := in.PlansIn(ctx, tenant, work.PlanNotification, held, cursor, wakePage)
			if err != nil {
				return err
			}
			for i := range list {
				if err := r.wake(ctx, list[i], now); err != nil {
					return err
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	return nil
}

// wake has one notification go on, where nothing was written of it meanwhile.
func (r *Router) wake(ctx context.Context, p work.Plan, now time.Time) error {
	n, err := read(p)
	if err != nil || !n.follow() {
		return nil //nolint:nilerr // the planner tells of it when it is due
	}
	if n.Draft.Sensitive {
		if why, err := r.unseal(ctx, &n, now); err != nil || why != "" {
			return err // the planner ends it when it is due
		}
	}
	until, err := r.quiet(ctx, &n, now)
	if err != nil || !until.IsZero() && !until.Add(state.LeastSooner).Before(n.QuietUntil) {
		return err
	}
	_, err = r.Plans.Notification(ctx, now, p.Tenant, p.ID, func(as work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error) {
		n, err := read(as)
		if err != nil || as.Version != p.Version {
			return as, withdraw, false, err
		}
		n.NextAt = now
		if until.After(now) {
			n.NextAt = until.Truncate(time.Microsecond)
		}
		n.QuietUntil = n.NextAt
		next, err = n.plan()
		return next, withdraw, true, err
	})
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil // it was pruned
	}
	return err
}
