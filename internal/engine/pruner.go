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

// prune deletes what is settled and older than Options.Keep, in small batches.
func (e *Engine) prune(ctx context.Context) {
	for e.pause(spread(pruneEvery)) {
		if e.o.Keep < 0 {
			continue
		}
		for total := 0; ; {
			n, err := e.o.Store.Prune(ctx, time.Now(), e.o.Keep, pruneBatch)
			if err != nil {
				e.log.Warn("old deliveries can not be deleted", "error", err)
				break
			}
			if total += n; n < pruneBatch {
				if total > 0 {
					e.log.Info("old deliveries deleted", "deliveries", total, "older_than", e.o.Keep)
				}
				break
			}
			if !e.pause(50 * time.Millisecond) {
				return
			}
		}
	}
}
