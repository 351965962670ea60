package sqldb

import (
	"context"
	"sync"
	"time"
)

// reading is what the database's clock showed a moment ago. What the process's own steady clock adds
// to it is the time of the database, whatever the process's calendar says.
type reading struct {
	mu     sync.Mutex
	theirs int64 // microseconds
	at     time.Time
	last   int64 // that was given or read
}

// readingHolds is how long a reading is good for: when somebody sets the database's clock, events are
// dated by the old one for so long. Leases are not: each claim reads the clock itself.
const readingHolds = 100 * time.Millisecond

// now is the database's time by the last reading, or 0 where there is none of late.
func (r *reading) now(at time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := at.Sub(r.at)
	if r.theirs == 0 || since >= readingHolds {
		return 0
	}
	return r.forward(r.theirs + since.Microseconds())
}

// forward is a time, or the last one where that is later: a reading with a long way here is behind the one before,
// and what a caller has accepted second is not to be due first. Where it is much later the clock has been set back.
func (r *reading) forward(t int64) int64 {
	if behind := r.last - t; behind <= 0 || behind >= readingHolds.Microseconds() {
		r.last = t
	}
	return r.last
}

// read notes what was asked for and answered at these times. One that was long under way, as when
// the process stood still, is old by now and not kept.
func (r *reading) read(theirs int64, asked, answered time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answered.Sub(asked) >= readingHolds {
		r.last = max(r.last, theirs)
		return
	}
	r.forward(theirs)
	r.theirs, r.at = theirs, answered
}

// Instant is the present within a statement, by the clock that counts, and its argument if it has one.
func (s *DB) Instant(now time.Time) (text string, args []any) {
	if !s.SharedClock() {
		return "?", []any{Micros(now)}
	}
	return "(" + s.Dialect.instant + ")", nil
}

// Now is the time on the clock that leases and limits go by.
func (s *DB) Now(ctx context.Context) (time.Time, error) {
	if !s.SharedClock() {
		return time.Now().UTC(), nil
	}
	us, _, err := First(s.Reads(ctx), Number, s.Dialect.clock)
	return TimeOf(us), s.Coded(err, "read the database's clock")
}
