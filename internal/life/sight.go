package life

import "time"

// A sweep for what is overdue begins sightSlack before the last one, for what was written with a time that had passed already.
// From the beginning it goes every SightEvery, or up to every sightMost where that took more than one in sightShare
// of the time.
const (
	sightSlack = 5 * time.Second
	// SightEvery is how often a sweep begins at the beginning at most.
	SightEvery = 10 * time.Second
	sightMost  = time.Minute
	sightShare = 20
)

// Sight is from when on anything of a kind can be overdue. A database that keeps old versions of rows for an open
// transaction, a backup for one, keeps their index entries too, and a sweep from the beginning walks over
// every lease there has been since.
type Sight struct {
	from time.Time
	full time.Time // when the next sweep from the beginning is due
}

// Begin is the time a sweep begins at, zero for the beginning.
func (s *Sight) Begin() time.Time {
	if time.Now().Before(s.full) {
		return s.from
	}
	return time.Time{}
}

// End notes a sweep that began at since and handled all that was overdue at now but what was left, the first of it at
// left.
func (s *Sight) End(since, now, left time.Time, took time.Duration) {
	if since.IsZero() {
		s.full = time.Now().Add(min(max(SightEvery, sightShare*took), sightMost))
	}
	s.from = now.Add(-sightSlack)
	if !left.IsZero() && left.Before(s.from) {
		s.from = left
	}
}
