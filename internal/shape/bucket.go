// Package shape evens out what begins: a token bucket for each priority of a tenant.
//
// It is no limit of a provider, which package limit holds exactly over all processes. It is what an operator allows of a
// priority, so that a million messages of low priority take neither the database nor the channels from those of high.
//
// Tokens are paid when an attempt begins, and come back where nothing was sent. What finds no token stays in the queue as it
// is, in its order: nothing is written, nothing is dropped, and whatever is known of the wait follows from the bucket and from
// what stands before. Nothing here reads a clock or a database.
package shape

import (
	"time"

	"github.com/posthouse/posthouse"
)

// quantum is for how long the tokens are that a taker without any waits for: with too few, each would be a claim of its own.
const quantum = 10 * time.Millisecond

// patience is how late a taker may come for the tokens that it waits for.
const patience = time.Second

// bucket is a token bucket that several takers share. Who finds it empty is promised tokens, at a time behind all promises
// that were made before: so each has its turn.
type bucket struct {
	rate     float64 // tokens a second
	burst    float64
	tokens   float64 // below 0 by what is promised, or was taken in advance
	at       time.Time
	promises map[string]promise
}

// promise is what a taker will find, and when.
type promise struct {
	n  int
	at time.Time
}

func newBucket(of posthouse.Shape, now time.Time) *bucket {
	b := &bucket{at: now, promises: map[string]promise{}, rate: of.Rate, burst: max(1, of.Most())}
	b.tokens = b.burst
	return b
}

// fill adds what has come since it was looked at last.
func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = min(b.burst, b.tokens+b.rate*d.Seconds()), now
	}
	for who, p := range b.promises {
		if now.Sub(p.at) > patience {
			delete(b.promises, who)
			b.put(p.n)
		}
	}
}

// take takes up to want tokens. A call that cannot be cut takes whole of them at once, and those that lack in advance. Where
// there is none, next is when there will be some.
func (b *bucket) take(now time.Time, who string, want, whole int) (n int, next time.Time) {
	b.fill(now)
	if p, waits := b.promises[who]; waits {
		if now.Before(p.at) {
			return 0, p.at
		}
		delete(b.promises, who)
		n = min(p.n, want)
		b.put(p.n - n)
	}
	if b.tokens >= 1 && n < want {
		more := min(want-n, max(int(b.tokens), whole-n))
		b.tokens -= float64(more)
		n += more
	}
	if n > 0 {
		return n, now
	}
	n = min(want, max(1, whole, int(b.rate*quantum.Seconds())))
	lacks := 1 - b.tokens
	b.tokens -= float64(n)
	if whole <= 1 {
		lacks = -b.tokens
	}
	next = now.Add(wait(lacks, b.rate))
	b.promises[who] = promise{n, next}
	return 0, next
}

// put gives tokens back.
func (b *bucket) put(n int) { b.tokens = min(b.burst, b.tokens+float64(n)) }

// holds is how many tokens are there, and those that are promised are not.
func (b *bucket) holds(now time.Time) float64 {
	b.fill(now)
	return b.tokens
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
