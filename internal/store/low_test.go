package store

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// A claim begins a second before the last one's end, and now and then at the beginning, so that what
// came in late with an early due time is not left behind.
func TestClaimsBeginWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	lane := work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.Normal}
	start := time.UnixMicro(1_800_000_000_000_000)
	due := func(at time.Time) []work.Item { return []work.Item{{}, {Delivery: posthouse.Delivery{DueAt: at}}} }
	var l lows
	for _, step := range []struct {
		name  string
		after time.Duration // since the start
		want  time.Time     // zero: the beginning
		took  time.Duration // due time of the last that was claimed, since the start
	}{
		{"the first", 0, time.Time{}, 5 * time.Second},
		{"the next", 100 * time.Millisecond, start.Add(4 * time.Second), 6 * time.Second},
		{"further on", 999 * time.Millisecond, start.Add(5 * time.Second), 7 * time.Second},
		{"a second after the first", time.Second, time.Time{}, 3 * time.Second},
		{"a straggler was found", 1100 * time.Millisecond, start.Add(2 * time.Second), 3 * time.Second},
	} {
		now := start.Add(step.after)
		from := l.from(lane, now)
		want := int64(0)
		if !step.want.IsZero() {
			want = step.want.UnixMicro()
		}
		if from != want {
			t.Errorf("%s begins at %d, want %d", step.name, from, want)
		}
		l.took(lane, from, due(start.Add(step.took)), now)
	}
	if other := l.from(work.Lane{Tenant: "default", Channel: "bot", Priority: posthouse.High}, start); other != 0 {
		t.Errorf("another lane begins at %d, want 0", other)
	}
}
