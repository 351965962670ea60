package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
)

// openLimiter keeps limits in the database, and in Redis first where one is configured; and makes the quotas.
func (s *Server) openLimiter(ctx context.Context) (err error) {
	shared := limit.SQL{Rows: s.store.Limits}
	if s.o.Redis == "" {
		s.lease(shared)
		s.quotas, err = openQuotas(ctx, s.o, s.store.Tenants, shared, nil)
		return err
	}
	redis, err := limit.OpenRedis(limit.RedisOptions{URL: s.o.Redis})
	if err != nil {
		return fmt.Errorf("the Redis address cannot be used: %w", err)
	}
	s.redis = redis
	s.closing.add(redis.Close)
	s.lease(&limit.Fallback{Primary: redis, Secondary: shared, Report: func(err error) {
		if err == nil {
			s.o.Log.Info("Redis answers again")
			return
		}
		s.o.Log.Warn("Redis does not answer: the database alone holds the limits", "error", err)
	}})
	s.quotas, err = openQuotas(ctx, s.o, s.store.Tenants, shared, redis)
	return err
}

// lease lets this process hold the limits of accounts for a moment each, so that a permit of theirs costs no round trip.
func (s *Server) lease(inner limit.Limiter) {
	leased := &limit.Leased{Inner: inner, Rows: s.store.Limits, Log: s.o.Log}
	s.closing.add(leased.Close)
	s.limiter = leased
}

// tokenPermits count the calls for access tokens that may be refused, over all processes.
type tokenPermits struct{ s *Server }

// Take is channel.TokenPermits'.
func (p tokenPermits) Take(ctx context.Context, group string, most int, within time.Duration) (func(context.Context), time.Duration, error) {
	sum := sha256.Sum256([]byte(group)) // a key of the limiter is short
	g, err := p.s.limiter.Take(ctx, []limit.Bound{{
		Key: "token_calls/" + hex.EncodeToString(sum[:16]), Windows: []posthouse.Limit{{Max: most, Per: posthouse.Duration(within)}},
	}}, 1)
	if err != nil || g.N == 0 {
		return nil, max(g.Wait, time.Second), err
	}
	return func(ctx context.Context) {
		if err := p.s.limiter.Refund(ctx, g, 1); err != nil {
			p.s.o.Log.Warn("a permit for an access token could not be given back: it is free in a minute", "error", err)
		}
	}, 0, nil
}
