package local

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/store"
)

// examineQuiet finds fault with channels by which nothing can ever be sent, or nothing to a user whom their hours name, since their quiet hours and those of their tenant leave no time.
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
		ch := &list[i]
		who, covered := quiet.Covered(tenants[ch.Tenant].QuietHours, ch.QuietHours)
		if !covered {
			continue
		}
		f := finding{"channel " + ch.Name + ofTenant(ch.Tenant), false, "its quiet hours and those of the tenant leave no time: nothing is ever sent by it, but what is critical. Leave an hour that neither has"}
		if who != "" {
			f.Detail = fmt.Sprintf("its quiet hours and those of the tenant leave no time to %.80q: nothing is ever sent to them by it, but what is critical. Leave an hour that neither has", who)
		}
		out = append(out, f)
	}
	return out
}
