package state

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ids"
)

// What loses its lease again and again waits longer each time, and as if by chance, so that it is not always
// under way with the same others.
func TestDeliveriesThatLoseTheirLeasesTogetherPart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	const timeout, backoff = 10 * time.Second, time.Second
	for name, c := range map[string]struct {
		losses      int
		every, left time.Duration
		window      time.Duration
		longest     time.Duration
	}{
		"the first time they wait as after any failure": {losses: 0},
		"then up to twice the time-out":                 {losses: 1, longest: 2 * timeout},
		"then longer and longer":                        {losses: 4, longest: 16 * timeout},
		"by periods where there are any":                {losses: 1, every: time.Minute, longest: 2 * time.Minute},
		"not beyond the deadline":                       {losses: 4, left: 30 * time.Second, longest: 15 * time.Second},
		"nor beyond what the provider remembers":        {losses: 4, window: time.Minute, longest: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := posthouse.Channel{Name: "c"}
			ch.OnUnknown, ch.Backoff, ch.Tries = posthouse.Retry, []posthouse.Duration{posthouse.Duration(backoff)}, 100
			s, err := Resolve(ch, Opened{Timeout: timeout, Window: c.window}, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			s.Every = c.every
			d := posthouse.Delivery{State: posthouse.Sending, StartedAt: now, FirstStartAt: now, OnUnknown: posthouse.Retry, ClaimLosses: c.losses}
			if c.left > 0 {
				d.Deadline = now.Add(c.left)
			}
			least, most := time.Hour, time.Duration(0)
			for i := range 2000 {
				d.ID = posthouse.DeliveryID(ids.At(now, "m"), i+1)
				after := AfterLeaseLost(&s, d, nil, false, now).After
				if after.State != posthouse.Pending {
					t.Fatalf("is %s, want pending", after.State)
				}
				wait := after.DueAt.Sub(now)
				least, most = min(least, wait), max(most, wait)
			}
			jitter := backoff / 5
			if least < backoff || most > c.longest+backoff+jitter || most < c.longest*9/10 {
				t.Errorf("waits from %s to %s, want from %s to nearly %s", least, most, backoff, c.longest+backoff+jitter)
			}
		})
	}
}
