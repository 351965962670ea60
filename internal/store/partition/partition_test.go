package partition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/store/layout"
)

const day = 24 * time.Hour

func TestSpansAhead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 34, 56, 0, time.UTC)
	hour := now.Truncate(time.Hour)
	for name, c := range map[string]struct {
		last time.Time
		keep time.Duration
		want []Span
	}{
		"none yet":     {time.Time{}, 8 * day, []Span{{hour, hour.Add(day)}, {hour.Add(day), hour.Add(2 * day)}}},
		"enough":       {now.Add(25 * time.Hour), 8 * day, nil},
		"one is due":   {now.Add(23 * time.Hour), 8 * day, []Span{{now.Add(23 * time.Hour), now.Add(47 * time.Hour)}}},
		"long stopped": {now.Add(-40 * day), 8 * day, []Span{{hour, hour.Add(day)}, {hour.Add(day), hour.Add(2 * day)}}},
		"a short time": {now.Add(time.Minute), time.Hour, []Span{{now.Add(time.Minute), now.Add(12*time.Hour + time.Minute)}}},
	} {
		if diff := cmp.Diff(c.want, SpansAhead(c.last, now, c.keep), cmp.AllowUnexported(Span{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	at := time.UnixMilli(1_790_000_000_123).UTC()
	if got := layout.TimeOfID(layout.IDAt(at)); !got.Equal(at) {
		t.Errorf("the time of an id of %v is %v", at, got)
	}
}
