package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// pruner deletes what is settled and old, and contents that are to be forgotten.
type pruner struct {
	old      Old
	minutes  Minutes
	keep     work.Retention
	keepLogs time.Duration // negative for ever
	life     *life.Life
	log      *slog.Logger
}

// pruneEvery is the time between two looks for old deliveries; pruneBatch bounds one transaction.
const (
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
)

// run deletes what is settled and older than Options.Keep and KeepSent, and lines of logs older than Options.KeepLogs, in
// small batches.
func (p *pruner) run(ctx context.Context) {
	for p.life.Pause(life.Spread(pruneEvery)) {
		on := p.pruneAll("deliveries", func(max int) (int, error) { return p.old.Prune(ctx, time.Now(), p.keep, max) })
		if on && p.keepLogs >= 0 {
			on = p.pruneAll("lines of logs", func(max int) (int, error) { return p.old.PruneLogs(ctx, time.Now(), p.keepLogs, max) })
		}
		if !on {
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
func (p *pruner) pruneAll(what string, some func(max int) (int, error)) bool {
	for total := 0; ; {
		n, err := some(pruneBatch)
		if err != nil {
			p.log.Warn("what is old cannot be deleted", "what", what, "error", err)
			return true
		}
		if total += n; n < pruneBatch {
			if total > 0 {
				p.log.Info("what is old was deleted", "what", what, "number", total)
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
