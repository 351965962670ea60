package rate_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/rate"
)

// FLEET-5: a slow account is asked for room once a call, and still climbs by every interval that it waited.
func TestASlowAccountClimbsByTheClock(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	p := rate.NewPace(begin, rate.Settings{}, 0)
	now := begin
	for now.Before(begin.Add(8 * time.Second)) {
		calls, next := p.Free(now)
		if calls == 0 {
			p.Short()
			now = next
			continue
		}
		p.Spend(calls)
		for range calls {
			p.Saw(posthouse.ClassOK, 20*time.Millisecond, 0)
		}
	}
	if f := p.Factors(now); f.Rate < 10 {
		t.Errorf("after 8 s it may make %.1f calls a second, want more than 10", f.Rate)
	}
}
