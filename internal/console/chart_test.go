package console

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse/wire"
)

// Each count stands in its slot; what is older than the chart stands nowhere; days are those of the zone, also of 23 hours.
func TestChartsAddUpBySlots(t *testing.T) {
	t.Parallel()
	berlin := zoneNamed("Europe/Berlin")
	now := time.Date(2026, 3, 31, 12, 30, 0, 0, time.UTC)
	for _, s := range spans() {
		c := chart{Span: s}
		oldest := now.Add(-s.Length + 2*s.Unit)
		o := wire.Overview{At: now, Minutes: []wire.OverviewMinute{
			{At: now.Add(-2 * s.Length), Sent: 1000}, {At: oldest, Failed: 2, Again: 1}, {At: now.Add(-s.Unit), Unknown: 3}, {At: now.Truncate(time.Minute), Sent: 5},
		}}
		c.draw(o, berlin)
		if want := int(s.Length / s.Unit); len(c.Bars) != want {
			t.Fatalf("%s: %d bars, want %d", s.Name, len(c.Bars), want)
		}
		n := len(c.Bars)
		if c.Sum.Sent != 5 || c.Sum.Failed != 2 || c.Sum.Again != 1 || c.Sum.Unknown != 3 || c.Bars[n-1].Sent != 5 || c.Bars[n-2].Unknown != 3 || c.Bars[0].Most != 5 {
			t.Errorf("%s: the sum is %+v, the last bars %+v", s.Name, c.Sum, c.Bars[n-2:])
		}
		for i, b := range c.Bars {
			if s.Unit == day && b.At.In(berlin).Hour() != 0 {
				t.Errorf("day %d begins at %s", i, b.At)
			}
		}
	}
}
