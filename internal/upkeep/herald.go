package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/work"
)

// Processes are those that work on the database.
type Processes interface {
	// Beat notes a process, and counts those that send and were noted within a time, this one among them where it does.
	Beat(ctx context.Context, now time.Time, within time.Duration, p work.Process) (senders int, err error)
	Leave(ctx context.Context, id string) error
	Forget(ctx context.Context, now time.Time) error
}

// Herald says that this process is there, so that people see which work on the database. What follows from it is how often each looks
// for work, and nothing else.
type Herald struct {
	Store   Processes
	Process work.Process
	// Untrusted reports whether requests came by a proxy that is not trusted. Defaults to no.
	Untrusted func() bool
	// Share is told how many processes send. Defaults to nobody.
	Share func(n int)
	Log   *slog.Logger
}

const (
	beatEvery   = 15 * time.Second
	beatsForget = 240 // beats between two looks for processes that are long gone: an hour
	leaveWithin = time.Second
)

// Silent is how long a process says nothing before it counts as gone: some beats that were late or lost are none.
const Silent = time.Minute

// Run says it until ctx ends, and then that it is no longer so.
func (h *Herald) Run(ctx context.Context) {
	for n := 0; ; n++ {
		h.beat(ctx, n)
		select {
		case <-ctx.Done():
			h.leave()
			return
		case <-time.After(life.Spread(beatEvery)):
		}
	}
}

func (h *Herald) beat(ctx context.Context, n int) {
	p := h.Process
	p.Untrusted = h.Untrusted != nil && h.Untrusted()
	senders, err := h.Store.Beat(ctx, time.Now(), Silent, p)
	if err == nil && h.Share != nil {
		h.Share(senders)
	}
	if err == nil && n%beatsForget == 0 {
		err = h.Store.Forget(ctx, time.Now())
	}
	if err != nil && ctx.Err() == nil {
		h.Log.Warn("this process cannot be noted in the database: for others it looks gone", "error", err)
	}
}

// leave forgets the process. Where the database is away it is seen that it said nothing more.
func (h *Herald) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	if err := h.Store.Leave(ctx, h.Process.ID); err != nil {
		h.Log.Debug("the end of this process could not be noted", "error", err)
	}
}
