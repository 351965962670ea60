package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/work"
)

// MaxMentionAll bounds a quota of messages that call everybody.
const MaxMentionAll = 1_000_000

// MentionAll makes room for n messages of a tenant that call everybody, within 24 hours, and of the key that pays for the caller;
// or says which of both has none. back gives back those that were not stored; it is nil where there is no quota.
func (q *Quotas) MentionAll(ctx context.Context, tenant string, p work.Payer, n int) (back func(n int), err error) {
	if n == 0 {
		return nil, nil
	}
	day := func(most int) []posthouse.Limit {
		return []posthouse.Limit{{Max: most, Per: posthouse.Duration(24 * time.Hour)}}
	}
	tenants := "mention_all tenant " + tenant
	var bounds []limit.Bound
	if most := q.ofTenant(tenant).MentionAll; most > 0 {
		bounds = append(bounds, limit.Bound{Key: tenants, Windows: day(most)})
	}
	if p.MentionAll > 0 {
		bounds = append(bounds, limit.Bound{Key: "mention_all key " + p.Key, Windows: day(p.MentionAll)})
	}
	if len(bounds) == 0 {
		return nil, nil
	}
	g, err := q.daily.Take(ctx, bounds, n)
	if err != nil {
		return nil, fmt.Errorf("count a message that calls everybody: %w", err)
	}
	back = func(n int) {
		if err := q.daily.Refund(context.WithoutCancel(ctx), g, n); err != nil {
			q.log.Warn("what a quota of mention_all counted and was not stored cannot be given back", "tenant", tenant, "messages", n, "error", err)
		}
	}
	if g.N == n {
		return back, nil
	}
	if g.N > 0 {
		back(g.N) // all or none
	}
	b := posthouse.Bound{Of: posthouse.BoundOfKey, Name: p.Key, What: posthouse.BoundMentionAll, Max: g.Held.Max, Per: g.Held.Per}
	if g.Key == tenants {
		b.Of, b.Name = posthouse.BoundOfTenant, tenant
	}
	q.refused(tenant, b)
	return nil, &posthouse.Error{
		Code: posthouse.CodeQuota, Bound: &b, Wait: max(g.Wait, time.Second),
		Message: fmt.Sprintf("the %s %.80s may call everybody with %d messages a day: there is no room for %d more now", b.Of, b.Name, b.Max, n),
	}
}
