package server

import (
	"context"

	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/quota"
	"github.com/posthouse/posthouse/internal/store"
)

// openQuotas makes the quotas of keys and tenants. Requests are counted by each process for itself, and over all of them
// in Redis where one is configured; no database is asked for a request. What a day has is counted in the database: it outlives the process.
func openQuotas(ctx context.Context, o Options, tenants store.Tenants, daily quota.Daily, redis *limit.Redis) (*quota.Quotas, error) {
	options := quota.Options{Store: tenants, Daily: daily, Log: o.Log, Metrics: o.Registry}
	if redis != nil {
		options.Limiter = &limit.Fallback{Primary: redis, Secondary: limit.NewMemory(), Report: func(err error) {
			if err != nil {
				o.Log.Warn("Redis does not answer: this process counts the requests of keys and tenants by itself", "error", err)
			}
		}}
	}
	q := quota.New(options)
	return q, q.Refresh(ctx)
}
