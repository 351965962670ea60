package admission

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// quantum is for how long the tokens are that a taker without any waits for: with too few, each would be a claim of its own.
const quantum = 10 * time.Millisecond

// patience is how long one that waits may stay away before it has lost its turn.
const patience = time.Second

// lookAgain is how often one that waits looks again: a claim for many recipients takes their tokens in advance, and gives back those of
// what it has not found.
const lookAgain = patience / 10

// bucket is a token bucket that several takers share. Who finds it empty waits in a line, and is told when those before it and
// it will have had theirs. What was taken in advance and comes back lets all of them go earlier: who looks again is given it.
type bucket struct {
	rate   float64 // tokens a second
	burst  float64
	tokens float64 // below 0 by what was taken in advance
	at     time.Time
	line   []waiter
}

// waiter is one in the line, and what it is to have; by then it has asked again, or lost its turn.
type waiter struct {
	who string
	n   int
	by  time.Time
}

func newBucket(of posthouse.Shape, now time.Time) *bucket {
	b := &bucket{at: now, rate: of.Rate, burst: max(1, of.Most())}
	b.tokens = b.burst
	return b
}

// fill adds what has come since it was looked at last. What is promised is kept beside a burst.
func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = b.tokens+b.rate*d.Seconds(), now
	}
	b.line = slices.DeleteFunc(b.line, func(w waiter) bool { return now.After(w.by) })
	b.put(0)
}

// take takes up to want tokens. A call that cannot be cut takes whole of them at once, and those that lack in advance. Where
// there is none, next is when there will be some.
func (b *bucket) take(now time.Time, who string, want, whole int) (n int, next time.Time) {
	b.fill(now)
	lot := min(want, max(1, whole, int(b.rate*quantum.Seconds())))
	place := slices.IndexFunc(b.line, func(w waiter) bool { return w.who == who })
	waits := place >= 0
	if waits {
		lot = min(lot, b.line[place].n)
	} else {
		place = len(b.line)
	}
	free, need := b.tokens-promised(b.line[:place]), float64(lot)
	if whole > 1 {
		need = 1
	}
	switch {
	case waits && free >= need: // its own, and what nobody waits for
		n = min(want, lot+max(0, int(b.tokens-promised(b.line))))
		b.line = slices.Delete(b.line, place, place+1)
	case !waits && free >= 1:
		n = min(want, max(int(free), whole))
	default:
		next = now.Add(wait(need-free, b.rate))
		if w := (waiter{who, lot, now.Add(patience)}); waits {
			b.line[place] = w
		} else {
			b.line = append(b.line, w)
		}
		return 0, next
	}
	b.tokens -= float64(n)
	return n, now
}

func promised(line []waiter) (n float64) {
	for _, w := range line {
		n += float64(w.n)
	}
	return n
}

// put gives tokens back.
func (b *bucket) put(n int) { b.tokens = min(b.burst+promised(b.line), b.tokens+float64(n)) }

// holds is how many tokens are there, and those that are promised are not.
func (b *bucket) holds(now time.Time) float64 {
	b.fill(now)
	return b.tokens - promised(b.line)
}

// wait is how long so many tokens take, rounded up: a moment earlier there would be one too few.
func wait(tokens, rate float64) time.Duration {
	seconds := tokens / rate
	if seconds > longest.Seconds() {
		return longest
	}
	return max(0, time.Duration(seconds*float64(time.Second))) + time.Microsecond
}

// longest bounds a wait, for rates that are nearly nothing.
const longest = 30 * 24 * time.Hour
