package engine

import (
	"context"
	"time"
)

// pruneEvery is the time between two looks for old deliveries; pruneBatch bounds one transaction.
const (
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
)

// prune deletes what is settled and older than Options.Keep, and lines of logs older than Options.KeepLogs, in
// small batches.
func (e *Engine) prune(ctx context.Context) {
	for e.pause(spread(pruneEvery)) {
		if !e.pruneAll(ctx, "deliveries", e.o.Keep, e.o.Store.Prune) || !e.pruneAll(ctx, "lines of logs", e.o.KeepLogs, e.o.Store.PruneLogs) {
			return
		}
	}
}

// pruneAll deletes all that is old of one kind, and reports whether the engine goes on.
func (e *Engine) pruneAll(ctx context.Context, what string, keep time.Duration, some func(context.Context, time.Time, time.Duration, int) (int, error)) bool {
	if keep < 0 {
		return true
	}
	for total := 0; ; {
		n, err := some(ctx, time.Now(), keep, pruneBatch)
		if err != nil {
			e.log.Warn("what is old can not be deleted", "what", what, "error", err)
			return true
		}
		if total += n; n < pruneBatch {
			if total > 0 {
				e.log.Info("what is old was deleted", "what", what, "number", total, "older_than", keep)
			}
			return true
		}
		if !e.pause(50 * time.Millisecond) {
			return false
		}
	}
}
