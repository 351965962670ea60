package server

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/internal/limit"
)

// openLimiter keeps limits in the database, and in Redis first where one is configured.
func (s *Server) openLimiter(context.Context) error {
	shared := limit.SQL{Rows: s.store.Limits}
	if s.o.Redis == "" {
		s.limiter = shared
		return nil
	}
	redis, err := limit.OpenRedis(limit.RedisOptions{URL: s.o.Redis})
	if err != nil {
		return fmt.Errorf("the Redis address cannot be used: %w", err)
	}
	s.closing.add(redis.Close)
	s.limiter = &limit.Fallback{Primary: redis, Secondary: shared, Report: func(err error) {
		if err == nil {
			s.o.Log.Info("Redis answers again")
			return
		}
		s.o.Log.Warn("Redis does not answer: the database alone holds the limits", "error", err)
	}}
	return nil
}
