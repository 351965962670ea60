package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// FeedRow is one row of the feed: deliveries that reached a version in one transaction.
type FeedRow struct {
	Pos        int64
	Version    int64
	At         time.Time
	Deliveries []string
}

// FeedEvent is an event with its place in the feed.
type FeedEvent struct {
	Pos posthouse.FeedPosition
	posthouse.StatusEvent
}
