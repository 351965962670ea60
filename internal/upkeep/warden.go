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
	// Outgrown says in what way the database was upgraded for newer programs than this one, and nothing where it was not. Defaults to never.
	Outgrown func(ctx context.Context) (string, error)
	Clock    func(ctx context.Context) (time.Time, error)
	Life     *life.Life
	Log      *slog.Logger
	Every    time.Duration
}

// Run looks now and then whether the database is still the one we started with and made for us, and at its clock.
func (w *Warden) Run(ctx context.Context) {
	for w.Life.Pause(life.Spread(w.Every)) {
		w.check(ctx)
		w.suit(ctx)
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

// suit stops a process that outlived an upgrade of its database: it would write what newer ones cannot read.
func (w *Warden) suit(ctx context.Context) {
	if w.Outgrown == nil {
		return
	}
	if why, err := w.Outgrown(ctx); err == nil && why != "" && w.Life.Outdate() {
		w.Log.Error("the database was upgraded for newer programs: this process accepts and starts nothing more; start a newer one in its place", "why", why)
	}
}
