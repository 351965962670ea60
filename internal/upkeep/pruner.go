package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// Old is what goes for good when its time has come.
type Old interface {
	Prune(ctx context.Context, now time.Time, keep work.Retention, max int) (int, error)
	PruneLogs(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error)
	PruneCampaigns(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error)
	// SweepCampaigns deletes rows that are nobody's since their campaign or list was deleted.
	SweepCampaigns(ctx context.Context, now time.Time, max int) (int, error)
	Forget(ctx context.Context, now time.Time, max int) (int, error)
}

// Minutes are counts of attempts, and rates of accounts.
type Minutes interface {
	FoldMinutes(ctx context.Context, now time.Time, max int) (int, error)
	DropRates(ctx context.Context, now time.Time, max int) (int, error)
}

// Pruner deletes what is settled and old, and contents that are to be forgotten.
type Pruner struct {
	Old      Old
	Minutes  Minutes
	Keep     work.Retention
	KeepLogs time.Duration // negative for ever
	Life     *life.Life
	Log      *slog.Logger

	swept chan struct{} // capacity 1: a campaign or a list was deleted
}

// NewPruner completes a pruner.
func NewPruner(p Pruner) *Pruner {
	p.swept = make(chan struct{}, 1)
	return &p
}

// Sweep deletes soon what a deleted campaign or list has left: tens of thousands of rows, for which nobody waits.
func (p *Pruner) Sweep() {
	select {
	case p.swept <- struct{}{}:
	default:
	}
}

// Sweeping deletes what is to be swept in this process. What another one leaves behind Run finds.
func (p *Pruner) Sweeping(ctx context.Context) {
	for {
		select {
		case <-p.swept:
			p.pruneAll("rows of deleted campaigns and lists", func(max int) (int, error) { return p.Old.SweepCampaigns(ctx, time.Now(), max) })
		case <-p.Life.Stopping():
			return
		}
	}
}

// pruneEvery is the time between two looks for old deliveries; pruneBatch bounds one transaction.
const (
	pruneEvery = 10 * time.Minute
	pruneBatch = 1000
)

// Run deletes what is settled and older than Keep says, and lines of logs older than KeepLogs, in
// small batches.
func (p *Pruner) Run(ctx context.Context) {
	for p.Life.Pause(life.Spread(pruneEvery)) {
		on := p.pruneAll("deliveries", func(max int) (int, error) { return p.Old.Prune(ctx, time.Now(), p.Keep, max) })
		on = on && p.pruneAll("campaigns and what they were made of", func(max int) (int, error) {
			return p.Old.PruneCampaigns(ctx, time.Now(), p.Keep.Longest(), max)
		})
		if on && p.KeepLogs >= 0 {
			on = p.pruneAll("lines of logs", func(max int) (int, error) { return p.Old.PruneLogs(ctx, time.Now(), p.KeepLogs, max) })
		}
		on = on && p.pruneAll("rates of accounts", func(max int) (int, error) { return p.Minutes.DropRates(ctx, time.Now(), max) })
		if !on {
			return
		}
		if n, err := p.Minutes.FoldMinutes(ctx, time.Now(), pruneBatch); err != nil {
			p.Log.Warn("old counts of minutes cannot be added up", "error", err)
		} else if n > 0 {
			p.Log.Info("old counts of minutes were added up by the hour", "rows", n)
		}
	}
}

// pruneAll deletes all that is old of one kind, and reports whether the engine goes on.
func (p *Pruner) pruneAll(what string, some func(max int) (int, error)) bool {
	for total := 0; ; {
		n, err := some(pruneBatch)
		if err != nil {
			p.Log.Warn("what is old cannot be deleted", "what", what, "error", err)
			return true
		}
		if total += n; n < pruneBatch {
			if total > 0 {
				p.Log.Info("what is old was deleted", "what", what, "number", total)
			}
			return true
		}
		if !p.Life.Pause(50 * time.Millisecond) {
			return false
		}
	}
}

// forgetEvery is the time between two looks for contents whose time has come; forgetBatch bounds one transaction.
const (
	forgetEvery = 10 * time.Second
	forgetBatch = 1000
)

// Forget deletes sealed contents whose time has come.
func (p *Pruner) Forget(ctx context.Context) {
	for p.Life.Pause(life.Spread(forgetEvery)) {
		for n := forgetBatch; n == forgetBatch && !p.Life.Stopped(); {
			var err error
			if n, err = p.Old.Forget(ctx, time.Now(), forgetBatch); err != nil {
				p.Log.Warn("sealed contents cannot be deleted now", "error", err)
			} else if n > 0 {
				p.Log.Info("sealed contents deleted", "messages", n)
			}
		}
	}
}
