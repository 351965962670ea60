package server

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/work"
)

// openFeed makes what hands on what happens to deliveries.
func (s *Server) openFeed(ctx context.Context) error {
	s.events, s.poster = feed.NewLog(s.store.Feed), feed.NewPoster(s.network, s.keyring)
	return s.store.Feed.Look(ctx)
}

func (s *Server) keeper() feed.Keeper {
	return feed.Keeper{Journal: s.store.Feed, Log: s.events, Keep: cmp.Or(s.o.EventsKeep, feed.DefaultKeep), Logger: s.o.Log}
}

func (s *Server) follower() feed.Follower { return feed.Follower{Log: s.events, Demand: s.store.Feed} }

// Follow calls tell with what happens to deliveries, in order, of all processes and all tenants, until tell fails, ctx ends or
// the server stops, and returns why. It begins behind the event whose id after is, or now, where after is empty; whoever keeps the last
// id that was told goes on from there after a restart, and gets every event at least once, as long as Options.EventsKeep lasts. The
// first one ever to follow, by Go, webhook or stream, gets what happens from five seconds later on: until then processes do
// not write what nobody reads.
func (s *Server) Follow(ctx context.Context, after string, tell func(events []posthouse.FeedEvent) error) error {
	f := s.follower()
	from, _, err := f.Begin(ctx, after, time.Time{})
	if err != nil {
		return err
	}
	return f.Run(ctx, from, feed.Filter{Sight: work.SeeAll()}, func(list []work.FeedEvent, _ posthouse.FeedPosition) error {
		if len(list) == 0 {
			return nil
		}
		events := make([]posthouse.FeedEvent, len(list))
		for i := range list {
			events[i] = list[i].FeedEvent
		}
		return tell(events)
	})
}
