package admission

import (
	"testing"
	"time"
)

var bounds = Senders{Min: 4, Max: 512}

// run plays a pool in virtual time: so many calls a second come and each takes a while, and what finds no sender waits.
func run(p *Pool, now time.Time, length time.Duration, rate float64, latency time.Duration) (end time.Time, most, waiting int) {
	type call struct{ ends time.Time }
	var under []call
	due := 0.0
	const tick = time.Millisecond
	for t := now; t.Before(now.Add(length)); t = t.Add(tick) {
		for len(under) > 0 && !t.Before(under[0].ends) {
			p.Ended(t, latency)
			under = under[1:]
		}
		for due += rate * tick.Seconds(); due >= 1; {
			free := p.Take(t, 100, "channel", func() {})
			n := min(int(due), free)
			p.Began(free, n, 0)
			if n == 0 {
				break
			}
			for range n {
				under = append(under, call{t.Add(latency)})
			}
			due -= float64(n)
		}
		senders, busy := p.Now(t)
		most = max(most, busy)
		if senders < bounds.Min || senders > bounds.Max {
			panic("out of bounds")
		}
	}
	for range under {
		p.Ended(now.Add(length), 0)
	}
	return now.Add(length), most, int(due)
}

// FLEET-4: there are as many senders as the load asks for, rate × latency with some to spare, and no more than may be.
func TestFLEET_4_SendersFollowTheLoad(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rate          float64
		latency       time.Duration
		least, most   int
		waitsLongerBy int
	}{
		"nothing":               {0, time.Millisecond, 4, 4, 0},
		"little":                {10, 20 * time.Millisecond, 4, 8, 0},
		"much and quick":        {5000, 2 * time.Millisecond, 10, 40, 0},
		"little and slow":       {100, time.Second, 100, 220, 0},
		"as much as may be":     {256, 2 * time.Second, 500, 512, 1},
		"more than may be":      {1000, time.Second, 500, 512, 4000},
		"one that never is out": {0.2, 10 * time.Second, 4, 8, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewPool(midnight, bounds, func(int, int) {})
			now, most, waiting := run(p, midnight, 10*time.Second, of.rate, of.latency)
			senders, _ := p.Now(now)
			if senders < of.least || senders > of.most {
				t.Errorf("%d senders at %v a second of %v, want %d to %d", senders, of.rate, of.latency, of.least, of.most)
			}
			if most > bounds.Max {
				t.Errorf("%d calls were under way, more than %d", most, bounds.Max)
			}
			if of.waitsLongerBy == 0 && waiting > int(of.rate*0.002)+1 || waiting < of.waitsLongerBy-1 {
				t.Errorf("%d calls wait, want %d", waiting, of.waitsLongerBy)
			}
		})
	}
}

// FLEET-4: where a claim takes longer than its calls, as on a database that is loaded, a queue has the senders that it needs all the
// same: their number follows from both, and a claim that found work for all of them says that there is more.
func TestFLEET_4_ASlowClaimIsAPartOfTheLatency(t *testing.T) {
	t.Parallel()
	p, now, took := NewPool(midnight, bounds, func(int, int) {}), midnight, 0
	for range 20 {
		took = p.Take(now, 1000, "channel", func() {})
		now = now.Add(300 * time.Millisecond)
		p.Began(took, took, 300*time.Millisecond)
		p.Short()
		now = now.Add(time.Millisecond)
		for range took {
			p.Ended(now, time.Millisecond)
		}
	}
	if took < 200 {
		t.Errorf("a claim of a deep queue takes %d in the end, want at least 200", took)
	}
	if senders, _ := p.Now(now); senders < 400 {
		t.Errorf("%d senders while claims of 300 ms find work for all of them", senders)
	}
}

// FLEET-4: a burst has its senders at once, and after it they go within seconds; each change is told, and they add up.
func TestFLEET_4_SendersGrowAtOnceAndShrinkAfterwards(t *testing.T) {
	t.Parallel()
	last, changes := 0, 0
	p := NewPool(midnight, bounds, func(from, to int) {
		if from != last || from == to {
			t.Errorf("a change from %d to %d after %d", from, to, last)
		}
		last, changes = to, changes+1
	})
	now, _, waiting := run(p, midnight, 300*time.Millisecond, 1000, 250*time.Millisecond)
	if waiting > 2 {
		t.Errorf("%d of a burst still wait after 300ms", waiting)
	}
	if last < 250 {
		t.Errorf("%d senders in a burst that needs 250", last)
	}
	run(p, now, 5*time.Second, 0, time.Second)
	if last != bounds.Min {
		t.Errorf("%d senders after 5 s of nothing, want %d", last, bounds.Min)
	}
	if changes < 8 {
		t.Errorf("%d changes were told", changes)
	}
}

// FLEET-4: who found no sender free is woken when there is one, and a pool that is not there bounds nothing.
func TestFLEET_4_WhoWaitsForASenderIsWoken(t *testing.T) {
	t.Parallel()
	p := NewPool(midnight, Senders{Min: 1, Max: 1}, func(int, int) {})
	woken := 0
	wake := func() { woken++ }
	if n := p.Take(midnight, 5, "a", wake); n != 1 {
		t.Fatalf("%d senders are free, want 1", n)
	}
	if n := p.Take(midnight, 1, "b", wake); n != 0 {
		t.Errorf("%d senders are free that another has taken", n)
	}
	p.Began(1, 0, 0)
	if woken != 1 {
		t.Errorf("%d were woken by what found nothing to send, want 1", woken)
	}
	p.Began(p.Take(midnight, 1, "a", wake), 1, 0)
	if n := p.Take(midnight, 1, "b", wake) + p.Take(midnight, 1, "c", wake); n != 0 || woken != 1 {
		t.Errorf("%d senders are free and %d were woken, want none more", n, woken)
	}
	p.Ended(midnight, time.Millisecond)
	if woken != 3 {
		t.Errorf("%d were woken, want both once", woken)
	}
	var none *Pool
	none.Began(1, 1, 0)
	none.Ended(midnight, 0)
	if n := none.Take(midnight, 1000, "a", wake); n != 1000 {
		t.Errorf("without a pool %d of 1000 may begin", n)
	}
}
