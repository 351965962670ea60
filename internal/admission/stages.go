package admission

import (
	"time"

	"github.com/posthouse/posthouse/internal/rate"
)

// stages are the bounds of a channel, in the order in which a delivery meets them. Nothing else decides what may begin, and so nothing
// else explains why something does not.
func stages(c *Channel) []Stage {
	slots, calls := c.Settings.ChannelInflight, c.of.Senders
	spent := &budgets{c: c, spent: make([]outlay, c.places())}
	return []Stage{
		&process{c: c},                 // the process: stopping, or its database is another or takes no results
		&paused{c: c},                  // a person has paused the channel
		&period{c: c},                  // it sends in runs
		&care{counter: count(1), c: c}, // whether the database takes results is found out by one
		&channelSlots{counter: count(1), c: c, most: slots}, // channel_max_inflight
		&channelCalls{atOnce: learning(1), c: c},            // what the provider bears at once of the corporation
		&senders{c: c, pool: calls},                         // calls of this process

		&shaping{c: c, shaper: c.of.Shaper}, // shapes
		&headroom{counter: count(1), c: c},  // slots that low priority leaves to what is above it
		&budget{of: spent},                  // the budget of the channel, and what of it is kept for high priority

		&opened{c: c}, // an account's config, and whether a person has paused it
		&gates{c: c},  // its provider refuses it
		spent,         // budgets of a day or a month
		&windows{c: c, held: make([]time.Time, c.places())},                                      // limits
		&probing{counter: count(c.places()), c: c},                                               // it is tried again by one at a time
		&rates{counter: count(c.places()), c: c, paces: make([]*rate.Pace, c.places()), time: 1}, // the learned rate
		&accountCalls{atOnce: learning(c.places()), c: c},                                        // what the provider bears at once of the account
		&accountSlots{counter: count(c.places()), c: c},                                          // max_inflight
	}
}
