package local

import (
	"context"
	"iter"

	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// notificationsOf walks over the notifications of all tenants.
func notificationsOf(ctx context.Context, s *store.Store) iter.Seq2[verify.Notified, error] {
	return func(yield func(verify.Notified, error) bool) {
		on := true
		err := eachTenant(ctx, s, func(tenant string) error {
			for cursor := ""; on; {
				plans, more, err := s.Plans.Plans(ctx, tenant, work.PlanNotification, cursor, 0)
				for i := 0; err == nil && on && i < len(plans); i++ {
					var n verify.Notified
					if n.Notification, n.Follows, err = route.Followed(plans[i]); err == nil {
						on = yield(n, nil)
					}
				}
				if cursor = more; err != nil || cursor == "" {
					return err
				}
			}
			return nil
		})
		if err != nil && on {
			yield(verify.Notified{}, err)
		}
	}
}
