package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

// Epochs tells whether the database is still the one this process was started with.
type Epochs interface {
	Epoch(ctx context.Context) (int64, error)
}

// Warden watches over what the process takes for granted: that the database is the one it was started with, and what
// time it is there.
type Warden struct {
	Epochs Epochs
	Clock  func(ctx context.Context) (time.Time, error)
	Life   *life.Life
	Log    *slog.Logger
	Every  time.Duration
}

// Run looks now and then whether the database is still the one we started with, and at its clock.
func (w *Warden) Run(ctx context.Context) {
	for w.Life.Pause(life.Spread(w.Every)) {
		w.check(ctx)
		w.Life.Set(ctx, w.Clock)
	}
}

// check stops a process that outlived a restore of its database: what it knows of deliveries
// under way is from another history.
func (w *Warden) check(ctx context.Context) {
	epoch, err := w.Epochs.Epoch(ctx)
	if err != nil {
		return // Ready will say it
	}
	if epoch != w.Life.Epoch() && w.Life.Outlive() {
		w.Log.Error("the database's epoch has changed: this process starts nothing more; restart it", "was", w.Life.Epoch(), "now", epoch)
	}
}
