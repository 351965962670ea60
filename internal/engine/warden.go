package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

// warden watches over what the process takes for granted: that the database is the one it was started with, and what
// time it is there.
type warden struct {
	epochs Epochs
	clock  func(ctx context.Context) (time.Time, error)
	life   *life.Life
	log    *slog.Logger
	every  time.Duration
}

// run looks now and then whether the database is still the one we started with, and at its clock.
func (w *warden) run(ctx context.Context) {
	for w.life.Pause(life.Spread(w.every)) {
		w.check(ctx)
		w.life.Set(ctx, w.clock)
	}
}

// check stops a process that outlived a restore of its database: what it knows of deliveries
// under way is from another history.
func (w *warden) check(ctx context.Context) {
	epoch, err := w.epochs.Epoch(ctx)
	if err != nil {
		return // Ready will say it
	}
	if epoch != w.life.Epoch() && w.life.Outlive() {
		w.log.Error("the database's epoch has changed: this process starts nothing more; restart it", "was", w.life.Epoch(), "now", epoch)
	}
}
