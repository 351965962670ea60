package limit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

func TestWindowsFollowFromLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"20/1s":                         "20/1s",
		"20/1s/jitter=80ms":             "20/1.08s",
		"20/1s/burst=5":                 "20/1s 5/250ms",
		"20/1s/burst=5/jitter=80ms":     "20/1.08s 5/270ms",
		"20/1s/burst=20":                "20/1s",
		"600/1m/burst=10,9000/1d":       "600/1m 9000/24h 10/1s",
		"1/1s/burst=1/jitter=0s,30/1m":  "1/1s 30/1m",
		"20/1m/burst=1,1000/1h/burst=9": "20/1m 1000/1h 1/3s 9/32.4s",
	} {
		limits, err := limittext.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := limittext.Text(Spaced(limits), " "); got != want {
			t.Errorf("%s is kept by %s, want %s", text, got, want)
		}
		if got := limittext.Text(Spaced(Spaced(limits)), " "); got != want {
			t.Errorf("once more: %s", got)
		}
	}
}

// Two servers, each call seen by its provider up to the jitter later than another: in none of the provider's own sliding windows are more
// than the limit, and no more than the jitter's share of the rate is lost.
func TestAProvidersOwnWindowsHoldWithJitter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"20/1s/jitter=80ms", "10/1s/jitter=80ms", "20/1s/burst=4/jitter=80ms", "100/1s/burst=10/jitter=80ms", "300/1m/jitter=80ms", "5/1s/burst=1/jitter=200ms"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			l, err := limittext.One(text)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var s State
			var seen []time.Time
			began := time.Unix(1_800_000_000, 0)
			end := began.Add(20 * l.Per.Std())
			for now := began; now.Before(end); now = now.Add(time.Duration(1+r.IntN(10)) * time.Millisecond) {
				for range 2 { // servers
					for range s.Take(now, Spaced([]posthouse.Limit{l}), 1+r.IntN(50)).N {
						seen = append(seen, now.Add(time.Duration(r.Int64N(int64(l.Jitter.Std())))))
					}
				}
			}
			slices.SortFunc(seen, time.Time.Compare)
			for i := l.Max; i < len(seen); i++ {
				if gap := seen[i].Sub(seen[i-l.Max]); gap < l.Per.Std() {
					t.Fatalf("the provider sees %d within %v", l.Max+1, gap)
				}
			}
			per := l.Per.Std().Seconds()
			most := 20 * float64(l.Max)
			if want := 0.97 * most * per / (per + l.Jitter.Std().Seconds()); float64(len(seen)) < want {
				t.Errorf("%d of %.0f were let through, want at least %.0f", len(seen), most, want)
			}
		})
	}
}

// What a burst allows leaves evenly: never more than so many in the time that they have.
func TestABurstLeavesEvenly(t *testing.T) {
	t.Parallel()
	l, _ := limittext.One("20/1s/burst=5")
	var s State
	counts := map[string]int{}
	began := time.Unix(1_800_000_000, 0)
	for i := range 1000 {
		now := began.Add(time.Duration(i) * time.Millisecond)
		counts[fmt.Sprintf("%d", i/250)] += s.Take(now, Spaced([]posthouse.Limit{l}), 100).N
	}
	if diff := cmp.Diff(map[string]int{"0": 5, "1": 5, "2": 5, "3": 5}, counts); diff != "" {
		t.Errorf("in each quarter of a second (-want +got):\n%s", diff)
	}
}

func TestBurstAndJitterHaveBounds(t *testing.T) {
	t.Parallel()
	for text, path := range map[string]string{"20/1s/burst=21": "[0].burst", "20/1s/burst=-1": "[0].burst", "20/1s/jitter=2s": "[0].jitter", "20/1s/burst=20/jitter=1s": ""} {
		l, err := limittext.One(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range Check([]posthouse.Limit{l}) {
			got += p.Path
		}
		if got != path {
			t.Errorf("%s: a problem at %q, want %q", text, got, path)
		}
	}
}
