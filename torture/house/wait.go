package house

import (
	"context"
	"time"
)

// patience is how long a test waits for what must come: a busy machine is slow, and a test that
// has waited in vain fails however long it waited.
const patience = 2 * time.Minute

func waitFor(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Pause lets time pass that a fault lasts: how long a link is cut, or a process stands still.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
