package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/shape"
)

// shapes sees to the tokens of a route's priorities: what finds none stays in its lane, which is passed over until there will
// be some. The route is locked.
type shapes struct {
	shaper  *shape.Shaper // nil where nothing is shaped
	tenant  string
	channel string
	waits   *prometheus.CounterVec
	shut    map[posthouse.Priority]time.Time // until when a lane is passed over
}

func (s *shapes) key(p posthouse.Priority) shape.Key {
	return shape.Key{Tenant: s.tenant, Priority: p}
}

// closed reports whether a priority waits for tokens.
func (s *shapes) closed(p posthouse.Priority, now time.Time) bool {
	return s.shaper != nil && now.Before(s.shut[p])
}

// take takes tokens for up to n starts of a priority, and closes it where there are none. A call that takes whole of them is
// not cut.
func (s *shapes) take(now time.Time, p posthouse.Priority, n, whole int) int {
	if s.shaper == nil {
		return n
	}
	free, next := s.shaper.Take(now, s.key(p), s.channel, n, whole)
	if free > 0 {
		delete(s.shut, p)
		return free
	}
	if _, waits := s.shut[p]; !waits {
		s.waits.WithLabelValues(s.tenant, s.channel, string(p)).Inc()
	}
	s.shut[p] = now.Add(min(next.Sub(now), shape.Again)) // what others took in advance may be back before
	return 0
}

// wait is how long until the first of the priorities that are due is open again.
func (s *shapes) wait(now time.Time, due func(posthouse.Priority) bool) time.Duration {
	wait := whenWoken
	for p, until := range s.shut {
		if due(p) && now.Before(until) {
			wait = min(wait, until.Sub(now))
		}
	}
	return wait
}

// until is how long until something wakes, or a priority is open again. A wake of zero is none.
func (s *shapes) until(now, wake time.Time) time.Duration {
	wait := s.wait(now, func(posthouse.Priority) bool { return true })
	if !wake.IsZero() {
		wait = min(wait, max(wake.Sub(now), time.Millisecond))
	}
	return wait
}

// unspent gives back the tokens of shares that found nothing to start.
func unspent(r *route, shares []share) {
	for _, s := range shares {
		untake(r, s.priority, s.n)
	}
}

// untake gives back the tokens of what did not begin.
func untake(r *route, p posthouse.Priority, n int) { r.shapes.shaper.Return(r.shapes.key(p), n) }
