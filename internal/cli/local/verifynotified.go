package local

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/digest"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// notificationsOf walks over the notifications of all tenants.
func notificationsOf(ctx context.Context, s *store.Store) iter.Seq2[verify.Notified, error] {
	return plansOf(ctx, s, work.PlanNotification, func(p work.Plan) (n verify.Notified, err error) {
		n.Notification, n.Follows, err = route.Followed(p)
		return n, err
	})
}

// collectionsOf walks over the collections of all tenants.
func collectionsOf(ctx context.Context, s *store.Store) iter.Seq2[posthouse.Collection, error] {
	return plansOf(ctx, s, work.PlanCollection, digest.Read)
}

// plansOf walks over the plans of a type of all tenants, each as it is read.
func plansOf[T any](ctx context.Context, s *store.Store, kind work.PlanType, read func(work.Plan) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		on := true
		err := eachTenant(ctx, s, func(tenant string) error {
			for cursor := ""; on; {
				plans, more, err := s.Plans.Plans(ctx, tenant, kind, cursor, 0)
				for i := 0; err == nil && on && i < len(plans); i++ {
					var one T
					if one, err = read(plans[i]); err == nil {
						on = yield(one, nil)
					}
				}
				if cursor = more; err != nil || cursor == "" {
					return err
				}
			}
			return nil
		})
		if err != nil && on {
			var none T
			yield(none, err)
		}
	}
}
