package quota

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
)

// Store says which quotas there are, and counts what is open.
type Store interface {
	// TenantQuotas are those of tenants that have one.
	TenantQuotas(ctx context.Context) (map[string]posthouse.Quota, error)
	OpenOfTenant(ctx context.Context, tenant string) (int, error)
	OpenOfKey(ctx context.Context, now time.Time, tenant, key string) (int, error)
}

// Limiter counts requests in windows. limit's types satisfy it.
type Limiter interface {
	Take(ctx context.Context, bounds []limit.Bound, want int) (limit.Grant, error)
}

// Daily counts in windows of a day, which outlive a process. limit.SQL satisfies it.
type Daily interface {
	Limiter
	Refund(ctx context.Context, g limit.Grant, n int) error
}

// Options makes Quotas. Store is required.
type Options struct {
	Store Store
	// Limiter counts requests. Defaults to one of this process.
	Limiter Limiter
	// Daily counts what a day has. Defaults to one of this process.
	Daily Daily
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Metrics defaults to none.
	Metrics prometheus.Registerer
}

// Quotas are those of all keys and tenants, with what counts against them.
type Quotas struct {
	store    Store
	limiter  Limiter
	daily    Daily
	log      *slog.Logger
	tenants  atomic.Pointer[map[string]posthouse.Quota]
	refusals *prometheus.CounterVec

	mu     sync.Mutex
	counts map[holder]*count
}

// holder is whose open deliveries are counted.
type holder struct {
	of           posthouse.BoundOf
	tenant, name string
}

// New makes quotas that know of none: Refresh reads them.
func New(o Options) *Quotas {
	q := &Quotas{store: o.Store, limiter: o.Limiter, daily: o.Daily, log: cmp.Or(o.Log, slog.Default()), counts: map[holder]*count{}}
	if q.limiter == nil {
		q.limiter = limit.NewMemory()
	}
	if q.daily == nil {
		q.daily = limit.NewMemory()
	}
	q.tenants.Store(&map[string]posthouse.Quota{})
	q.measure(o.Metrics)
	return q
}

// Refresh reads the quotas of tenants. Those of keys come with the keys.
func (q *Quotas) Refresh(ctx context.Context) error {
	found, err := q.store.TenantQuotas(ctx)
	if err != nil {
		return err
	}
	before := *q.tenants.Swap(&found)
	for tenant := range before {
		if !found[tenant].Any() {
			q.refusals.DeletePartialMatch(prometheus.Labels{"tenant": tenant})
		}
	}
	q.forget(found, time.Now())
	return nil
}

// followEvery is how soon a change by another process holds here.
const followEvery = 2 * time.Second

// Follow takes over what other processes change, until ctx ends.
func (q *Quotas) Follow(ctx context.Context) {
	tick := time.NewTicker(life.Spread(followEvery))
	defer tick.Stop()
	for {
		if err := q.Refresh(ctx); err != nil && ctx.Err() == nil {
			q.log.Warn("the quotas of tenants cannot be read: those known so far hold", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ofTenant is a tenant's quota.
func (q *Quotas) ofTenant(tenant string) posthouse.Quota { return (*q.tenants.Load())[tenant] }

// idle is how long a count is remembered after its last use.
const idle = time.Minute

// forget drops the counts that were not used of late, and those of tenants without a quota.
func (q *Quotas) forget(tenants map[string]posthouse.Quota, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for h, c := range q.counts {
		if h.of == posthouse.BoundOfTenant && tenants[h.tenant].Open == 0 || c.idle(now) {
			delete(q.counts, h)
		}
	}
}
