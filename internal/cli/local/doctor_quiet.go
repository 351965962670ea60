package local

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/store"
)

// examineQuiet finds fault with channels by which nothing can ever be sent, since their quiet hours and those of their tenant leave no time.
// Such hours are refused when they are stored; they may have been stored before they were, or by two at once.
func examineQuiet(ctx context.Context, s *store.Store) []finding {
	tenants, err := s.Tenants.Attentive(ctx)
	if err != nil {
		return []finding{{"quiet hours", false, err.Error()}}
	}
	rows, err := s.Channels.Channels(ctx, "")
	if err != nil {
		return []finding{{"quiet hours", false, err.Error()}}
	}
	list := make([]posthouse.Channel, len(rows))
	for i := range rows {
		list[i] = rows[i].Channel
	}
	return covered(tenants, list)
}

// covered are the lines of channels whose hours leave no time beside those of their tenants.
func covered(tenants map[string]posthouse.Tenant, list []posthouse.Channel) (out []finding) {
	for i := range list {
		if ch := &list[i]; quiet.Covered(tenants[ch.Tenant].QuietHours, ch.QuietHours) {
			out = append(out, finding{"channel " + ch.Name + ofTenant(ch.Tenant), false, "its quiet hours and those of the tenant leave no time: nothing is ever sent by it, but what is critical. Leave an hour that neither has"})
		}
	}
	return out
}
