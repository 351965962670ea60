package limit

import (
	"sync"
	"time"
)

// Lines are those that wait for windows which have no room, by the key of their bound. A line of a million then comes at the
// pace of its window, and not all at each moment in which one may go. The zero Lines have nobody.
type Lines struct {
	mu   sync.Mutex
	last map[string]time.Time // when the last that waits comes
}

const (
	// early follows the key of those that came early.
	early = "\x00early"
	// lateness is added to the wait for a window: who comes a moment early would go behind all others.
	lateness = 2 * time.Millisecond
	// mostLines is how many lines are kept before those that are over are looked for.
	mostLines = 10_000
)

// Place is how long one that a grant has refused waits: until its window has room, behind those that wait for it already. What
// has waited in it comes early by little where the window filled later than was thought: it goes behind those alone that
// came early too.
func (l *Lines) Place(now time.Time, refused Grant, waited bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) >= mostLines {
		l.forget(now)
	}
	at, pace, line := now.Add(refused.Wait+lateness), refused.Held.Per.Std()/time.Duration(refused.Held.Max), refused.Key
	if waited && refused.Wait < pace {
		line += early
	}
	if last, waits := l.last[line]; waits && last.After(now) {
		if next := last.Add(pace); next.After(at) {
			at = next
		}
	}
	if l.last == nil {
		l.last = map[string]time.Time{}
	}
	l.last[line] = at
	return at.Sub(now)
}

// forget drops the lines that are over. The lines are locked.
func (l *Lines) forget(now time.Time) {
	for key, last := range l.last {
		if last.Before(now) {
			delete(l.last, key)
		}
	}
}
