package server

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/limit"
	quiethours "github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/quota"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/suppress"
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

// openQuiet makes the keepers of quiet hours and caps, and of what people want.
func (s *Server) openQuiet(ctx context.Context) error {
	s.quiet = &quiethours.Keeper{Tenants: s.store.Tenants, Rosters: s.store.Rosters, Directory: s.store.Users, Log: s.o.Log}
	s.choices = &suppress.Choices{Chosen: s.store.Preferences, Tenants: s.store.Tenants, Log: s.o.Log}
	return errors.Join(s.quiet.Refresh(ctx), s.choices.Refresh(ctx))
}

// woken has what else waits for quiet hours looked at anew: notifications, and segments of campaigns.
func (s *Server) woken(ctx context.Context, now time.Time) error {
	segments := campaign.Waker{Segments: s.store.Segments, Quiet: s.quiet, Channel: s.engine.Routes.Channel}
	return errors.Join(s.router.Wake(ctx, s.store.Plans, now), segments.Wake(ctx, now))
}

// said takes over at once what was said of a tenant here.
type said struct {
	*quota.Quotas
	quiet   *quiethours.Keeper
	choices *suppress.Choices
}

// Refresh is the API's.
func (s said) Refresh(ctx context.Context) error {
	return errors.Join(s.Quotas.Refresh(ctx), s.quiet.Refresh(ctx), s.choices.Refresh(ctx))
}
