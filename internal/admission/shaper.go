package admission

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// ShapeKey names a bucket.
type ShapeKey struct {
	Tenant   string
	Priority posthouse.Priority
}

// Shaper has the buckets of one process: it evens out what begins, by a token bucket for each priority of a tenant. It is no limit of a
// provider, which package limit holds exactly over all processes. It is what an operator allows of a priority, so that a million
// messages of low priority take neither the database nor the channels from those of high.
//
// Tokens are paid when an attempt begins, and come back where nothing was sent. What finds no token stays in the queue as it
// is, in its order: nothing is written, nothing is dropped, and whatever is known of the wait follows from the bucket and from
// what stands before. A nil Shaper lets everything begin.
type Shaper struct {
	of posthouse.Shapes

	mu      sync.Mutex
	buckets map[ShapeKey]*bucket
}

// NewShaper is a shaper of these shapes, nil where there are none.
func NewShaper(of posthouse.Shapes) *Shaper {
	if len(of) == 0 {
		return nil
	}
	return &Shaper{of: of, buckets: map[ShapeKey]*bucket{}}
}

// bucket is that of a key, nil where it has none. The shaper is locked.
func (s *Shaper) bucket(k ShapeKey, now time.Time) *bucket {
	if b := s.buckets[k]; b != nil {
		return b
	}
	of, shaped := s.of.Of(k.Tenant, k.Priority)
	if !shaped {
		return nil
	}
	b := newBucket(of, now)
	s.buckets[k] = b
	return b
}

// Shapes reports whether a key has a bucket.
func (s *Shaper) Shapes(k ShapeKey) bool {
	if s == nil {
		return false
	}
	_, shaped := s.of.Of(k.Tenant, k.Priority)
	return shaped
}

// Take takes up to want tokens for who, of whom each has one name. A call that cannot be cut takes whole of them at once.
// Where there is none, next is when there will be some for who.
func (s *Shaper) Take(now time.Time, k ShapeKey, who string, want, whole int) (n int, next time.Time) {
	if s == nil || want <= 0 {
		return want, now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(k, now)
	if b == nil {
		return want, now
	}
	return b.take(now, who, want, whole)
}

// spend takes tokens that are there or not.
func (s *Shaper) spend(k ShapeKey, n int) {
	if s == nil || n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[k]; b != nil {
		b.tokens -= float64(n)
	}
}

// Return gives back tokens of what was not sent.
func (s *Shaper) Return(k ShapeKey, n int) {
	if s == nil || n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[k]; b != nil {
		b.put(n)
	}
}

// Tokens are those that each bucket holds now; less than 0 where they are promised or taken in advance.
func (s *Shaper) Tokens(now time.Time) map[ShapeKey]float64 {
	list := map[ShapeKey]float64{}
	if s == nil {
		return list
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, b := range s.buckets {
		list[k] = b.holds(now)
	}
	return list
}

// Delay is how long one waits that has so many before it, 0 for not at all, and the rate that all of its key may begin with.
func (s *Shaper) Delay(now time.Time, k ShapeKey, before int) (d time.Duration, of posthouse.Shape) {
	if s == nil {
		return 0, of
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(k, now)
	if b == nil {
		return 0, of
	}
	of, _ = s.of.Of(k.Tenant, k.Priority)
	b.fill(now) // what is promised, those that stand before it are to have
	if lacks := float64(before+1) - b.tokens; lacks > 0 {
		d = wait(lacks, b.rate)
	}
	return d, of
}
