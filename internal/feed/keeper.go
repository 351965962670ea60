package feed

import (
	"context"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse/internal/life"
)

// Journal is the store's feed, for those who keep it.
type Journal interface {
	// Look finds out whether the feed has a follower.
	Look(ctx context.Context) error
	// Sequence gives positions to what has none, and returns how many rows that were.
	Sequence(ctx context.Context, now time.Time) (int, error)
	// News holds a token where this process has written something.
	News() <-chan struct{}
	// PruneFeed deletes up to max rows older than keep.
	PruneFeed(ctx context.Context, now time.Time, keep time.Duration, max int) (int, error)
}

// DefaultKeep is how long the feed is kept.
const DefaultKeep = 72 * time.Hour

const (
	lookEvery  = time.Second
	pruneEvery = time.Minute
	pruneStep  = 2000
	// gather is how long what was written waits for more before it gets its position and is read, and gatherStream the same where
	// something was written a moment ago too: each round costs the same however much it finds.
	gather       = 20 * time.Millisecond
	gatherStream = 60 * time.Millisecond
)

// Keeper keeps the feed, as long as Run runs; every process runs one.
type Keeper struct {
	Journal Journal
	Log     *Log
	// Keep is how long events can be read again. Defaults to DefaultKeep.
	Keep   time.Duration
	Logger *slog.Logger
}

// Run keeps the feed until ctx ends.
func (k Keeper) Run(ctx context.Context) {
	if k.Keep == 0 {
		k.Keep = DefaultKeep
	}
	look, prune := time.NewTicker(life.Spread(lookEvery)), time.NewTicker(pruneEvery)
	defer look.Stop()
	defer prune.Stop()
	var last time.Time // when a round ended
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-k.Journal.News():
			pause(ctx, gatherFor(time.Since(last)))
			k.sequence(ctx)
			k.Log.Grow()
			last = time.Now()
		case <-look.C:
			k.said(ctx, "look who follows the feed", k.Journal.Look(ctx))
			if k.sequence(ctx) > 0 { // what a process that is gone has left
				k.Log.Grow()
			}
		case <-prune.C:
			k.prune(ctx)
		}
	}
}

// gatherFor is how long what was written waits for more, so long after the round before.
func gatherFor(since time.Duration) time.Duration {
	if since < gatherStream {
		return gatherStream
	}
	return gather
}

func (k Keeper) sequence(ctx context.Context) int {
	n, err := k.Journal.Sequence(ctx, time.Now())
	k.said(ctx, "order the feed", err)
	return n
}

func (k Keeper) prune(ctx context.Context) {
	for {
		n, err := k.Journal.PruneFeed(ctx, time.Now(), k.Keep, pruneStep)
		k.said(ctx, "prune the feed", err)
		if err != nil || n < pruneStep {
			return
		}
	}
}

func (k Keeper) said(ctx context.Context, doing string, err error) {
	if err != nil && ctx.Err() == nil {
		k.Logger.Warn("the feed of events cannot be kept now", "doing", doing, "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
