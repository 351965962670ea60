package admission

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

var midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func low(tenant string) ShapeKey { return ShapeKey{tenant, posthouse.Low} }

func shaped(s posthouse.Shape) *Shaper {
	return NewShaper(posthouse.Shapes{"*": {posthouse.Low: s}})
}

// FLEET-10: whatever several takers ask for and give back, no span of time sees more than its tokens and one burst; and as long
// as somebody asks, no token is lost.
func TestFLEET_10_NoSpanHasMoreThanItsTokensAndABurst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		of := posthouse.Shape{Rate: math.Exp(r.Float64()*8 - 1)}
		of.Burst = 1 + r.IntN(50) + int(of.Rate/100) // what comes while a taker does something else
		s, now := shaped(of), midnight
		names := []string{"a", "b", "c", "d"}[:1+r.IntN(4)]
		wake := map[string]time.Time{}
		var at []time.Time
		end := midnight.Add(20 * time.Second)
		for now.Before(end) {
			next := end
			for _, who := range names {
				if !now.Before(wake[who]) {
					n, until := s.Take(now, low("t"), who, 1+r.IntN(20), 1)
					back := 0
					if n > 1 && r.IntN(10) == 0 {
						back = r.IntN(n)
						s.Return(low("t"), back)
					}
					for range n - back {
						at = append(at, now)
					}
					wake[who] = until
					if n > 0 {
						wake[who] = now.Add(time.Duration(r.IntN(3000)) * time.Microsecond)
					}
				}
				if wake[who].Before(next) {
					next = wake[who]
				}
			}
			now = maxTime(next, now.Add(time.Microsecond))
		}
		// Tokens that are promised are kept for their taker for a while: a burst and a promise for each may come together.
		slack := float64(len(names))*max(1, of.Rate*quantum.Seconds()) + 1
		for i := 0; i < len(at); i += 1 + len(at)/50 {
			for j := i; j < len(at); j += 1 + len(at)/50 {
				if most := of.Rate*at[j].Sub(at[i]).Seconds() + of.Most() + slack; float64(j-i+1) > most {
					t.Fatalf("seed %d: %d began within %v, want at most %.1f at %.3g a second and %d at once", seed, j-i+1, at[j].Sub(at[i]), most, of.Rate, of.Burst)
				}
			}
		}
		if want := of.Rate*20 - slack - 1; float64(len(at)) < 0.9*want {
			t.Errorf("seed %d: %d began in 20 s, want nearly %.0f and %d at once", seed, len(at), want, of.Burst)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// FLEET-10: who finds no token has its turn behind those that came before, and nobody else's.
func TestFLEET_10_TakersHaveTheirTurns(t *testing.T) {
	t.Parallel()
	s, now := shaped(posthouse.Shape{Rate: 10, Burst: 1}), midnight
	if n, _ := s.Take(now, low("t"), "a", 5, 1); n != 1 {
		t.Fatalf("%d of a full bucket were given, want the one that it holds", n)
	}
	_, first := s.Take(now, low("t"), "a", 5, 1)
	_, second := s.Take(now, low("t"), "b", 5, 1)
	if got := first.Sub(now).Round(time.Millisecond); got != 100*time.Millisecond {
		t.Errorf("the first waits %v, want 100ms", got)
	}
	if got := second.Sub(now).Round(time.Millisecond); got != 200*time.Millisecond {
		t.Errorf("the second waits %v, want 200ms", got)
	}
	if n, again := s.Take(first, low("t"), "b", 5, 1); n != 0 || again.Sub(second).Abs() > time.Microsecond {
		t.Errorf("the second was given %d at the time of the first, and %v; want 0 and %v", n, again, second)
	}
	if n, _ := s.Take(second, low("t"), "b", 5, 1); n != 1 {
		t.Errorf("the second was given %d at its time, want 1", n)
	}
	if n, _ := s.Take(first.Add(patience+time.Millisecond), low("t"), "b", 5, 1); n != 1 {
		t.Errorf("%d of the tokens that nobody came for were given to others, want 1", n)
	}
	if n, _ := s.Take(now, low("another"), "c", 5, 1); n != 1 {
		t.Errorf("another tenant was given %d, want 1 of its own", n)
	}
}

// FLEET-10: a call that cannot be cut goes whole, and what it took in advance is made up for.
func TestFLEET_10_ABatchIsNotCut(t *testing.T) {
	t.Parallel()
	s, now := shaped(posthouse.Shape{Rate: 10, Burst: 5}), midnight
	if n, _ := s.Take(now, low("t"), "a", 200, 100); n != 100 {
		t.Errorf("%d were given, want a whole batch of 100", n)
	}
	n, next := s.Take(now, low("t"), "a", 200, 100)
	if got := next.Sub(now).Round(100 * time.Millisecond); n != 0 || got != 9600*time.Millisecond {
		t.Errorf("%d were given and the next in %v, want none for 9.6s", n, got)
	}
	if n, _ = s.Take(next, low("t"), "a", 200, 100); n != 100 {
		t.Errorf("%d were given then, want 100", n)
	}
}

// FLEET-10: what a claim took in advance and did not find is there for those that wait as soon as it is back, in their order.
func TestFLEET_10_WhatComesBackIsThereForThoseThatWait(t *testing.T) {
	t.Parallel()
	s, now := shaped(posthouse.Shape{Rate: 5, Burst: 5}), midnight
	ahead, _ := s.Take(now, low("t"), "a", 4096, 1000)
	if ahead != 1000 {
		t.Fatalf("%d were given, want a whole batch", ahead)
	}
	for _, who := range []string{"b", "c"} {
		if n, next := s.Take(now, low("t"), who, 20, 1); n != 0 || next.Sub(now) < 3*time.Minute {
			t.Fatalf("%s was given %d and has the next in %v, want none until the batch is made up for", who, n, next.Sub(now))
		}
	}
	s.Return(low("t"), ahead)
	now = now.Add(time.Millisecond)
	if n, _ := s.Take(now, low("t"), "c", 20, 1); n == 0 {
		t.Error("the second in the line was given none of five that are there, and one stands before it")
	}
	if n, _ := s.Take(now, low("t"), "b", 20, 1); n == 0 {
		t.Error("the first in the line was given none")
	}
	if n, _ := s.Take(now, low("t"), "d", 20, 1); n > 5 {
		t.Errorf("%d were given to one that came later, more than were there", n)
	}
	ahead, _ = s.Take(now.Add(time.Second), low("t"), "a", 4096, 1000)
	s.Take(now.Add(time.Second), low("t"), "gone", 1000, 1000)
	s.Return(low("t"), ahead)
	if n, _ := s.Take(now.Add(time.Second+patience+time.Millisecond), low("t"), "b", 20, 1); ahead != 1000 || n == 0 {
		t.Errorf("%d were given, behind one that does not come for %d that it was to wait minutes for", n, ahead)
	}
}

// FLEET-10: a priority or a tenant without a shape is not held.
func TestFLEET_10_Exceptions(t *testing.T) {
	t.Parallel()
	s := NewShaper(posthouse.Shapes{"*": {posthouse.Low: {Rate: 100}}, "acme": {posthouse.Low: {}, posthouse.Normal: {Rate: 1}}})
	for _, of := range []struct {
		k    ShapeKey
		want int
	}{{low("t"), 100}, {low("acme"), 1000}, {ShapeKey{"acme", posthouse.Normal}, 1}, {ShapeKey{"t", posthouse.High}, 1000}} {
		if n, _ := s.Take(midnight, of.k, "a", 1000, 1); n != of.want {
			t.Errorf("%v: %d of 1000 were given, want %d", of.k, n, of.want)
		}
	}
	if d, of := s.Delay(midnight, low("t"), 49); d.Round(time.Millisecond) != 500*time.Millisecond || of.Rate != 100 {
		t.Errorf("who has 49 before it waits %v at %v, want 500ms at 100 a second", d, of.Rate)
	}
	if d, _ := s.Delay(midnight, ShapeKey{"t", posthouse.High}, 1_000_000); d != 0 {
		t.Errorf("what is not shaped waits %v", d)
	}
	if NewShaper(nil).Shapes(low("t")) || len(NewShaper(nil).Tokens(midnight)) > 0 {
		t.Error("no shapes shape something")
	}
}
