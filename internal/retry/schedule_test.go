package retry_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/retry"
)

func TestBackoffFollowsTheStepsAndRepeatsTheLast(t *testing.T) {
	t.Parallel()
	s := retry.Schedule{Steps: []time.Duration{time.Second, time.Minute}}
	for failures, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: time.Second, 2: time.Minute, 3: time.Minute, 99: time.Minute} {
		if got := s.Backoff(failures); got != want {
			t.Errorf("after %d failures: got %s, want %s", failures, got, want)
		}
	}
}

func TestBackoffGrowsByTheFactorUpToTheMost(t *testing.T) {
	t.Parallel()
	s := retry.Schedule{Base: time.Second, Factor: 2, Max: 10 * time.Second}
	var got []time.Duration
	for n := 1; n <= 6; n++ {
		got = append(got, s.Backoff(n))
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBackoffNeverOverflows(t *testing.T) {
	t.Parallel()
	s := retry.Schedule{Base: time.Hour, Factor: 10, Jitter: 1}
	for _, n := range []int{20, 1000, math.MaxInt} {
		if got := s.Next(n, 0, 0.99); got != math.MaxInt64 {
			t.Errorf("after %d failures: got %s, want the longest duration", n, got)
		}
	}
}

func TestTheZeroScheduleNeverWaits(t *testing.T) {
	t.Parallel()
	if got := (retry.Schedule{}).Next(5, 0, 0.5); got != 0 {
		t.Errorf("got %s, want 0", got)
	}
}

func TestNextSpreadsUpwardsOnlyAndHonoursTheProvider(t *testing.T) {
	t.Parallel()
	s := retry.Schedule{Steps: []time.Duration{time.Minute}, Jitter: 0.2}
	for name, c := range map[string]struct {
		after time.Duration
		rnd   float64
		want  time.Duration
	}{
		"least":                     {0, 0, time.Minute},
		"middle":                    {0, 0.5, 66 * time.Second},
		"most":                      {0, 1, 72 * time.Second},
		"random number out of turn": {0, 7, 72 * time.Second},
		"provider waits longer":     {5 * time.Minute, 0.5, 5 * time.Minute},
		"provider waits shorter":    {time.Second, 0.5, 66 * time.Second},
		"negative wait":             {-time.Hour, 0, time.Minute},
		"absurd wait":               {1e9 * time.Second, 0, retry.MaxAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.Next(1, c.after, c.rnd); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestProbeDoublesToAnHour(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for n := 1; n <= 6; n++ {
		got = append(got, retry.Probe(0, 0).Backoff(n))
	}
	m := time.Minute
	if diff := cmp.Diff([]time.Duration{5 * m, 10 * m, 20 * m, 40 * m, 60 * m, 60 * m}, got); diff != "" {
		t.Error(diff)
	}
	if got := retry.Probe(0, m).Backoff(1); got != m {
		t.Errorf("a most of 1m: got %s, want 1m", got)
	}
	if got := retry.Probe(2*time.Hour, 0).Backoff(3); got != 2*time.Hour {
		t.Errorf("a first of 2h: got %s, want 2h", got)
	}
}

func FuzzNext(f *testing.F) {
	f.Add(1, int64(0), 0.5, int64(time.Minute), 1.5, 0.2)
	f.Add(math.MaxInt, int64(math.MaxInt64), 1.0, int64(math.MaxInt64), 9.0, 1.0)
	f.Fuzz(func(t *testing.T, failures int, after int64, rnd float64, base int64, factor, jitter float64) {
		if math.IsNaN(rnd) || math.IsNaN(factor) || !(jitter >= 0 && jitter <= 1) || base < 0 {
			return
		}
		s := retry.Schedule{Base: time.Duration(base), Factor: factor, Max: 24 * time.Hour, Jitter: jitter}
		floor := s.Backoff(failures)
		got := s.Next(failures, time.Duration(after), rnd)
		most := max(time.Duration(float64(floor)*(1+jitter))+time.Microsecond, min(time.Duration(after), retry.MaxAfter))
		if got < floor || got > most {
			t.Fatalf("got %s, want from %s to %s", got, floor, most)
		}
	})
}

func ExampleSchedule_Next() {
	s := retry.Schedule{Base: time.Minute, Factor: 2, Max: time.Hour, Jitter: 0.2}
	fmt.Println(s.Next(1, 0, 0))              // the shortest wait after the first failure
	fmt.Println(s.Next(3, 0, 0.5))            // four minutes, spread
	fmt.Println(s.Next(1, 10*time.Minute, 0)) // the provider asked for more
	// Output:
	// 1m0s
	// 4m24s
	// 10m0s
}
