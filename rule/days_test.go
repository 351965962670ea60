package rule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// At the moment a day begins its users are on duty, a moment before those of the day before: also where clocks change.
func TestDaysBeginWhereShiftsChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, handOver, from string }{
		{"Asia/Shanghai", "", "2026-12-30"}, {"Asia/Shanghai", "08:30", "2026-02-27"},
		{"America/New_York", "02:30", "2026-03-06"}, // skipped on the 8th
		{"America/New_York", "01:30", "2026-10-30"}, // twice on November 1st
		{"Africa/Cairo", "00:00", "2026-04-22"},     // midnight is skipped
		{"America/Havana", "00:00", "2026-10-30"},   // midnight twice
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.ParseInLocation("2006-01-02 15", c.from+" 12", zone)
		if err != nil {
			t.Fatal(err)
		}
		roster := posthouse.Roster{HandOver: c.handOver, Days: map[string][]string{"1": {"a"}}}
		days, err := rule.Days(roster, from, 5)
		if err != nil || days[0].Date != c.from {
			t.Fatalf("%s: the first is %+v, %v", c.zone, days[0], err)
		}
		for i, d := range days {
			at, _ := rule.ShiftAt(roster, d.From)
			before, _ := rule.ShiftAt(roster, d.From.Add(-1))
			if at.Date != d.Date || before.Date >= d.Date || i > 0 && (before.Date != days[i-1].Date || !days[i-1].Until.Equal(d.From)) {
				t.Errorf("%s at %s: %s begins at %s, where the shift goes from %s to %s", c.zone, c.handOver, d.Date, d.From, before.Date, at.Date)
			}
		}
	}
	if _, err := rule.Days(posthouse.Roster{HandOver: "late"}, time.Now(), 1); err == nil {
		t.Error("a hand-over that is no time of day was taken")
	}
}

func TestNowAndNext(t *testing.T) {
	t.Parallel()
	roster := posthouse.Roster{HandOver: "08:30", Days: map[string][]string{"1": {"mon"}, "2": {"tue"}, "3": {"wed"}}}
	for at, want := range map[string][2]string{"08:29": {"mon", "tue"}, "08:30": {"tue", "wed"}, "23:59": {"tue", "wed"}} {
		local, err := time.Parse("2006-01-02 15:04", "2026-11-24 "+at) // a Tuesday
		if err != nil {
			t.Fatal(err)
		}
		now, next, err := rule.NowAndNext(roster, local)
		if err != nil || !slices.Equal(now.Users, []string{want[0]}) || !slices.Equal(next.Users, []string{want[1]}) || !now.Until.Equal(next.From) {
			t.Errorf("at %s: %+v, then %+v, %v", at, now, next, err)
		}
	}
}
