package retry

import (
	"math"
	"time"
)

// MaxAfter caps the wait that a provider may ask for. A provider that means a
// longer one, such as a quota until the end of the month, is asked once a day.
const MaxAfter = 24 * time.Hour

// DefaultJitter is the share by which waits are spread unless a channel says
// otherwise.
const DefaultJitter = 0.2

// Schedule says how long to wait after the first, second, … failure: by Steps,
// or where there are none by Base, which grows by Factor up to Max. The zero
// Schedule never waits.
type Schedule struct {
	// Steps are the waits in order; the last one repeats.
	Steps []time.Duration
	// Base is the wait after the first failure.
	Base time.Duration
	// Factor multiplies the wait from one failure to the next. Defaults to 1.
	Factor float64
	// Max bounds the wait. Defaults to no bound.
	Max time.Duration
	// Jitter spreads each wait upwards by up to this share of it. Only upwards:
	// a wait that may shrink to nothing is no wait.
	Jitter float64
}

// Backoff is the wait after so many failures, counted from 1, without jitter.
func (s Schedule) Backoff(failures int) time.Duration {
	n := max(failures, 1) - 1
	if len(s.Steps) > 0 {
		return s.Steps[min(n, len(s.Steps)-1)]
	}
	wait := float64(s.Base) * math.Pow(max(s.Factor, 1), float64(n))
	if s.Max > 0 {
		wait = min(wait, float64(s.Max))
	}
	return saturate(wait)
}

// Next is the wait before the next try: the backoff, spread by rnd (a random
// number in [0, 1)) over [backoff, backoff × (1+Jitter)], or the provider's own
// wait where that is longer. After is 0 where the provider named none; it is
// capped at MaxAfter.
func (s Schedule) Next(failures int, after time.Duration, rnd float64) time.Duration {
	wait := float64(s.Backoff(failures))
	wait += wait * max(s.Jitter, 0) * min(max(rnd, 0), 1)
	return max(saturate(wait), min(after, MaxAfter), 0)
}

// saturate is a number of nanoseconds as a duration, the longest one where it
// would overflow.
func saturate(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Probe is how an account that refused us is tried again: after first, doubling
// up to most. They default to 5 minutes and 1 hour.
func Probe(first, most time.Duration) Schedule {
	if most <= 0 {
		most = max(time.Hour, first)
	}
	if first <= 0 {
		first = min(5*time.Minute, most)
	}
	return Schedule{Base: first, Factor: 2, Max: most, Jitter: DefaultJitter}
}
