package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/server"
)

// mostBudgets bounds the budgets that one statement looks at.
const mostBudgets = 500

// outlay is a budget in its period, and how much of it is used.
type outlay struct {
	name, tenant string
	tier         state.Tier
	used         int
	// refused is how much Redis has counted, where that is more: it refuses what the database would still grant.
	refused int
}

// peeker says how much is left of windows. limit.Redis satisfies it.
type peeker interface {
	Peek(ctx context.Context, bounds []limit.Bound) (limit.Grant, error)
}

// examineBudgets names the budgets that are spent or nearly so. It is no fault: what waits goes when the next period begins.
func examineBudgets(ctx context.Context, s *store.Store, c config.Config, now time.Time) []finding {
	const name = "budgets"
	list, err := budgetsOf(ctx, s, c, now)
	if err == nil {
		err = spent(ctx, limit.SQL{Rows: s.Limits}, list)
	}
	if err != nil {
		return []finding{{name, false, err.Error()}}
	}
	if len(list) == 0 {
		return nil
	}
	if c.Server.Redis == "" {
		return append([]finding{{name, true, fmt.Sprintf("%d, counted in the database", len(list))}}, toldOf(list)...)
	}
	if err := spentInRedis(ctx, c, list); err != nil {
		return append([]finding{{name, true, fmt.Sprintf("%d, counted in the database alone: Redis does not answer (%v)", len(list), err)}}, toldOf(list)...)
	}
	return append([]finding{{name, true, fmt.Sprintf("%d, counted in Redis and in the database: what either refuses waits", len(list))}}, toldOf(list)...)
}

// budgetsOf are those of all channels and their accounts, in their periods.
func budgetsOf(ctx context.Context, s *store.Store, c config.Config, now time.Time) (list []*outlay, err error) {
	rows, err := s.Channels.Channels(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		ch, key := row.Channel, state.Key{Tenant: row.Channel.Tenant, Channel: row.Channel.Name}
		zone, err := time.LoadLocation(cmp.Or(ch.TimeZone, c.Server.TimeZone, server.DefaultTimeZone))
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", ch.Name, err)
		}
		add := func(name, limits string, b *posthouse.Budget) {
			if b != nil {
				list = append(list, &outlay{name: name, tenant: ch.Tenant, tier: state.TierOfBudget(now, limits, b, posthouse.High, zone)})
			}
		}
		add("budget "+ch.Name, key.LimitKey(), ch.Budget)
		for cursor := ""; ch.Accounts; {
			accounts, next, err := s.Accounts.Accounts(ctx, ch.Tenant, ch.Name, cursor, mostBudgets)
			if err != nil {
				return nil, err
			}
			for _, a := range accounts {
				own := a.Account.Budget
				if own == nil {
					own = ch.AccountBudget
				}
				add("budget "+ch.Name+"/"+a.Account.Name, key.AccountKey(a.Account.Name), own)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	return list, nil
}

// spent fills in what is used by what the database has counted.
func spent(ctx context.Context, counts limit.SQL, list []*outlay) error {
	for part := range slices.Chunk(list, mostBudgets) {
		bounds := make([]limit.Bound, len(part))
		for i := range part {
			bounds[i] = part[i].tier.Bound
		}
		fills, err := counts.Fills(ctx, bounds)
		if err != nil {
			return err
		}
		for i := range part {
			part[i].used = fills[i][0].Used
		}
	}
	return nil
}

// spentInRedis fills in what Redis has counted beyond the database: permits whose way back was lost.
func spentInRedis(ctx context.Context, c config.Config, list []*outlay) error {
	redis, err := limit.OpenRedis(limit.RedisOptions{URL: c.Server.Redis})
	if err != nil {
		return err
	}
	defer redis.Close() //nolint:errcheck // it was only read
	return beyond(ctx, redis, list)
}

func beyond(ctx context.Context, redis peeker, list []*outlay) error {
	for _, o := range list {
		left, err := redis.Peek(ctx, []limit.Bound{o.tier.Bound})
		if err != nil {
			return err
		}
		o.refused = max(0, o.tier.Spends.Max-left.N-o.used)
	}
	return nil
}

// toldOf are the lines of budgets that have come to their warning or their end.
func toldOf(list []*outlay) (out []finding) {
	for _, o := range list {
		b, used := o.tier.Spends, o.used+o.refused
		until := b.To.Format(time.RFC3339)
		f := finding{o.name + ofTenant(o.tenant), true, fmt.Sprintf("%d of %d a %s are used, %d %%; a new period begins at %s", used, b.Max, b.Per, int64(used)*100/int64(b.Max), until)}
		switch {
		case used < b.Warns():
			continue
		case used >= b.Max:
			f = finding{f.Check, true, fmt.Sprintf("spent: all %d a %s are used; a new period begins at %s", b.Max, b.Per, until)}
		case used >= b.For(posthouse.Normal):
			f = finding{f.Check, true, fmt.Sprintf("spent: of %d a %s, the last %d are for high priority; a new period begins at %s", b.Max, b.Per, b.Max-used, until)}
		}
		if o.refused > 0 {
			f = finding{f.Check, true, fmt.Sprintf("%s; %d of them are counted in Redis alone", f.Detail, o.refused)}
		}
		out = append(out, f)
	}
	return out
}
