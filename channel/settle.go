package channel

import (
	"time"

	"github.com/posthouse/posthouse"
)

// leastTimeout bounds a call where neither the channel nor its driver names a bound.
const leastTimeout = 10 * time.Second

// Pulled reports whether agents fetch the deliveries of a channel with this driver and these settings.
func (t Type) Pulled(s posthouse.ChannelSettings) bool { return s.Pull || t.Pull }

// CallTimeout is how long one call of the driver may take. A channel's own time-out counts before the driver's, which
// is 10s at least; where agents fetch, it is how long they may hold something, and says nothing about calls.
func (t Type) CallTimeout(s posthouse.ChannelSettings) time.Duration {
	if s.Timeout != 0 && !t.Pulled(s) {
		return s.Timeout.Std()
	}
	return max(t.Timeout, leastTimeout)
}
