package admission

import (
	"cmp"
	"fmt"
	"time"
)

// opened lets nothing begin by an account that cannot be opened or that a person has paused.
type opened struct {
	silent
	c *Channel
}

func (s *opened) scope() scope { return ofAccount }

// never is when an account may send that waits for a person.
var never = time.Unix(1<<40, 0)

func (s *opened) shut(now time.Time, a *Account) time.Time {
	switch {
	case a.is == nil || a.is.Err == nil && !a.is.PausedAt(now):
		return time.Time{}
	case a.is.Err != nil || a.is.PausedUntil.IsZero():
		return never
	}
	return a.is.PausedUntil
}

func (s *opened) shutBy(a *Account, name string) string {
	if a.is.Err != nil {
		return name + " cannot be opened: " + a.is.Err.Error()
	}
	return withReason(name+" is paused", a.is.PauseReason)
}

// Free is Stage's.
func (s *opened) Free(now time.Time, of Of) (Room, time.Time) {
	return open(now, s.shut(now, of.Account))
}

// open is the room of a stage that is shut until a time.
func open(now, until time.Time) (Room, time.Time) {
	if now.Before(until) {
		return Room{}, until
	}
	return everything, time.Time{}
}

// mostNamed bounds the accounts that one explanation looks at.
const mostNamed = 32

// Why is Stage's: no account of those that may send a delivery can, where no provider is the cause. They were removed, are paused, or
// cannot be opened.
func (s *opened) Why(now time.Time, q *Question) (out []Wait) {
	if s.c.accounts == nil {
		return nil
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	crew := s.c.crew(q.lane().Pin)
	switch d := q.Delivery; {
	case len(crew) > 0:
	case d.Pinned:
		return []Wait{{Cause: "account", Detail: fmt.Sprintf("its account %s was removed: set one of its name up again, let the channel fail over, or cancel it", d.Account)}}
	case d.Pool != "":
		return []Wait{{Cause: "account", Detail: fmt.Sprintf("no account is in its pool %s any more: put one into it, or cancel it", d.Pool)}}
	default:
		return []Wait{{Cause: "account", Detail: "the channel has no account yet"}}
	}
	for _, a := range crew {
		switch {
		case a.is.Err != nil:
			out = append(out, Wait{Cause: "account", Detail: fmt.Sprintf("the account %s cannot be opened: %v", a.Name, a.is.Err)})
		case a.is.PausedAt(now):
			out = append(out, Wait{"paused", fmt.Sprintf("the account %s is paused: %s", a.Name, cmp.Or(a.is.PauseReason, "somebody resumes it")), a.is.PausedUntil})
		default:
			return nil // it can go, or its provider says until when not
		}
	}
	return out[:min(len(out), mostNamed)]
}
