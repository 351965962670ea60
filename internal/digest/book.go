package digest

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Store keeps collections.
type Store interface {
	Plans
	Plan(ctx context.Context, tenant string, kind work.PlanType, id string) (p work.Plan, found bool, err error)
	PlansIn(ctx context.Context, tenant string, kind work.PlanType, f work.PlanFilter, cursor string, limit int) (list []work.Plan, next string, err error)
}

// Book shows collections, and lets one leave.
type Book struct{ Store Store }

func unknown(id string) error {
	return posthouse.Errorf(posthouse.CodeNotFound, "there is no collection %.80q", id)
}

// sees reports whether a caller sees a collection. One of several kinds is for callers of all kinds.
func (c *collection) sees(s work.Sight) bool { return s.Channel(c.Channel) && s.Kind(c.Kind) }

// Get is one collection.
func (b Book) Get(ctx context.Context, v work.Viewer, id string) (posthouse.Collection, error) {
	p, found, err := b.Store.Plan(ctx, v.Tenant, work.PlanCollection, id)
	if err != nil {
		return posthouse.Collection{}, err
	}
	if !found {
		return posthouse.Collection{}, unknown(id)
	}
	c, err := read(p)
	if err == nil && !c.sees(v.Sight) {
		err = unknown(id)
	}
	if err != nil {
		return posthouse.Collection{}, err
	}
	return c.Collection, nil
}

// List lists collections that are in a state, or in any, the newest first.
func (b Book) List(ctx context.Context, v work.Viewer, in posthouse.CollectionState, cursor string, limit int) ([]posthouse.Collection, string, error) {
	plans, next, err := b.Store.PlansIn(ctx, v.Tenant, work.PlanCollection, work.PlanFilter{State: string(in)}, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	list := make([]posthouse.Collection, 0, len(plans))
	for _, p := range plans {
		c, err := read(p)
		if err != nil {
			return nil, "", err
		}
		if c.sees(v.Sight) {
			list = append(list, c.Collection)
		}
	}
	return list, next, nil
}

// Leave has a collection that waits leave now. One that does not wait stays as it is.
func (b Book) Leave(ctx context.Context, v work.Viewer, id string) (posthouse.Collection, error) {
	p, err := b.Store.Collection(ctx, time.Now(), v.Tenant, id, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		c, err := read(p)
		if err != nil || !c.sees(v.Sight) {
			return p, work.Withdrawal{}, false, unknown(id)
		}
		if c.State != posthouse.CollectionWaiting || !c.LeavesAt.After(now) {
			return p, work.Withdrawal{}, false, nil
		}
		c.LeavesAt = now
		next, err := c.plan()
		return next, work.Withdrawal{}, true, err
	})
	if err != nil {
		return posthouse.Collection{}, err
	}
	return Read(p)
}
