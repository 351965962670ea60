package suppress

import (
	"context"
	"log/slog"
	"time"
)

// pruneEvery is the time between two looks for suppressions whose time is over, and pruneBatch how many one transaction deletes.
const (
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
)

// Run deletes suppressions whose time is over, until ctx ends.
func (l *List) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		for n := pruneBatch; n == pruneBatch && ctx.Err() == nil; {
			var err error
			if n, err = l.store.PruneSuppressions(ctx, time.Now(), pruneBatch); err != nil && ctx.Err() == nil {
				log.Warn("suppressions whose time is over cannot be deleted now", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
