package rate_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/rate"
)

// crowd is processes that call one provider, which bears so many calls at once, takes some 80 ms for each and some time to refuse one. What it refuses is called for again
// after two seconds.
type crowd struct {
	bears  int
	refuse time.Duration
	each   []*caller

	busy    int
	served  int
	refused int
	now     time.Duration // since the crowd began
	rand    *rand.Rand
}

type caller struct {
	bound    rate.AtOnce
	waiting  int
	again    []time.Duration // when a refused one waits again
	underWay []*called
	served   int
}

type called struct {
	began    time.Duration
	arrives  time.Duration // at the provider
	served   time.Duration // or refused
	ends     time.Duration // when the caller hears of it
	accepted bool
}

func newCrowd(processes, bears int, refuse time.Duration, waiting int) *crowd {
	c := &crowd{bears: bears, refuse: refuse, rand: rand.New(rand.NewPCG(1, 2))}
	for range processes {
		c.each = append(c.each, &caller{waiting: waiting / processes})
	}
	return c
}

// some is a time, give or take three tenths.
func (c *crowd) some(d time.Duration) time.Duration {
	return d * time.Duration(70+c.rand.IntN(60)) / 100
}

// pass lets time pass, or all that waits be served.
func (c *crowd) pass(lasts time.Duration) {
	const tick, way = time.Millisecond, time.Millisecond
	begin := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	for until := c.now + lasts; c.now < until; c.now += tick {
		first := int(c.now / tick)
		left := 0
		for i := range c.each {
			for _, x := range c.each[i].underWay {
				if x.accepted && x.served == c.now {
					c.busy--
				}
			}
		}
		for i := range c.each { // none is always the first to arrive
			p := c.each[(first+i)%len(c.each)]
			for _, x := range p.underWay {
				if x.arrives != c.now {
					continue
				}
				if x.accepted = c.busy < c.bears; x.accepted {
					c.busy++
					x.served = c.now + c.some(80*time.Millisecond).Truncate(tick)
				} else {
					x.served = c.now + c.some(c.refuse).Truncate(tick)
				}
				x.ends = x.served + way
			}
		}
		for _, p := range c.each {
			for i := 0; i < len(p.underWay); {
				x := p.underWay[i]
				if x.ends == 0 || x.ends > c.now {
					i++
					continue
				}
				p.underWay = slices.Delete(p.underWay, i, i+1)
				if x.accepted {
					c.served++
					p.served++
					p.bound.Accepted()
					continue
				}
				c.refused++
				p.again = append(p.again, c.now+2*time.Second)
				p.bound.Refused(begin.Add(c.now), x.ends-x.began, len(p.underWay))
			}
			for len(p.again) > 0 && p.again[0] <= c.now {
				p.again = p.again[1:]
				p.waiting++
			}
			most, _ := p.bound.Most(begin.Add(c.now))
			for n := min(most, 64) - len(p.underWay); n > 0 && p.waiting > 0; n-- {
				p.waiting--
				p.underWay = append(p.underWay, &called{began: c.now, arrives: c.now + way + time.Duration(c.rand.IntN(2))*tick})
				p.bound.Began(len(p.underWay))
			}
			left += p.waiting + len(p.again) + len(p.underWay)
		}
		if left == 0 {
			return
		}
	}
}

const endless = 1 << 40

func TestHowManyCallsAProviderBearsAtOnceIsLearned(t *testing.T) {
	t.Parallel()
	c := newCrowd(1, 10, time.Millisecond, endless)
	learned := func() int {
		most, _ := c.each[0].bound.Most(time.Now())
		return most
	}
	if c.pass(time.Second); learned() < 9 || learned() > 11 || c.refused > 70 {
		t.Errorf("learned %d after %d refusals, want 10 after the first 54", learned(), c.refused)
	}
	c.served, c.refused = 0, 0
	if c.pass(2 * time.Minute); c.served < 13500 || c.refused > c.served/100 {
		t.Errorf("in two minutes %d were served and %d refused, want nine tenths of 15,000 and one in a hundred", c.served, c.refused)
	}
	c.bears = 40
	if c.pass(30 * time.Second); learned() < 36 {
		t.Errorf("30 s after it bore 40, %d were made at once", learned())
	}
	c.bears = 10
	if c.pass(5 * time.Second); learned() > 12 {
		t.Errorf("5 s after it bore 10 again, %d were made at once", learned())
	}
}

// A provider that takes as long to refuse as to accept tells of a burst when nothing of it is under way any more.
func TestALateRefusalDoesNotBoundForLong(t *testing.T) {
	t.Parallel()
	for processes := 1; processes <= 4; processes *= 2 {
		c := newCrowd(processes, 10, 80*time.Millisecond, 400)
		if c.pass(12 * time.Second); c.served != 400 {
			t.Errorf("%d processes: %d of 400 were served in 12 s, want all, for which the provider needs 3.2 s", processes, c.served)
		}
	}
}

// Processes that share what a provider bears do not call it in vain, and none is starved.
func TestProcessesShareWhatAProviderBearsAtOnce(t *testing.T) {
	t.Parallel()
	for _, refuse := range []time.Duration{time.Millisecond, 80 * time.Millisecond} {
		for _, bears := range []int{3, 10, 40} {
			c := newCrowd(4, bears, refuse, endless)
			c.pass(time.Minute)
			could := bears * int(time.Minute/(80*time.Millisecond))
			if c.served < could*9/10 || c.refused > 600+c.served/50 {
				t.Errorf("of a provider that bears %d, %d calls of %d were served and %d refused, want nine tenths and one in fifty", bears, c.served, could, c.refused)
			}
			for _, p := range c.each {
				if p.served < c.served/50 {
					t.Errorf("of a provider that bears %d, one of four processes had %d calls of %d", bears, p.served, c.served)
				}
			}
		}
	}
}
