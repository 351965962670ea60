package rule_test

import (
	"bytes"
	"slices"
	"strings"
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

// The calendar has an event for each day with users, and no line that is too long or cuts a character.
func TestWriteICS(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	roster := posthouse.Roster{Name: "duty", UpdatedAt: monday, Days: map[string][]string{"1": {"a;b", strings.Repeat("张三李四", 30)}}, Overrides: map[string][]string{"2026-11-25": {"c"}}}
	write := func() string {
		days, err := rule.Days(roster, monday, 7)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := rule.WriteICS(&b, roster, days); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := write()
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !strings.Contains(strings.ToValidUTF8(line, "?"), line) {
			t.Errorf("the line %q has %d bytes", line, len(line))
		}
	}
	unfolded := strings.ReplaceAll(text, "\r\n ", "")
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "DTSTART;VALUE=DATE:20261123\r\nDTEND;VALUE=DATE:20261124\r\nSUMMARY:duty: a\\;b\\, " + strings.Repeat("张三李四", 30) + "\r\n",
		"UID:2026-11-25-duty@posthouse\r\nDTSTAMP:20261123T120000Z\r\n", "SUMMARY:duty: c\r\n", "END:VCALENDAR\r\n",
	} {
		if !strings.Contains(unfolded, want) {
			t.Errorf("the calendar lacks %q:\n%s", want, unfolded)
		}
	}
	if n := strings.Count(text, "BEGIN:VEVENT"); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	roster.HandOver = "08:30"
	if text := write(); !strings.Contains(text, "DTSTART:20261125T083000Z\r\nDTEND:20261126T083000Z\r\n") {
		t.Errorf("with a hand-over:\n%s", text)
	}
}
