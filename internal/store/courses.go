package store

import (
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/work"
)

// courses says for each lane whether a claim begins with the clean deliveries or with those that have a row of their own. A claim takes the
// earliest due of each kind, so the kind that is further behind begins, and neither waits for the other: what failed once for
// what comes without a pause, or what comes for a backlog of retries.
type courses struct {
	mu     sync.Mutex
	byLane map[work.Lane]*course
}

// course is how far the claims of a lane have come, of clean deliveries and of rows.
type course struct{ clean, rows kindOf }

// kindOf is when a claim last began with deliveries of a kind, and when the last was due that claims have taken while there may be more; the
// zero time where none was left.
type kindOf struct{ begun, due time.Time }

// courseEvery is how often at least a claim of a lane begins with each kind.
const courseEvery = 20 * time.Millisecond

// rowsFirst reports whether a claim begins with rows, and notes it.
func (c *courses) rowsFirst(lane work.Lane, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.of(lane)
	behind := !at.rows.due.IsZero() && (at.clean.due.IsZero() || at.rows.due.Before(at.clean.due))
	rows := behind && now.Sub(at.clean.begun).Abs() < courseEvery || now.Sub(at.rows.begun).Abs() >= courseEvery
	if rows {
		at.rows.begun = now
	} else {
		at.clean.begun = now
	}
	return rows
}

// took notes what a claim took of a kind, and whether that is all that it asked for, so that there may be more.
func (c *courses) took(lane work.Lane, rows bool, items []work.Item, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := time.Time{}
	if all && len(items) > 0 {
		due = items[len(items)-1].Delivery.DueAt
	}
	if at := c.of(lane); rows {
		at.rows.due = due
	} else {
		at.clean.due = due
	}
}

func (c *courses) of(lane work.Lane) *course {
	at := c.byLane[lane]
	if at == nil {
		if c.byLane == nil {
			c.byLane = map[work.Lane]*course{}
		}
		at = &course{}
		c.byLane[lane] = at
	}
	return at
}
