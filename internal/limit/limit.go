package limit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Bound is one thing that is counted: its key and the windows that hold for it.
// Without windows it is unlimited, and nothing is kept of it.
type Bound struct {
	Key     string
	Windows []posthouse.Limit
	// Lease lets one process at a time hold the key, see Leased: what is sent under it is no more than one process can
	// send. Defaults to none.
	Lease bool
}

// Ask is one request of several: for up to Want permits of every bound.
type Ask struct {
	Bounds []Bound
	Want   int
}

// Grant is the answer to a request for permits.
type Grant struct {
	// N is how many permits were granted, from 0 to what was asked.
	N int
	// At is when, by the first bound that has windows, on the clock of the place that
	// keeps the state, in UTC. It is zero where no window applies.
	At time.Time
	// Wait is how long until at least one more permit comes free in every window of
	// every bound, if none is refunded and nobody else takes it. It is 0 where all that
	// was asked was granted.
	Wait time.Duration
	// Held is the window that holds the longest, and Key is the key it belongs to. Both
	// are zero where all that was asked was granted.
	Held posthouse.Limit
	Key  string
	// Stamps say when the permits were counted for each key, for Refund. It is nil where
	// nothing was counted.
	Stamps []Stamp

	first *Grant // what the Primary of a Fallback granted, nil where it was not asked
}

// Back are permits of a grant that were not used.
type Back struct {
	Grant Grant
	N     int
}

// Stamp is the moment that a grant counts at for one key. A key whose clock was set
// back counts at another moment than its neighbours.
type Stamp struct {
	Key string
	At  time.Time
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
// All bounds of a call are checked first and taken from after, in one atomic step: a
// request that one window of one bound refuses costs nothing in any other. No bounds,
// or none that has windows, means unlimited: all is granted and nothing kept. A window
// that cannot be kept and a key that is named twice are errors of code invalid, never
// unlimited.
type Limiter interface {
	// Take grants up to want permits of every bound, or says how long to wait.
	Take(ctx context.Context, bounds []Bound, want int) (Grant, error)
	// Each decides on many requests, in their order and in one atomic step where the place can do that: the grants are in
	// the order of the requests. What one was granted counts for the next.
	Each(ctx context.Context, asks []Ask) ([]Grant, error)
	// Refund gives back n permits of a grant that were not used, to all its keys and to
	// the moments they were counted at. Call it at most once for each permit. Permits that
	// were forgotten meanwhile are not given back.
	Refund(ctx context.Context, g Grant, n int) error
	// RefundEach gives back permits of several grants, in one step where the place can do that.
	RefundEach(ctx context.Context, list []Back) error
	// Peek takes nothing: N is how many permits are free now, and where that is 0,
	// Wait, Held and Key say which window holds and for how long.
	Peek(ctx context.Context, bounds []Bound) (Grant, error)
}

// Bounds of a window. A day is the longest that any provider we know of counts;
// the bounds keep every sum of counts and microseconds far from overflow.
const (
	maxMax = 1_000_000_000
	minPer = time.Millisecond
	maxPer = 366 * 24 * time.Hour
	// maxWindows bounds the list of one key, and maxBounds the keys of one call: a channel, an
	// account, a kind of content, a recipient, a template and a tenant are six.
	maxWindows = 16
	maxBounds  = 16
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
		if w.Burst < 0 || w.Burst > w.Max && w.Max > 0 {
			add(i, ".burst", "is %d, must be from 1 to max, which is %d; left out, all of them may start at once", w.Burst, w.Max)
		}
		if j := w.Jitter; j != nil && (*j < 0 || *j > w.Per) {
			add(i, ".jitter", "is %v, must be from 0s to the length of the window, which is %v", *j, w.Per)
		}
	}
	return problems
}

// kept checks the bounds of a call and returns those that have windows.
func kept(bounds []Bound) ([]Bound, error) {
	if len(bounds) > maxBounds {
		return nil, posthouse.Errorf(posthouse.CodeInvalid, "%d limits are to be kept at once, at most %d are allowed", len(bounds), maxBounds)
	}
	some := make([]Bound, 0, len(bounds))
	for i, b := range bounds {
		if problems := Check(b.Windows); problems != nil {
			return nil, posthouse.Invalid(fmt.Sprintf("the limits of %q cannot be kept", b.Key), problems)
		}
		if slices.ContainsFunc(bounds[:i], func(other Bound) bool { return other.Key == b.Key }) {
			return nil, posthouse.Errorf(posthouse.CodeInvalid, "the limits of %q are named twice in one call", b.Key)
		}
		if len(b.Windows) > 0 {
			some = append(some, b)
		}
	}
	return some, nil
}

// back bounds what a grant may be given back, and reports whether there is any.
func (g Grant) back(n int) (int, bool) {
	n = min(n, g.N)
	return n, n > 0 && len(g.Stamps) > 0
}

// Part is the part of a grant that some keys have counted, wherever that was.
func (g Grant) Part(is func(key string) bool) Grant {
	of := Grant{N: g.N, At: g.At}
	for _, s := range g.Stamps {
		if is(s.Key) {
			of.Stamps = append(of.Stamps, s)
		}
	}
	if g.first != nil {
		first := g.first.Part(is)
		of.first = &first
	}
	return of
}

// keys are the keys that the grant was counted for.
func (g Grant) keys() []string {
	keys := make([]string, len(g.Stamps))
	for i, s := range g.Stamps {
		keys[i] = s.Key
	}
	return keys
}

// keysOf are the keys of bounds.
func keysOf(bounds []Bound) []string {
	keys := make([]string, len(bounds))
	for i, b := range bounds {
		keys[i] = b.Key
	}
	return keys
}

// list names keys in an error.
func list(keys []string) string {
	quoted := make([]string, len(keys))
	for i, k := range keys {
		quoted[i] = strconv.Quote(k)
	}
	return strings.Join(quoted, ", ")
}
