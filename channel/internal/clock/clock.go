// Package clock tells how far this machine's clock is from a provider's that refuses a signature for its time.
package clock

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Code is our own code of such a refusal: all deliveries of this process would have it.
const Code = "CLOCK_OFF"

// tolerated is how far two clocks may be apart before a provider minds.
const tolerated = 2 * time.Minute

// Off says how far this machine's clock is from the one by which a provider has answered, and what to do; it is empty where that is
// little, or the provider's answer does not tell its time.
func Off(r *channel.Reply, now time.Time) string {
	theirs, err := time.Parse(time.RFC1123, r.Header.Get("Date"))
	if err != nil {
		return ""
	}
	off, where := now.Sub(theirs), "ahead of"
	if off < 0 {
		off, where = -off, "behind"
	}
	if off < tolerated {
		return ""
	}
	return fmt.Sprintf("this machine's clock is %s %s its: set the clock, and keep it by NTP", posthouse.Duration(off.Round(time.Second)), where)
}
