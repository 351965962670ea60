package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// FeedRow is one row of the feed: deliveries that reached a version in one transaction, or, with version 0 or less, ids of what stands in a
// table of its own.
type FeedRow struct {
	Pos        int64
	Version    int64
	At         time.Time
	Deliveries []string
}

// FeedEvent is an event with its place in the feed.
type FeedEvent struct {
	Pos posthouse.FeedPosition
	posthouse.FeedEvent
}

// Told is what a provider told by itself, or a process has seen of a budget, but for its place in the feed.
type Told struct {
	// ID is the same where it is told again: plain letters and digits, up to 64.
	ID string
	posthouse.FeedEvent
}
