package remind

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func TestMomentsOfCron(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cron, zone, after string
		want              []string
	}{
		"workdays":                         {"0 9 * * 1-5", "Asia/Shanghai", "2026-10-02T01:00:00Z", []string{"2026-10-05T01:00:00Z", "2026-10-06T01:00:00Z"}},
		"a time that clocks leave out":     {"30 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		"a time that comes twice":          {"30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		"each half hour, clocks set back":  {"*/30 * * * *", "America/New_York", "2026-11-01T05:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z", "2026-11-01T07:00:00Z"}},
		"each half hour, clocks set ahead": {"*/30 * * * *", "America/New_York", "2026-03-08T06:00:00Z", []string{"2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"}},
		"the last day of a month":          {"0 17 L * *", "UTC", "2027-01-31T17:00:00Z", []string{"2027-02-28T17:00:00Z", "2027-03-31T17:00:00Z"}},
		"either day":                       {"0 9 1 * 1", "UTC", "2026-10-27T00:00:00Z", []string{"2026-11-01T09:00:00Z", "2026-11-02T09:00:00Z"}},
		"a leap day":                       {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, err := time.Parse(time.RFC3339, c.after)
			if err != nil {
				t.Fatal(err)
			}
			r, problems := scheduled(c.cron, c.zone, after)
			runs := Next(r, len(c.want))
			got := []string{}
			for _, run := range runs {
				got = append(got, run.Format(time.RFC3339))
			}
			if diff := cmp.Diff(c.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("%v (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestWhatIsNoCron(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"0 0 30 2 *", "UTC", "cron"}, {"0 25 * * *", "UTC", "cron"}, {"99 * * * *", "UTC", "cron"}, {"0 9 * * 1,99", "UTC", "cron"}, {"0 9 * *", "UTC", "cron"},
		{"TZ=UTC 9 * * *", "UTC", "cron"}, {"*/0 * * * *", "UTC", "cron"},
		{"*/90 * * * *", "UTC", "cron"}, {"5/61 * * * *", "UTC", "cron"}, {"0 */25 * * *", "UTC", "cron"}, {"0 0 */32 * *", "UTC", "cron"}, {"0 0 1 */13 *", "UTC", "cron"},
		{"0 9 * * */8", "UTC", "cron"}, {"0 9 * * MON-FRI/8", "UTC", "cron"}, {"0,10-20/12 * * * *", "UTC", "cron"}, {"0 9 * * 1-5", "Asia/Nowhere", "time_zone"}, {"0 9 * * 1-5", "Local", "time_zone"},
	} {
		r, problems := scheduled(c[0], c[1], time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
		if len(problems) != 1 || problems[0].Path != "repeat."+c[2] || !strings.Contains(problems[0].Message, "such as") {
			t.Errorf("%q in %q: got %v, %v, want one problem of %s, with an example", c[0], c[1], Next(r, 1), problems, c[2])
		}
	}
}

// scheduled is a reminder by cron that is made at a time.
func scheduled(cron, zone string, now time.Time) (posthouse.Reminder, []posthouse.Problem) {
	return New(posthouse.Reminder{
		Draft: posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}}, Repeat: &posthouse.Repeat{Cron: cron, TimeZone: zone},
	}, now.Add(time.Second).Add(grace), time.UTC)
}

// No change of clocks has a slot come twice, out of order or not at all. Brute force says which minutes they are.
func TestEachMinuteThatClocksShowIsASlotOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range []string{"*/20 * * * *", "7 * * * *", "0,30 1-3 * * *", "15 0 * * *", "0 9 1 * 1", "30 2 * * 0", "59 23 31 * *"} {
			c, err := newCron(expression, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, begin := range changesOf(zone) {
				begin, end := begin.Add(-14*time.Hour), begin.Add(14*time.Hour)
				var got []string
				for at, ok := c.next(begin.Add(-time.Second)); ok && at.Before(end); at, ok = c.next(at) {
					got = append(got, at.Format(time.RFC3339))
				}
				if diff := cmp.Diff(byMinute(c, begin, end), got); diff != "" {
					t.Fatalf("%q in %s (-want +got):\n%s", expression, name, diff)
				}
			}
		}
	}
}

// changesOf are the changes of clocks of a zone in some years, and a day without one.
func changesOf(zone *time.Location) []time.Time {
	list := []time.Time{time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)}
	for _, years := range [][2]int{{2011, 2012}, {2026, 2027}} { // in 2011 Apia left out a day
		at, last := time.Date(years[0], 11, 30, 0, 0, 0, 0, time.UTC), time.Date(years[1], 12, 1, 0, 0, 0, 0, time.UTC)
		for _, end := at.In(zone).ZoneBounds(); !end.IsZero() && end.Before(last); _, end = end.ZoneBounds() {
			list = append(list, end.UTC())
		}
	}
	return list
}

// byMinute finds the slots of an expression without the arithmetic: it looks at the clocks each minute. Where the hour is named, what they
// show twice counts once, and what they leave out counts when they are set.
func byMinute(c *cron, begin, end time.Time) (slots []string) {
	seen := map[time.Time]bool{}
	from := begin.Add(-4 * time.Hour)
	for at, before := from, wallOf(from.Add(-time.Minute), c.zone); at.Before(end); at = at.Add(time.Minute) {
		wall, due := wallOf(at, c.zone), false
		if c.hourly {
			due = c.due(wall)
		} else {
			for w := before.Add(time.Minute); !w.After(wall); w = w.Add(time.Minute) {
				due = due || !seen[w] && c.due(w)
				seen[w] = true
			}
			seen[wall] = true
		}
		if due && !at.Before(begin) {
			slots = append(slots, at.UTC().Format(time.RFC3339))
		}
		before = wall
	}
	return slots
}

// A step as long as its field is what people write for once an hour or once a day.
func TestStepsOfCronWithinTheirFields(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"*/60 * * * *", "*/59 * * * *", "0 */24 * * *", "0 0 */31 * *", "0 0 1 */12 *", "0 9 * * */7", "0 9 * * 1-5/5", "10-20/11,5/60 * * * *"} {
		if err := CheckCron(expression, time.UTC, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Errorf("%q %v", expression, err)
		}
	}
}

// What was stored before it was refused goes on as it did.
func TestAStepOfCronThatWasStoredGoesOn(t *testing.T) {
	t.Parallel()
	one := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
	r := posthouse.Reminder{State: posthouse.ReminderOpen, NextAt: one, Repeat: &posthouse.Repeat{Cron: "*/90 * * * *", TimeZone: "UTC"}}
	got := Next(r, 2)
	if want := []time.Time{one, one.Add(time.Hour)}; !slices.Equal(got, want) {
		t.Errorf("it comes at %v, want %v", got, want)
	}
}
