package house

import (
	"context"
	"errors"
	"testing"
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

// errStalled ends a wait for more of something where patience long nothing has come.
var errStalled = errors.New("nothing moves")

// waitMore waits for what comes bit by bit: patience begins anew whenever the count has changed.
func waitMore(ctx context.Context, look func() (count int64, done bool)) error {
	var last int64
	for {
		done := false
		err := waitFor(ctx, patience, func() bool {
			var n int64
			n, done = look()
			moved := n != last
			last = n
			return done || moved
		})
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return errStalled
		}
	}
}

// UntilMore waits until a count is as large as wanted, as long as it takes, but fails where it stands still.
func UntilMore(t testing.TB, what string, want int64, count func() int64) {
	t.Helper()
	n := int64(0)
	if err := waitMore(t.Context(), func() (int64, bool) { n = count(); return n, n >= want }); err != nil {
		t.Fatalf("waited for %s: %d of %d: %v", what, n, want, err)
	}
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
