package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

// pruner deletes what is settled and old, and contents that are to be forgotten.
type pruner struct {
	old            Old
	minutes        Minutes
	keep, keepLogs time.Duration
	life           *life.Life
	log            *slog.Logger
}

// pruneEvery is the time between two looks for old deliveries; pruneBatch bounds one transaction.
const (
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
)

// run deletes what is settled and older than Options.Keep, and lines of logs older than Options.KeepLogs, in
// small batches.
func (p *pruner) run(ctx context.Context) {
	for p.life.Pause(life.Spread(pruneEvery)) {
		if !p.pruneAll(ctx, "deliveries", p.keep, p.old.Prune) || !p.pruneAll(ctx, "lines of logs", p.keepLogs, p.old.PruneLogs) {
			return
		}
		if n, err := p.minutes.FoldMinutes(ctx, time.Now(), pruneBatch); err != nil {
			p.log.Warn("old counts of minutes cannot be added up", "error", err)
		} else if n > 0 {
			p.log.Info("old counts of minutes were added up by the hour", "rows", n)
		}
	}
}

// pruneAll deletes all that is old of one kind, and reports whether the engine goes on.
func (p *pruner) pruneAll(ctx context.Context, what string, keep time.Duration, some func(context.Context, time.Time, time.Duration, int) (int, error)) bool {
	if keep < 0 {
		return true
	}
	for total := 0; ; {
		n, err := some(ctx, time.Now(), keep, pruneBatch)
		if err != nil {
			p.log.Warn("what is old cannot be deleted", "what", what, "error", err)
			return true
		}
		if total += n; n < pruneBatch {
			if total > 0 {
				p.log.Info("what is old was deleted", "what", what, "number", total, "older_than", keep)
			}
			return true
		}
		if !p.life.Pause(50 * time.Millisecond) {
			return false
		}
	}
}

// forgetEvery is the time between two looks for contents whose time has come; forgetBatch bounds one transaction.
const (
	forgetEvery = 10 * time.Second
	forgetBatch = 1000
)

// forget deletes sealed contents whose time has come.
func (p *pruner) forget(ctx context.Context) {
	for p.life.Pause(life.Spread(forgetEvery)) {
		for n := forgetBatch; n == forgetBatch && !p.life.Stopped(); {
			var err error
			if n, err = p.old.Forget(ctx, time.Now(), forgetBatch); err != nil {
				p.log.Warn("sealed contents cannot be deleted now", "error", err)
			} else if n > 0 {
				p.log.Info("sealed contents deleted", "messages", n)
			}
		}
	}
}
