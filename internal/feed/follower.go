package feed

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Demand keeps the feed written.
type Demand interface {
	// Want keeps it written for a while, and returns since when that holds without a gap.
	Want(ctx context.Context, now time.Time, lasts time.Duration) (since time.Time, err error)
}

// A follower wants the feed for wantFor, and says so again every wantEvery. What was not followed meanwhile is still there for
// one that comes back in between.
const (
	wantFor   = 15 * time.Minute
	wantEvery = time.Minute
)

// Follower follows the feed.
type Follower struct {
	Log    *Log
	Demand Demand
}

// Begin has the feed written from now on, and finds where to begin, as Log.Position. Where nobody has followed before, since is
// when the first events come.
func (f Follower) Begin(ctx context.Context, id string, at time.Time) (from posthouse.FeedPosition, since time.Time, err error) {
	if since, err = f.Demand.Want(ctx, time.Now(), wantFor); err != nil {
		return from, since, err
	}
	from, err = f.Log.Position(ctx, id, at)
	return from, since, err
}

// Run calls each with the events behind a position that a filter wants, and with none now and then, until it fails or ctx ends.
// next is the position behind them.
func (f Follower) Run(ctx context.Context, from posthouse.FeedPosition, filter Filter, each func(list []work.FeedEvent, next posthouse.FeedPosition) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go f.want(ctx)
	for {
		list, next, err := f.Log.Next(ctx, from)
		if err != nil {
			return err
		}
		if err := each(filter.of(list), next); err != nil {
			return err
		}
		from = next
	}
}

func (f Follower) want(ctx context.Context) {
	tick := time.NewTicker(wantEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = f.Demand.Want(ctx, time.Now(), wantFor) // a minute later again: it lasts for many
		case <-ctx.Done():
			return
		}
	}
}

// of are the events that pass. The list itself is shared.
func (f *Filter) of(list []work.FeedEvent) []work.FeedEvent {
	for i := range list {
		if f.Wants(&list[i].FeedEvent) {
			continue
		}
		kept := append([]work.FeedEvent(nil), list[:i]...)
		for j := i + 1; j < len(list); j++ {
			if f.Wants(&list[j].FeedEvent) {
				kept = append(kept, list[j])
			}
		}
		return kept
	}
	return list
}
