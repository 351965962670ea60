package local

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/internal/work"
)

// eachTenant visits the names of all tenants.
func eachTenant(ctx context.Context, s *store.Store, visit func(tenant string) error) error {
	for after := ""; ; {
		tenants, next, err := s.Tenants.Tenants(ctx, after, 0)
		for i := 0; err == nil && i < len(tenants); i++ {
			err = visit(tenants[i].Name)
		}
		if after = next; err != nil || after == "" {
			return err
		}
	}
}

// whose is to whom nothing is sent: over one channel, or over all of the tenant.
type whose struct{ tenant, channel, address string }

// suppressedIn reads the suppressions of a database, and says of an address whether one holds it; nil for none. One that was stored for
// a channel goes before one for all.
func suppressedIn(ctx context.Context, s *store.Store, channels []posthouse.Channel) (func(tenant, channel, kind, address string) (verify.Barred, bool), error) {
	all := map[whose]verify.Barred{}
	err := eachTenant(ctx, s, func(tenant string) error {
		for cursor := ""; ; {
			list, next, err := s.Suppressions.Suppressions(ctx, tenant, work.SuppressionsOf{}, cursor, 0)
			for i := range list {
				one := &list[i]
				all[whose{tenant, one.Channel, one.Address}] = verify.Barred{From: one.CreatedAt, Until: one.Until}
			}
			if cursor = next; err != nil || cursor == "" {
				return err
			}
		}
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	exempt := map[whose][]string{}
	for i := range channels {
		exempt[whose{tenant: channels[i].Tenant, channel: channels[i].Name}] = channels[i].ExemptKinds
	}
	return func(tenant, channel, kind, address string) (b verify.Barred, is bool) {
		if slices.Contains(exempt[whose{tenant: tenant, channel: channel}], kind) {
			return b, false
		}
		for _, at := range []whose{{tenant, channel, address}, {tenant, channel, suppress.Fold(address)}, {tenant, "", address}, {tenant, "", suppress.Fold(address)}, {tenant, "", suppress.Everywhere(address)}} {
			if b, is = all[at]; is {
				break
			}
		}
		return b, is
	}, nil
}
