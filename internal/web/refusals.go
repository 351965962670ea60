package web

import (
	"log/slog"
	"sync"
	"time"
)

// Refusals logs what callers cause and can cause often: the first at once, the others as a number once a minute.
type Refusals struct {
	Log *slog.Logger
	// What is the line.
	What string

	mu     sync.Mutex
	since  time.Time
	hidden int
}

const refusalsEvery = time.Minute

// Note logs one, with what is known of it.
func (r *Refusals) Note(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.since) < refusalsEvery {
		r.hidden++
		return
	}
	r.Log.Warn(r.What, append(args, "not_logged_before", r.hidden)...)
	r.since, r.hidden = now, 0
}
