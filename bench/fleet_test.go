package main

import (
	"testing"
	"time"
)

// FLEET-12: the cell is what the requirement says, in full and in the short run, and runs once.
func TestFLEET_12_TheCellIsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		sizes sizes
		takes time.Duration
	}{"full": {fullSizes, time.Minute}, "short": {quickSizes, 5 * time.Second}} {
		c := fleet(of.sizes)
		if c.spec.Rate != 10_000 || c.spec.Batch != 100 || c.spec.For != of.takes || !c.once || !c.quick {
			t.Errorf("%s: the cell is %+v", name, c)
		}
		if len(c.contenders) != 3 || len(c.floors) != 3 {
			t.Errorf("%s: %d contenders and %d bars, want one for each database", name, len(c.contenders), len(c.floors))
		}
		for _, f := range c.floors {
			if f.of != p99 || f.bound != 0.1 {
				t.Errorf("%s: the bar is %+v, want a p99 of 100 ms", name, f)
			}
		}
	}
}
