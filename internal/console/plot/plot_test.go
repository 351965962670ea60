package plot

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Each count stands in its slot; what is older than the chart stands nowhere; days are those of the zone, also of 23 hours.
func TestChartsAddUpBySlots(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 31, 12, 30, 0, 0, time.UTC)
	for _, s := range Spans() {
		c := Attempts{Span: s}
		oldest := now.Add(-s.Length + 2*s.Unit)
		o := wire.Overview{At: now, Minutes: []wire.OverviewMinute{
			{At: now.Add(-2 * s.Length), Sent: 1000}, {At: oldest, Accepted: 7, Failed: 2, Again: 1}, {At: now.Add(-s.Unit), Unknown: 3}, {At: now.Truncate(time.Minute), Sent: 5},
		}}
		c.Count(o, berlin)
		if want := int(s.Length / s.Unit); len(c.Bars) != want {
			t.Fatalf("%s: %d bars, want %d", s.Name, len(c.Bars), want)
		}
		n := len(c.Bars)
		if c.Sum.Accepted != 7 || c.Sum.Sent != 5 || c.Sum.Failed != 2 || c.Sum.Again != 1 || c.Sum.Unknown != 3 || c.Bars[n-1].Sent != 5 || c.Bars[n-2].Unknown != 3 || c.Bars[0].Most != 5 {
			t.Errorf("%s: the sum is %+v, the last bars %+v", s.Name, c.Sum, c.Bars[n-2:])
		}
		for i, b := range c.Bars {
			if s.Unit == day && b.At.In(berlin).Hour() != 0 {
				t.Errorf("day %d begins at %s", i, b.At)
			}
		}
	}
}

// A point stands in the slot of its time, and where no call was made there is nothing; what is older than the chart stands nowhere.
func TestRatesStandInTheirSlots(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 12, 30, 40, 0, time.UTC)
	for span, want := range map[string]struct {
		step time.Duration
		n    int
	}{"hour": {time.Minute, 60}, "day": {10 * time.Minute, 144}, "week": {time.Minute, 60}} {
		c := RatesOver(span)
		first, last := now.Truncate(want.step).Add(-time.Duration(want.n-1)*want.step), now.Truncate(want.step)
		c.Fill(wire.RateHistory{Step: posthouse.Duration(want.step), Points: []wire.RatePoint{{At: first.Add(-want.step), Rate: 99}, {At: first, Rate: 2}, {At: last, Rate: 5}}}, now)
		if len(c.Slots) != want.n || c.Most != 5 || !c.Drawn() || c.Slots[0].RatePoint == nil || c.Slots[1].RatePoint != nil || c.Slots[want.n-1].Rate != 5 || !c.Slots[0].At.Equal(first) {
			t.Errorf("%s: %d slots up to %v, the first %+v, the last %+v", span, len(c.Slots), c.Most, c.Slots[0], c.Slots[want.n-1])
		}
	}
	c := RatesOver("")
	if c.Fill(wire.RateHistory{Step: posthouse.Duration(time.Minute)}, now); c.Drawn() || len(c.Slots) != 60 {
		t.Errorf("of nothing %d slots are drawn: %v", len(c.Slots), c.Drawn())
	}
}
