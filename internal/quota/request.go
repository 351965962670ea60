package quota

import (
	"context"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// Request lets a key's request pass, or says which window of the key or its tenant is full. A key without an id is a
// caller of the tenant who has shown none.
func (q *Quotas) Request(ctx context.Context, key posthouse.Key) error {
	of := q.ofTenant(key.Tenant)
	if len(of.Requests) == 0 && len(key.Quota.Requests) == 0 {
		return nil
	}
	tenants := "requests tenant " + key.Tenant
	var bounds []limit.Bound
	if len(of.Requests) > 0 {
		bounds = append(bounds, limit.Bound{Key: tenants, Windows: limit.Spaced(of.Requests)})
	}
	if len(key.Quota.Requests) > 0 {
		bounds = append(bounds, limit.Bound{Key: "requests key " + key.ID, Windows: limit.Spaced(key.Quota.Requests)})
	}
	g, err := q.limiter.Take(ctx, bounds, 1)
	if err != nil {
		return fmt.Errorf("count a request: %w", err)
	}
	if g.N > 0 {
		return nil
	}
	b := posthouse.Bound{Of: posthouse.BoundOfKey, Name: key.ID, What: posthouse.BoundRequests, Max: g.Held.Max, Per: g.Held.Per}
	if g.Key == tenants {
		b.Of, b.Name = posthouse.BoundOfTenant, key.Tenant
	}
	q.refused(key.Tenant, b)
	return &posthouse.Error{
		Code: posthouse.CodeQuota, Bound: &b, Wait: g.Wait,
		Message: fmt.Sprintf("the %s %.80s may make %d requests in %s, and has made them", b.Of, b.Name, b.Max, b.Per),
	}
}

// MaxOpen bounds a quota of open deliveries.
const MaxOpen = 1_000_000_000

// Check finds what makes a quota impossible to keep. Paths are relative to it.
func Check(q posthouse.Quota) []posthouse.Problem {
	var problems []posthouse.Problem
	for _, p := range limit.Check(q.Requests) {
		problems = append(problems, posthouse.Problem{Path: "requests" + p.Path, Message: p.Message})
	}
	if q.Open < 0 || q.Open > MaxOpen {
		problems = append(problems, posthouse.Problem{Path: "open", Message: fmt.Sprintf("is %d, must be from 1 to %d; 0 is no bound", q.Open, MaxOpen)})
	}
	if q.MentionAll < 0 || q.MentionAll > MaxMentionAll {
		problems = append(problems, posthouse.Problem{Path: "mention_all", Message: fmt.Sprintf("is %d, must be from 1 to %d; 0 is no bound", q.MentionAll, MaxMentionAll)})
	}
	return slices.Clip(problems)
}
