package rule_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// everyDay has the user d1 on Monday to d7 on Sunday.
func everyDay(handOver string) posthouse.Roster {
	days := map[string][]string{}
	for i := 1; i <= 7; i++ {
		days[strconv.Itoa(i)] = []string{"d" + strconv.Itoa(i)}
	}
	return posthouse.Roster{Days: days, HandOver: handOver}
}

func TestShiftFollowsTheRostersCalendar(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, utc, handOver string
		date, user          string
	}{
		"Monday is day 1":         {"Asia/Shanghai", "2026-09-28 04:00", "", "2026-09-28", "d1"},
		"Sunday is day 7":         {"Asia/Shanghai", "2026-10-04 04:00", "", "2026-10-04", "d7"},
		"last minute of a day":    {"Asia/Shanghai", "2026-10-01 15:59", "", "2026-10-01", "d4"},
		"midnight":                {"Asia/Shanghai", "2026-10-01 16:00", "", "2026-10-02", "d5"},
		"before the hand-over":    {"Asia/Shanghai", "2026-10-01 00:29", "08:30", "2026-09-30", "d3"},
		"at the hand-over":        {"Asia/Shanghai", "2026-10-01 00:30", "08:30", "2026-10-01", "d4"},
		"over the new year":       {"Asia/Shanghai", "2025-12-31 20:00", "08:30", "2025-12-31", "d3"},
		"Monday before hand-over": {"UTC", "2026-09-28 01:00", "02:00", "2026-09-27", "d7"},
		// New York sets its clocks forward from 02:00 to 03:00 on 2026-03-08, a Sunday,
		"gap: before":              {"America/New_York", "2026-03-08 06:59", "02:30", "2026-03-07", "d6"},
		"gap: first moment after":  {"America/New_York", "2026-03-08 07:00", "02:30", "2026-03-08", "d7"},
		"twice: before":            {"America/New_York", "2026-11-01 05:29", "01:30", "2026-10-31", "d6"}, // and back from 02:00 to 01:00 on 2026-11-01
		"twice: the first time":    {"America/New_York", "2026-11-01 05:30", "01:30", "2026-11-01", "d7"},
		"twice: 01:10 once more":   {"America/New_York", "2026-11-01 06:10", "01:30", "2026-11-01", "d7"},
		"twice: not yet, at 01:10": {"America/New_York", "2026-11-01 06:10", "02:00", "2026-10-31", "d6"},
		"twice: at 02:00":          {"America/New_York", "2026-11-01 07:00", "02:00", "2026-11-01", "d7"},
		"a week after the change":  {"America/New_York", "2026-11-08 05:30", "01:30", "2026-11-07", "d6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse("2006-01-02 15:04", c.utc)
			if err != nil {
				t.Fatal(err)
			}
			roster := everyDay(c.handOver)
			roster.TimeZone = c.zone
			zone, err := rule.Zone(roster, "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := rule.ShiftAt(roster, now.In(zone))
			if err != nil {
				t.Fatal(err)
			}
			if got.Date != c.date || len(got.Users) != 1 || got.Users[0] != c.user || got.Source != rule.SourceWeekday {
				t.Errorf("got %+v, want %s of %s", got, c.user, c.date)
			}
		})
	}
}

func TestAnOverrideBelongsToTheDutyDayNotTheCalendarDay(t *testing.T) {
	t.Parallel()
	roster := everyDay("08:30")
	roster.Overrides = map[string][]string{"2026-10-01": {"u9"}}
	at := func(hour, day int) time.Time { return time.Date(2026, 10, day, hour, 0, 0, 0, time.UTC) }
	for moment, want := range map[time.Time]string{at(3, 1): "d3", at(9, 1): "u9", at(3, 2): "u9", at(9, 2): "d5"} {
		got, err := rule.ShiftAt(roster, moment)
		if err != nil || len(got.Users) != 1 || got.Users[0] != want {
			t.Errorf("%s: got %+v, %v, want %s", moment, got, err, want)
		}
	}
}

func TestADayEndsAtTheFirstMomentOfTheNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ zone, utc, want string }{
		"midnight":                  {"Asia/Shanghai", "2026-10-01 04:00", "2026-10-01 16:00"},
		"from midnight on":          {"Asia/Shanghai", "2026-10-01 16:00", "2026-10-02 16:00"},
		"a day of 23 hours":         {"America/New_York", "2026-03-08 05:00", "2026-03-09 04:00"},
		"a day of 25 hours":         {"America/New_York", "2026-11-01 04:00", "2026-11-02 05:00"},
		"no midnight":               {"Africa/Cairo", "2026-04-23 12:00", "2026-04-23 22:00"},     // Friday begins at 01:00
		"no midnight, in the west":  {"America/Santiago", "2026-09-05 12:00", "2026-09-06 04:00"}, // Sunday begins at 01:00
		"the last hour twice":       {"America/Santiago", "2026-04-04 12:00", "2026-04-05 04:00"},
		"in the last hour again":    {"America/Santiago", "2026-04-05 03:30", "2026-04-05 04:00"},
		"midnight twice":            {"America/Havana", "2026-10-31 20:00", "2026-11-01 04:00"},
		"between the two midnights": {"America/Havana", "2026-11-01 04:30", "2026-11-02 05:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			const layout = "2006-01-02 15:04"
			at, err := time.Parse(layout, c.utc)
			if err != nil {
				t.Fatal(err)
			}
			if got := rule.EndOfDay(at.In(zone)).UTC().Format(layout); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestZoneFallsBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, fallback, want string }{
		{"Europe/Paris", "UTC", "Europe/Paris"}, {"", "UTC", "UTC"}, {"", "", "Asia/Shanghai"},
	} {
		zone, err := rule.Zone(posthouse.Roster{TimeZone: c.own}, c.fallback)
		if err != nil || zone.String() != c.want {
			t.Errorf("got %v, %v, want %s", zone, err, c.want)
		}
	}
}
