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

// notificationsOf walks over the notifications of all tenants, each with what the journal says that became of it.
func notificationsOf(ctx context.Context, s *store.Store) iter.Seq2[verify.Notified, error] {
	return plansOf(ctx, s, work.PlanNotification, func(page []work.Plan) ([]verify.Notified, error) {
		decided, kept, err := s.Feed.Decisions(ctx, page[0].ID, page[len(page)-1].ID)
		if err != nil {
			return nil, err
		}
		list := make([]verify.Notified, len(page))
		for i := range page {
			stand, err := route.Standing(page[i])
			if err != nil {
				return nil, err
			}
			n := &list[i]
			*n = verify.Notified{Notification: stand.Notification, Follows: stand.Follows, Begins: stand.Begins, Over: stand.Over, QuietUntil: stand.QuietUntil, Deadline: stand.Deadline,
				Sensitive: stand.Sensitive, Closed: stand.Closed, PutOff: page[i].Failures > 0, Listed: posthouse.NotificationState(page[i].State), Recorded: stand.Recorded, Kept: kept, Resumed: verify.Resumed(stand.Resumed)}
			for _, d := range decided[n.ID] {
				n.Decisions = append(n.Decisions, verify.Decision(d))
			}
		}
		return list, nil
	})
}

// collectionsOf walks over the collections of all tenants.
func collectionsOf(ctx context.Context, s *store.Store) iter.Seq2[posthouse.Collection, error] {
	return plansOf(ctx, s, work.PlanCollection, func(page []work.Plan) (list []posthouse.Collection, err error) {
		for i := 0; i < len(page) && err == nil; i++ {
			var one posthouse.Collection
			one, err = digest.Read(page[i])
			list = append(list, one)
		}
		return list, err
	})
}

// plansOf walks over the plans of a type of all tenants, a page as it is read.
func plansOf[T any](ctx context.Context, s *store.Store, kind work.PlanType, read func(page []work.Plan) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		on := true
		err := eachTenant(ctx, s, func(tenant string) error {
			for cursor := ""; on; {
				plans, more, err := s.Plans.Plans(ctx, tenant, kind, cursor, 0)
				var list []T
				if err == nil && len(plans) > 0 {
					list, err = read(plans)
				}
				for i := 0; err == nil && on && i < len(list); i++ {
					on = yield(list[i], nil)
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
