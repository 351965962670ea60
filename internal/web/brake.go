package web

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// brake slows down who guesses keys: after too many failures within a minute it asks to wait. It
// counts by key id or user, and address, so that who guesses does not lock out the owner elsewhere; and it
// counts what differs, so that a phone that was told a wrong password does not lock out those beside it.
type brake struct {
	mu    sync.Mutex
	tries map[suspect]failures
}

type suspect struct{ id, ip string }

type failures struct {
	marks []mark // of what was shown, each once
	since time.Time
}

// mark tells what somebody showed from other things, without being it.
type mark = [sha256.Size]byte

const (
	brakeAfter  = 10
	brakeWindow = time.Minute
	// maxSuspects bounds the memory: about 5 MB.
	maxSuspects = 10_000
)

func newBrake() *brake { return &brake{tries: map[suspect]failures{}} }

// wait is how long a suspect has to wait, 0 for one who may try.
func (b *brake) wait(s suspect, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.tries[s]
	if len(f.marks) < brakeAfter {
		return 0
	}
	return max(f.since.Add(brakeWindow).Sub(now), 0)
}

// failed counts a failure.
func (b *brake) failed(s suspect, shown mark, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.tries[s]
	if now.Sub(f.since) >= brakeWindow {
		f = failures{since: now}
	}
	if !slices.Contains(f.marks, shown) && len(f.marks) < brakeAfter {
		f.marks = append(f.marks, shown)
	}
	if len(b.tries) >= maxSuspects {
		b.forget(now)
	}
	b.tries[s] = f
}

// forget makes room: what is over goes, and where that is nothing, a tenth of the rest.
func (b *brake) forget(now time.Time) {
	for s, f := range b.tries {
		if now.Sub(f.since) >= brakeWindow {
			delete(b.tries, s)
		}
	}
	for s := range b.tries {
		if len(b.tries) <= maxSuspects*9/10 {
			return
		}
		delete(b.tries, s)
	}
}
