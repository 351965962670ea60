package admission

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// process lets nothing begin in a process that stops, whose database was restored under it, or whose results cannot be written.
type process struct {
	silent
	c *Channel
}

func (s *process) scope() scope { return ofChannel }

// Free is Stage's.
func (s *process) Free(now time.Time, _ Of) (Room, time.Time) {
	switch {
	case s.c.of.Stale():
		return Room{}, time.Time{}
	case s.c.of.Stuck():
		return Room{}, now.Add(s.c.of.Again)
	}
	return everything, time.Time{}
}

func (s *process) closed(now time.Time) (string, time.Time) {
	switch {
	case s.c.of.Stale():
		return "the database was restored or upgraded under this process", time.Time{}
	case s.c.of.Stuck():
		return "the database takes no results", now.Add(s.c.of.Again)
	}
	return "", time.Time{}
}

// Why is Stage's.
func (s *process) Why(time.Time, *Question) []Wait {
	if s.c.of.Stale() {
		return []Wait{{Cause: "epoch", Detail: "the database was restored or upgraded under this process: restart it"}}
	}
	return nil
}

// paused lets nothing begin on a channel that a person has paused.
type paused struct {
	silent
	c *Channel
}

func (s *paused) scope() scope { return ofChannel }

// Free is Stage's.
func (s *paused) Free(now time.Time, _ Of) (Room, time.Time) {
	if s.c.Stored.PausedAt(now) {
		return Room{}, s.c.Stored.PausedUntil
	}
	return everything, time.Time{}
}

func (s *paused) closed(now time.Time) (string, time.Time) {
	if !s.c.Stored.PausedAt(now) {
		return "", time.Time{}
	}
	return withReason("the channel "+s.c.Key.Channel+" is paused", s.c.Stored.PauseReason), s.c.Stored.PausedUntil
}

// Why is Stage's.
func (s *paused) Why(now time.Time, _ *Question) []Wait {
	ch := &s.c.Stored
	if !ch.PausedAt(now) {
		return nil
	}
	why := ", and goes on by itself"
	switch {
	case ch.PauseReason != "":
		why = ": " + ch.PauseReason
	case ch.PausedUntil.IsZero():
		why = " until somebody resumes it"
	}
	return []Wait{{"paused", "the channel is paused" + why, ch.PausedUntil}}
}

// period lets nothing begin between two runs of a channel that sends in runs.
type period struct {
	silent
	c    *Channel
	next time.Time
}

func (s *period) scope() scope { return ofChannel }

// Free is Stage's.
func (s *period) Free(now time.Time, _ Of) (Room, time.Time) {
	if now.Before(s.next) {
		return Room{}, s.next
	}
	return everything, time.Time{}
}

// Why is Stage's.
func (s *period) Why(now time.Time, _ *Question) []Wait {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if !now.Before(s.next) {
		return nil
	}
	return []Wait{{"run", fmt.Sprintf("%s sends every %s", s.c.Settings.Job, posthouse.Duration(s.c.Settings.Every)), s.next}}
}
