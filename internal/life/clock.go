package life

import (
	"context"
	"sync/atomic"
	"time"
)

// clockSlack is how far this machine's clock may be from the database's before we go by the latter's.
const clockSlack = time.Second

// Clock tells the time as the database does, which all processes share: so it does not matter which of
// them is asked whether a deadline has passed, or whose day of duty it is. What lasts, such as a lease,
// is measured by this machine alone.
type Clock struct {
	ahead atomic.Int64 // how far the database's clock is before ours, in nanoseconds
}

// Now is the time on the database's clock, as far as this process knows it.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Set compares the clocks. Without an answer all stays as it was.
func (c *Clock) Set(ctx context.Context, read func(ctx context.Context) (time.Time, error)) {
	asked := time.Now()
	theirs, err := read(ctx)
	if err != nil {
		return
	}
	half := time.Since(asked) / 2
	ahead := theirs.Sub(asked.Add(half))
	switch known := time.Duration(c.ahead.Load()); {
	case half > clockSlack/2 && (ahead-known).Abs() < clockSlack+half:
		return // all but clockSlack of the difference can be the way: this process may have stood still on it
	case ahead.Abs() < clockSlack:
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
}
