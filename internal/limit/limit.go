package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// Grant is the answer to a request for permits.
type Grant struct {
	// N is how many permits were granted, from 0 to what was asked.
	N int
	// At is when, on the clock of the place that keeps the state, in UTC. It is
	// zero where no window applies.
	At time.Time
	// Wait is how long until at least one more permit comes free in every window,
	// if none is refunded and nobody else takes it. It is 0 where all that was asked was granted.
	Wait time.Duration
	// Held is the window that holds the longest, zero where all that was asked was granted.
	Held posthouse.Limit

	first *Grant // what the Primary of a Fallback granted, nil where it was not asked
}

// String says the grant for a log line or an explanation.
func (g Grant) String() string {
	if g.Held == (posthouse.Limit{}) {
		return fmt.Sprintf("%d granted", g.N)
	}
	return fmt.Sprintf("%d granted, next in %v: at most %d each %v", g.N, g.Wait, g.Held.Max, g.Held.Per)
}

// Limiter is what every place of this package can do; Fallback is built on it.
//
// An empty list of windows means unlimited: all is granted and nothing kept. A
// window that can not be kept is an error of code invalid, never unlimited.
type Limiter interface {
	// Take grants up to want permits of the key in all windows, or says how long to wait.
	Take(ctx context.Context, key string, windows []posthouse.Limit, want int) (Grant, error)
	// Refund gives back n permits of a grant that were not used, to the moment they
	// were taken at. Call it at most once for each permit. Permits that were
	// forgotten meanwhile are not given back.
	Refund(ctx context.Context, key string, g Grant, n int) error
	// Peek takes nothing: N is how many permits are free now, and where that is 0,
	// Wait and Held say which window holds and for how long.
	Peek(ctx context.Context, key string, windows []posthouse.Limit) (Grant, error)
}

// Bounds of a window. A day is the longest that any provider we know of counts;
// the bounds keep every sum of counts and microseconds far from overflow.
const (
	maxMax = 1_000_000_000
	minPer = time.Millisecond
	maxPer = 366 * 24 * time.Hour
	// maxWindows bounds the list of one key.
	maxWindows = 16
)

// Check finds what makes a list of windows impossible to keep. Paths are
// relative to the list: "[1].max".
func Check(windows []posthouse.Limit) []posthouse.Problem {
	var problems []posthouse.Problem
	add := func(i int, field, format string, args ...any) {
		path := fmt.Sprintf("[%d]%s", i, field)
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	for i, w := range windows {
		if i == maxWindows {
			add(i, "", "is one window too many, at most %d are allowed", maxWindows)
		}
		if w.Max < 1 || w.Max > maxMax {
			add(i, ".max", "is %d, must be from 1 to %d; no limit is an empty list", w.Max, maxMax)
		}
		if per := w.Per.Std(); per < minPer || per > maxPer {
			add(i, ".per", "is %v, must be from %v to %v", w.Per, minPer, posthouse.Duration(maxPer))
		}
	}
	return problems
}

// check is Check as an error that names the key.
func check(key string, windows []posthouse.Limit) error {
	if problems := Check(windows); problems != nil {
		return posthouse.Invalid(fmt.Sprintf("the limits of %q can not be kept", key), problems)
	}
	return nil
}
