package quiet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// Hours are those that a clock on the wall shows, whatever the zone does: each minute of the days on which clocks are set is compared
// with what the clock shows.
func TestQuietHoursAreThoseOfTheClock(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		zone string
		days []string // on which clocks are set, and a day without that
	}{
		{"Asia/Shanghai", []string{"2026-03-29"}},
		{"Europe/Berlin", []string{"2026-03-29", "2026-10-25"}},
		{"America/New_York", []string{"2026-03-08", "2026-11-01"}},
		{"Australia/Lord_Howe", []string{"2026-04-05", "2026-10-04"}}, // by half an hour
		{"America/Santiago", []string{"2026-04-05", "2026-09-06"}},    // at midnight
		{"Africa/Casablanca", []string{"2026-02-15", "2026-03-22"}},
		{"Pacific/Apia", []string{"2011-12-30"}}, // a day that was left out
	} {
		zone, err := time.LoadLocation(of.zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range of.days {
			day, _ := time.Parse(time.DateOnly, name)
			for _, q := range []posthouse.QuietHours{
				{From: "22:00", To: "08:00"}, {From: "01:30", To: "02:30"}, {From: "02:10", To: "02:50"}, {From: "00:00", To: "00:30"}, {From: "23:30", To: "03:00"}, {From: "01:00", To: "24:00"},
			} {
				compare(t, zone, day, q)
			}
		}
	}
}

// compare asks about each minute around a day.
func compare(t *testing.T, zone *time.Location, day time.Time, q posthouse.QuietHours) {
	t.Helper()
	h := Of([]posthouse.QuietHours{q})
	first, n := day.Add(-48*time.Hour), 5*dayMinutes
	ends := make([]time.Time, n) // of the window that each minute is in
	for d := -4; d <= 4; d++ {
		from, to := day.AddDate(0, 0, d).Add(time.Duration(h[0].from)*time.Minute), day.AddDate(0, 0, d).Add(time.Duration(h[0].to)*time.Minute)
		begin, end := -1, -1 // the first minute that shows from or more, and the one after the last that shows less than to
		for i := range n {
			at := first.Add(time.Duration(i) * time.Minute)
			wall := at.Add(offset(at, zone))
			if begin < 0 && !wall.Before(from) {
				begin = i
			}
			if wall.Before(to) {
				end = i + 1
			}
		}
		for i := max(begin, 0); i < end && begin >= 0; i++ {
			if e := first.Add(time.Duration(end) * time.Minute); e.After(ends[i]) {
				ends[i] = e
			}
		}
	}
	for i := 24 * 60; i < n-24*60; i++ {
		at := first.Add(time.Duration(i) * time.Minute)
		want := ends[i]
		got := h[0].endAt(at, zone, nil)
		if !got.Equal(want) && !(want.IsZero() && got.IsZero()) {
			t.Errorf("%s, %s to %s, at %s: it ends at %v, want %v", zone, q.From, q.To, at.In(zone), got.In(zone), want.In(zone))
			return
		}
	}
}

// Windows that lead into each other are one, over days off too, and each person has a moment of their own within the spread.
func TestQuietHoursLeadIntoEachOther(t *testing.T) {
	t.Parallel()
	zone, _ := time.LoadLocation("Asia/Shanghai")
	h := Of([]posthouse.QuietHours{
		{From: "22:00", To: "08:00", Spread: posthouse.Duration(30 * time.Minute)},
		{From: "00:00", To: "24:00", Days: posthouse.QuietDaysOff, Calendar: "bank", ExceptKinds: []string{"otp"}},
		{From: "12:00", To: "13:00", Kinds: []string{"ads"}, Days: posthouse.QuietWorkdays},
		{From: "09:00", To: "18:00", Users: []string{"li.na"}, TimeZone: "Europe/Berlin"},
	})
	off := func(calendar string, day time.Time) bool {
		return calendar == "bank" && day.Format(time.DateOnly) == "2026-10-02" || Weekends(day)
	}
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	for _, c := range []struct {
		now  string
		a    Whom
		from string // until when, without the spread; empty for not at all
	}{
		{"2026-09-29 21:59", Whom{}, ""},
		{"2026-09-29 22:00", Whom{}, "2026-09-30 08:00"},
		{"2026-10-01 23:00", Whom{}, "2026-10-05 08:00"}, // a Friday off, and a weekend
		{"2026-10-01 23:00", Whom{Kind: "otp"}, "2026-10-02 08:00"},
		{"2026-09-30 12:30", Whom{Kind: "ads"}, "2026-09-30 13:00"},
		{"2026-09-30 12:30", Whom{Kind: "bill"}, ""},
		{"2026-10-03 12:30", Whom{Kind: "ads"}, "2026-10-05 08:00"},
		{"2026-09-30 16:00", Whom{User: "li.na"}, "2026-10-01 08:00"}, // 10:00 in Berlin, until 18:00 there, which is midnight here
		{"2026-09-30 03:00", Whom{Zone: berlin}, ""},                  // 21:00 there
		{"2026-09-30 05:00", Whom{Zone: berlin}, "2026-09-30 14:00"},
	} {
		c.a.Local = zone
		until, held := h.Until(at(c.now), c.a, off)
		if held != (c.from != "") {
			t.Errorf("%s %+v: held is %v until %s", c.now, c.a, held, until)
			continue
		}
		if held && (until.Before(at(c.from)) || until.Sub(at(c.from)) >= 30*time.Minute) {
			t.Errorf("%s %+v: until %s, want %s", c.now, c.a, until.In(zone), c.from)
		}
	}
	moments := map[time.Time]bool{}
	for i := range 60 {
		a := Whom{User: fmt.Sprint("u", i), Local: zone}
		one, _ := h.Until(at("2026-09-29 23:00"), a, off)
		two, _ := h.Until(at("2026-09-30 07:59"), a, off)
		if !one.Equal(two) {
			t.Errorf("%s starts at %s or %s", a.User, one, two)
		}
		moments[one] = true
		a.Deadline = at("2026-09-30 08:02")
		if short, _ := h.Until(at("2026-09-29 23:00"), a, off); !short.Before(a.Deadline) {
			t.Errorf("%s would start at %s, after its deadline", a.User, short)
		}
	}
	if len(moments) < 55 {
		t.Errorf("60 people start at %d moments", len(moments))
	}
}

// A spread ends where the next window begins: nobody's moment is within that, where it would never come.
func TestASpreadEndsWhereTheNextWindowBegins(t *testing.T) {
	t.Parallel()
	off := func(_ string, day time.Time) bool { return Weekends(day) }
	for _, c := range []struct {
		list []posthouse.QuietHours
		room time.Duration // from the end of the night to the next window
	}{
		{[]posthouse.QuietHours{{From: "18:00", To: "09:00", Spread: posthouse.Duration(12 * time.Hour)}}, 9 * time.Hour},
		{[]posthouse.QuietHours{{From: "09:01", To: "09:00", Spread: posthouse.Duration(12 * time.Hour)}}, time.Minute},
		{[]posthouse.QuietHours{{From: "22:00", To: "09:00", Spread: posthouse.Duration(6 * time.Hour)}, {From: "12:00", To: "14:00"}}, 3 * time.Hour},
		{[]posthouse.QuietHours{{From: "22:00", To: "09:00", Spread: posthouse.Duration(6 * time.Hour)}, {From: "12:00", To: "14:00", Kinds: []string{"ads"}}}, 6 * time.Hour},
	} {
		h, latest := Of(c.list), time.Time{}
		now := time.Date(2026, 9, 29, 23, 0, 0, 0, time.UTC)
		end := time.Date(2026, 9, 30, 9, 0, 0, 0, time.UTC)
		for i := range 200 {
			until, held := h.Until(now, Whom{User: fmt.Sprint("u", i), Local: time.UTC}, off)
			if !held || until.Before(end) || !until.Before(end.Add(c.room)) {
				t.Errorf("%+v: u%d waits until %s (%t), want within %s of %s", c.list, i, until, held, c.room, end)
			}
			latest = later(latest, until)
		}
		if latest.Before(end.Add(c.room * 9 / 10)) {
			t.Errorf("%+v: the last of 200 starts at %s, of %s", c.list, latest, c.room)
		}
	}
}

// Settings that hold nobody, never end or contradict each other are refused by name, with an example.
func TestQuietHoursThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	night := posthouse.QuietHours{From: "22:00", To: "08:00"}
	for _, c := range []struct {
		list []posthouse.QuietHours
		want string
	}{
		{[]posthouse.QuietHours{night, {From: "12:00", To: "13:00"}, {From: "21:00", To: "08:30", Kinds: []string{"ads"}}, {From: "00:00", To: "24:00", Days: "days_off"}}, ""},
		{[]posthouse.QuietHours{{From: "22:00", To: "22:00"}}, "q[0].to"},
		{[]posthouse.QuietHours{{From: "00:00", To: "24:00"}}, "q[0].to"},
		{[]posthouse.QuietHours{{From: "22", To: "25:00"}}, "q[0].from q[0].to"},
		{[]posthouse.QuietHours{{From: "24:00", To: "08:00"}}, "q[0].from"},
		{[]posthouse.QuietHours{night, {From: "07:00", To: "09:00"}}, "q[1].from"},
		{[]posthouse.QuietHours{{From: "07:00", To: "09:00"}, night}, "q[1].from"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", TimeZone: "Mars/Base"}}, "q[0].time_zone"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Days: "mondays", Spread: -1}}, "q[0].days q[0].spread"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Calendar: "bank"}}, "q[0].calendar"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Days: "workdays", Calendar: "none"}}, "q[0].calendar"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Kinds: []string{""}}}, "q[0].kinds[0]"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Kinds: []string{}, ExceptKinds: []string{}, Users: []string{}}}, "q[0].kinds q[0].except_kinds q[0].users"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Users: []string{"li.na", "zhang.san", "li.na", "li.na"}}}, "q[0].users[2]"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Kinds: []string{"ads", "ads"}}, {From: "22:00", To: "08:00", ExceptKinds: []string{"otp", "otp"}}}, "q[0].kinds[1] q[1].except_kinds[1]"},
		{[]posthouse.QuietHours{{From: "22:00", To: "08:00", Kinds: []string{"ads", "bills"}, ExceptKinds: []string{"ads"}}}, "q[0].except_kinds"},
		{[]posthouse.QuietHours{night, {From: "08:00", To: "22:00"}}, "q"},
		{[]posthouse.QuietHours{{From: "00:00", To: "24:00", Days: "workdays"}, {From: "00:00", To: "24:00", Days: "days_off", Calendar: "bank"}}, "q"},
		{[]posthouse.QuietHours{night, {From: "07:30", To: "22:00", Kinds: []string{"bills", "ads"}}}, "q"},
		{[]posthouse.QuietHours{night, {From: "08:01", To: "22:00"}}, ""},
		{[]posthouse.QuietHours{night, {From: "08:00", To: "22:00", Days: "days_off"}, {From: "08:00", To: "22:00", Kinds: []string{"ads"}, Days: "workdays", Users: []string{"li.na"}}}, "q"},
		{[]posthouse.QuietHours{night, {From: "08:00", To: "22:00", Days: "days_off"}, {From: "08:00", To: "21:00", Kinds: []string{"ads"}, Days: "workdays", Users: []string{"li.na"}}}, ""},
	} {
		got := ""
		for _, p := range Check("q", c.list, func(name string) bool { return name == "bank" }) {
			got += " " + p.Path
		}
		if got = trim(got); got != c.want {
			t.Errorf("%+v: wrong are %q, want %q", c.list, got, c.want)
		}
	}
	day := posthouse.Duration(24 * time.Hour)
	for want, list := range map[string][]posthouse.Cap{
		"":                            {{Max: 3, Per: day}, {Max: 1, Per: posthouse.Duration(time.Hour)}, {Max: 1, Per: day, Kinds: []string{"ads"}, Then: posthouse.CapSuppress}},
		"c[0].max c[0].per c[0].then": {{Max: 0, Per: 5, Then: "drop"}},
		"c[0].kinds":                  {{Max: 3, Per: day, Kinds: []string{}}},
		"c[0].kinds[1]":               {{Max: 3, Per: day, Kinds: []string{"a", "a", "b"}}},
		"c[1].per":                    {{Max: 3, Per: day, Kinds: []string{"a", "b"}}, {Max: 2, Per: day, Kinds: []string{"b", "a"}}},
	} {
		got := ""
		for _, p := range CheckCaps("c", list) {
			got += " " + p.Path
		}
		if got = trim(got); got != want {
			t.Errorf("%+v: wrong are %q, want %q", list, got, want)
		}
	}
}

func trim(s string) string {
	if s == "" {
		return s
	}
	return s[1:]
}

// Two windows overlap where a minute of the day is in both.
func TestWindowsOverlapWhereAMinuteIsInBoth(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	minutes := func(q *posthouse.QuietHours) (list []int) {
		w := Of([]posthouse.QuietHours{*q})[0]
		for m := w.from; m < w.to; m++ {
			list = append(list, m%dayMinutes)
		}
		return list
	}
	for range 300 {
		var two [2]posthouse.QuietHours
		for i := range two {
			from := rnd.IntN(96) * 15
			to := (from + 15 + rnd.IntN(40)*15) % dayMinutes
			two[i] = posthouse.QuietHours{From: fmt.Sprintf("%02d:%02d", from/60, from%60), To: fmt.Sprintf("%02d:%02d", to/60, to%60)}
		}
		one := minutes(&two[0])
		want := slices.ContainsFunc(minutes(&two[1]), func(m int) bool { return slices.Contains(one, m) })
		if got := overlap(&two[0], &two[1]); got != want {
			t.Errorf("%s–%s and %s–%s: overlap is %v", two[0].From, two[0].To, two[1].From, two[1].To, got)
		}
	}
}

// The hours of a tenant and those of a channel are right each alone, and may leave no time together.
func TestHoursOfATenantAndAChannelMayLeaveNoTime(t *testing.T) {
	t.Parallel()
	night, day := posthouse.QuietHours{From: "22:00", To: "08:00"}, posthouse.QuietHours{From: "08:00", To: "22:00"}
	for _, c := range []struct {
		name            string
		tenant, channel []posthouse.QuietHours
		want            bool
	}{
		{"night and day", []posthouse.QuietHours{night}, []posthouse.QuietHours{day}, true},
		{"the channel has none", []posthouse.QuietHours{night}, nil, false},
		{"an hour is left", []posthouse.QuietHours{night}, []posthouse.QuietHours{{From: "09:00", To: "22:00"}}, false},
		{"workdays and days off", []posthouse.QuietHours{{From: "00:00", To: "24:00", Days: "workdays"}}, []posthouse.QuietHours{{From: "00:00", To: "24:00", Days: "days_off"}}, true},
		{"of a kind", []posthouse.QuietHours{night}, []posthouse.QuietHours{{From: "08:00", To: "22:00", Kinds: []string{"ads"}}}, true},
		{"of a kind that the tenant's do not hold for", []posthouse.QuietHours{{From: "22:00", To: "08:00", ExceptKinds: []string{"ads"}}}, []posthouse.QuietHours{{From: "08:00", To: "22:00", Kinds: []string{"ads"}}}, false},
		{"by two zones, of people with a zone of their own", []posthouse.QuietHours{{From: "22:00", To: "08:00", TimeZone: "Asia/Shanghai"}}, []posthouse.QuietHours{day}, true},
		{"of one person", []posthouse.QuietHours{night}, []posthouse.QuietHours{{From: "08:00", To: "22:00", Users: []string{"li.na"}}}, true},
		{"of two people, each with an hour", []posthouse.QuietHours{night}, []posthouse.QuietHours{{From: "08:00", To: "20:00", Users: []string{"li.na"}}, {From: "10:00", To: "22:00", Users: []string{"john"}}}, false},
		{"of a person and a kind", []posthouse.QuietHours{{From: "22:00", To: "08:00", Kinds: []string{"ads"}}}, []posthouse.QuietHours{{From: "08:00", To: "22:00", Users: []string{"li.na"}}}, true},
		{"a person whom one window leaves alone for good", []posthouse.QuietHours{night}, []posthouse.QuietHours{{From: "00:00", To: "24:00", Users: []string{"li.na"}}}, false},
	} {
		who, got := Covered(c.tenant, c.channel)
		if got != c.want {
			t.Errorf("%s: no time is left: %t, want %t", c.name, got, c.want)
		}
		if of := strings.Contains(c.name, "person"); of != (who == "li.na") && got {
			t.Errorf("%s: to %q", c.name, who)
		}
	}
}

// Hours narrowed to users are refused in one list too, with the user.
func TestHoursThatLeaveAUserNoTimeAreRefused(t *testing.T) {
	t.Parallel()
	list := []posthouse.QuietHours{{From: "22:00", To: "08:00"}, {From: "08:00", To: "22:00", Users: []string{"john", "li.na"}}}
	if got := Check("q", list, nil); len(got) != 1 || got[0].Path != "q" || !strings.HasPrefix(got[0].Message, `leave no time to "john" between them`) {
		t.Errorf("got %+v", got)
	}
}

// One whom a window leaves alone the whole of each day is left alone for good. What a calendar or the week takes away for long has an end that may
// come nearer.
func TestAWholeDayEachDayHasNoEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 30, 16, 0, 0, 0, time.UTC)
	whole := posthouse.QuietHours{From: "00:00", To: "24:00", Users: []string{"li.na"}, Spread: posthouse.Duration(time.Hour)}
	always := func(string, time.Time) bool { return true } // a roster that nobody has filled beyond today
	for name, c := range map[string]struct {
		list []posthouse.QuietHours
		want bool
	}{
		"the whole of each day":           {[]posthouse.QuietHours{whole}, true},
		"beside a night":                  {[]posthouse.QuietHours{{From: "22:00", To: "08:00"}, whole}, true},
		"two that leave no time":          {[]posthouse.QuietHours{{From: "22:00", To: "08:00"}, {From: "08:00", To: "22:00"}}, true},
		"days off of which all are":       {[]posthouse.QuietHours{{From: "00:00", To: "24:00", Days: posthouse.QuietDaysOff}}, false},
		"an hour that is left":            {[]posthouse.QuietHours{{From: "17:00", To: "16:00"}}, false},
		"somebody else's whole day":       {[]posthouse.QuietHours{{From: "15:00", To: "18:00"}, {From: "00:00", To: "24:00", Users: []string{"john"}}}, false},
		"of a kind that is not asked for": {[]posthouse.QuietHours{{From: "15:00", To: "18:00"}, {From: "00:00", To: "24:00", Users: []string{"li.na"}, Kinds: []string{"ads"}}}, false},
	} {
		until, held := Of(c.list).Until(now, Whom{User: "li.na", Local: time.UTC, Deadline: now.Add(time.Hour)}, always)
		if got := until.Equal(Never); got != c.want || !held && name != "an hour that is left" {
			t.Errorf("%s: until %s (held %t), want no end: %t", name, until, held, c.want)
		}
		if !c.want && until.After(now.Add(61*24*time.Hour)) {
			t.Errorf("%s: until %s, want a time to look again", name, until)
		}
	}
}
