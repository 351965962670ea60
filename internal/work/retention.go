package work

import (
	"cmp"
	"math"
	"time"
)

// Forever is the retention of what is never deleted.
const Forever time.Duration = math.MaxInt64

// Retention is how long settled deliveries are kept: Sent those that were sent or delivered, Other those that were not.
type Retention struct{ Sent, Other time.Duration }

// KeepAll is one retention for all.
func KeepAll(d time.Duration) Retention { return Retention{Sent: d, Other: d} }

// RetentionOf is the retention of settings, by which a negative one is for ever, and none for what was sent is that of all others.
func RetentionOf(keep, keepSent time.Duration) Retention {
	if keep < 0 {
		keep = Forever
	}
	if keepSent < 0 {
		keepSent = Forever
	}
	return Retention{Sent: cmp.Or(keepSent, keep), Other: keep}
}

// Longest is how long the one is kept that is kept longer.
func (r Retention) Longest() time.Duration { return max(r.Sent, r.Other) }
