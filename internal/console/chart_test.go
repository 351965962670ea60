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

func TestADifferenceHoldsBothTexts(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", ""}, {"a", ""}, {"", "a\nb"}, {"a\nb\nc", "a\nc"}, {"a\nb\nc", "c\nb\na"}, {"a\na", "a\na\na"}} {
		var from, to, both []string
		for _, l := range difference(c[0], c[1]) {
			if l.Mark != "+" {
				from = append(from, l.Line)
			}
			if l.Mark != "-" {
				to = append(to, l.Line)
			}
			if l.Mark == "" {
				both = append(both, l.Line)
			}
		}
		if !same(from, linesOf(c[0])) || !same(to, linesOf(c[1])) || c[0] == c[1] && !same(both, from) {
			t.Errorf("%q → %q: %q, %q", c[0], c[1], from, to)
		}
	}
	if d := difference("a\nb\nc", "a\nx\nc"); len(d) != 4 {
		t.Errorf("one line of three is changed: %v", d)
	}
}

func same(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
