package ical_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ical"
	"github.com/posthouse/posthouse/rule"
)

// book is a directory: ids by what they are called.
type book map[string][]string

func (b book) Called(_ context.Context, text string) ([]string, error) { return b[text], nil }

// people are a directory with two of one name.
var people = book{
	"li.na": {"li.na"}, "李娜": {"li.na"}, "li.na@example.com": {"li.na"}, "wang.fang": {"wang.fang"}, "王芳": {"wang.fang"}, "Zhao, Min": {"zhao.min"}, "zhao.min": {"zhao.min"}, "王伟": {"wang.wei.1", "wang.wei.2"},
}

// monday is when calendars of tests are read: Monday, November 23rd, 2026, noon in Shanghai.
var monday = time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)

func read(t testing.TB, text string, change ...func(*ical.Options)) (posthouse.Roster, []posthouse.Problem) {
	t.Helper()
	o := ical.Options{Zone: "Asia/Shanghai", Now: monday, People: people}
	for _, f := range change {
		f(&o)
	}
	roster, problems, err := ical.Read(t.Context(), []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return roster, problems
}

// calendar is one with events, each of some lines.
func calendar(events ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
	for _, e := range events {
		b.WriteString("BEGIN:VEVENT\r\n" + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n")
	}
	b.WriteString("END:VCALENDAR\r\n")
	return b.String()
}

type days = map[string][]string

func TestEventsBecomeDaysAndDates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text             string
		days, dates      days
		handOver, zone   string
		change           func(*ical.Options)
		missing, counted int // dates that are not listed: how many there are is enough
	}{
		"a whole day":                                 {text: calendar("DTSTART;VALUE=DATE:20261125\nDTEND;VALUE=DATE:20261126\nSUMMARY:李娜"), dates: days{"2026-11-25": {"li.na"}}},
		"without an end, a day":                       {text: calendar("DTSTART;VALUE=DATE:20261125\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"whole days to the last":                      {text: calendar("DTSTART;VALUE=DATE:20261130\nDTEND;VALUE=DATE:20261203\nSUMMARY:li.na"), dates: days{"2026-11-30": {"li.na"}, "2026-12-01": {"li.na"}, "2026-12-02": {"li.na"}}},
		"days by a length":                            {text: calendar("DTSTART;VALUE=DATE:20261125\nDURATION:P2D\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}, "2026-11-26": {"li.na"}}},
		"a night counts to the day it begins":         {text: calendar("DTSTART:20261125T200000\nDTEND:20261126T080000\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"a length of hours":                           {text: calendar("DTSTART:20261125T200000\nDURATION:PT12H\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"days covered to their end":                   {text: calendar("DTSTART:20261125T090000\nDTEND:20261127T180000\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}, "2026-11-26": {"li.na"}}},
		"from hand-over to hand-over":                 {text: calendar("DTSTART:20261125T083000\nDTEND:20261128T083000\nSUMMARY:li.na"), handOver: "08:30", dates: days{"2026-11-25": {"li.na"}, "2026-11-26": {"li.na"}, "2026-11-27": {"li.na"}}},
		"before the hand-over":                        {text: calendar("DTSTART:20261125T060000\nDTEND:20261125T080000\nSUMMARY:li.na"), handOver: "08:30", dates: days{"2026-11-24": {"li.na"}}},
		"UTC":                                         {text: calendar("DTSTART:20261124T170000Z\nDTEND:20261124T180000Z\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"a zone by name":                              {text: calendar("DTSTART;TZID=America/New_York:20261124T120000\nDTEND;TZID=America/New_York:20261124T130000\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"a zone behind a prefix":                      {text: calendar("DTSTART;TZID=/example.com/2026a/America/New_York:20261124T110000\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}}},
		"each week without an end":                    {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na"), days: days{"1": {"li.na"}}},
		"each week on several days":                   {text: calendar("DTSTART:20200106T080000\nDURATION:PT8H\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;WKST=SU\nSUMMARY:li.na"), days: days{"1": {"li.na"}, "3": {"li.na"}, "5": {"li.na"}}},
		"each day without an end":                     {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=DAILY\nSUMMARY:li.na"), days: days{"1": {"li.na"}, "2": {"li.na"}, "3": {"li.na"}, "4": {"li.na"}, "5": {"li.na"}, "6": {"li.na"}, "7": {"li.na"}}},
		"each week for a weekend":                     {text: calendar("DTSTART;VALUE=DATE:20200104\nDTEND;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na"), days: days{"6": {"li.na"}, "7": {"li.na"}}},
		"each week, in another zone":                  {text: calendar("DTSTART;TZID=America/New_York:20200106T200000\nDURATION:PT4H\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na"), days: days{"2": {"li.na"}}},
		"two weeks, then an end":                      {text: calendar("DTSTART;VALUE=DATE:20261124\nRRULE:FREQ=WEEKLY;COUNT=2\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}, "2026-12-01": {"li.na"}}},
		"until a date, which counts":                  {text: calendar("DTSTART;VALUE=DATE:20261124\nRRULE:FREQ=DAILY;UNTIL=20261125\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}, "2026-11-25": {"li.na"}}},
		"until a moment":                              {text: calendar("DTSTART:20261124T100000\nRRULE:FREQ=DAILY;UNTIL=20261126T015959Z\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}, "2026-11-25": {"li.na"}}},
		"every other week, counted in weeks":          {text: calendar("DTSTART;VALUE=DATE:20261125\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=4\nSUMMARY:li.na"), dates: days{"2026-11-25": {"li.na"}, "2026-12-07": {"li.na"}, "2026-12-09": {"li.na"}, "2026-12-21": {"li.na"}}},
		"weeks that begin on Sunday":                  {text: calendar("DTSTART;VALUE=DATE:20261124\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=3;WKST=SU\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}, "2026-12-06": {"li.na"}, "2026-12-08": {"li.na"}}},
		"every other week without an end, for a year": {text: calendar("DTSTART;VALUE=DATE:20000103\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:li.na"), counted: 28},
		"left out":                                    {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nEXDATE;VALUE=DATE:20261130,20261214\nSUMMARY:li.na"), days: days{"1": {"li.na"}}, dates: days{"2026-11-30": {}, "2026-12-14": {}}},
		"left out by a moment":                        {text: calendar("DTSTART;TZID=Asia/Shanghai:20200106T083000\nDURATION:PT24H\nRRULE:FREQ=WEEKLY\nEXDATE:20261130T003000Z\nSUMMARY:li.na"), days: days{"1": {"li.na"}}, dates: days{"2026-11-30": {}}},
		"left out, where nothing was":                 {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nEXDATE;VALUE=DATE:20261201,20191230\nSUMMARY:li.na"), days: days{"1": {"li.na"}}},
		"replaced":                                    {text: calendar("UID:a\nDTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na", "UID:a\nRECURRENCE-ID;VALUE=DATE:20261130\nDTSTART;VALUE=DATE:20261201\nSUMMARY:wang.fang"), days: days{"1": {"li.na"}}, dates: days{"2026-11-30": {}, "2026-12-01": {"wang.fang"}}},
		"one of them cancelled":                       {text: calendar("UID:a\nRECURRENCE-ID;VALUE=DATE:20261130\nSTATUS:CANCELLED", "UID:a\nDTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na"), days: days{"1": {"li.na"}}, dates: days{"2026-11-30": {}}},
		"cancelled":                                   {text: calendar("DTSTART;VALUE=DATE:20261124\nSTATUS:CANCELLED\nSUMMARY:wang.fang", "DTSTART;VALUE=DATE:20261124\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}}},
		"further dates":                               {text: calendar("DTSTART;VALUE=DATE:20261124\nRDATE;VALUE=DATE:20261126,20270101\nSUMMARY:li.na"), dates: days{"2026-11-24": {"li.na"}, "2026-11-26": {"li.na"}, "2027-01-01": {"li.na"}}},
		"beside a day of the week":                    {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na", "DTSTART;VALUE=DATE:20261130\nSUMMARY:wang.fang"), days: days{"1": {"li.na"}}, dates: days{"2026-11-30": {"li.na", "wang.fang"}}},
		"a day of the week that begins later": {text: calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY;UNTIL=20261130\nSUMMARY:li.na", "DTSTART;VALUE=DATE:20261214\nRRULE:FREQ=WEEKLY\nSUMMARY:wang.fang"),
			days: days{"1": {"wang.fang"}}, dates: days{"2026-10-26": {"li.na"}, "2026-11-02": {"li.na"}, "2026-11-09": {"li.na"}, "2026-11-16": {"li.na"}, "2026-11-23": {"li.na"}, "2026-11-30": {"li.na"}, "2026-12-07": {}}},
		"attendees":                {text: calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:on call\nATTENDEE;CN=\"Zhao, Min\":mailto:z@example.com\nATTENDEE:MAILTO:li.na@example.com\nATTENDEE;PARTSTAT=DECLINED:mailto:x@example.com\nATTENDEE;CUTYPE=ROOM:mailto:room@example.com"), dates: days{"2026-11-24": {"zhao.min", "li.na"}}},
		"by what is before the @":  {text: calendar("DTSTART;VALUE=DATE:20261124\nATTENDEE:mailto:wang.fang@example.net"), dates: days{"2026-11-24": {"wang.fang"}}},
		"the summary all the same": {text: calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:值班：李娜、王芳\nATTENDEE:mailto:x@example.com"), dates: days{"2026-11-24": {"li.na", "wang.fang"}}, change: func(o *ical.Options) { o.By = ical.BySummary }},
		"names of others":          {text: calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:On call: Nana\\, 王伟"), dates: days{"2026-11-24": {"li.na", "wang.wei.1"}}, change: func(o *ical.Options) { o.As = map[string]string{"Nana": "li.na", "王伟": "wang.wei.1"} }},
		"names of nobody, kept":    {text: calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:duty: ma.chao"), dates: days{"2026-11-24": {"ma.chao"}}, change: func(o *ical.Options) { o.Keep = true }},
		"lines that are folded, in a character too, and end in any way": {text: "\ufeffbegin:vcalendar\nBEGIN:VEVENT\r\nDTSTART;VALUE=\r\n DATE:20261\n\t124\rSUMMARY:\xe6\r\n \x9d\r\n \x8e娜\r\n\r\nBEGIN:VALARM\nSUMMARY:no\nDTSTART:no\nEND:VALARM\nEND:VEVENT\nBEGIN:VTODO\nSUMMARY:x\nEND:VTODO\nend:vcalendar", dates: days{"2026-11-24": {"li.na"}}},
		"our own hand-over and zone":                                    {text: "BEGIN:VCALENDAR\nX-POSTHOUSE-HAND-OVER:08:30\nX-POSTHOUSE-TIME-ZONE:UTC\nEND:VCALENDAR", handOver: "12:00", change: func(o *ical.Options) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := read(t, c.text, func(o *ical.Options) { o.Roster.HandOver, o.Roster.TimeZone = c.handOver, c.zone }, func(o *ical.Options) {
				if c.change != nil {
					c.change(o)
				}
			})
			if len(problems) > 0 {
				t.Fatalf("problems: %v", problems)
			}
			if c.counted > 0 {
				if len(got.Overrides) != c.counted || len(got.Days) > 0 {
					t.Errorf("%d dates, want %d: %v", len(got.Overrides), c.counted, got)
				}
				return
			}
			want := posthouse.Roster{Days: c.days, Overrides: c.dates, HandOver: c.handOver, TimeZone: c.zone}
			if strings.HasPrefix(name, "our own") {
				want.HandOver, want.TimeZone = "08:30", "UTC"
			}
			if diff := cmp.Diff(whole(want), whole(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// whole is a roster without what means nothing: a day of the week with nobody, a map that is not there.
func whole(r posthouse.Roster) posthouse.Roster {
	r.Days, r.Overrides = maps.Clone(r.Days), maps.Clone(r.Overrides)
	maps.DeleteFunc(r.Days, func(_ string, users []string) bool { return len(users) == 0 })
	if r.Days == nil {
		r.Days = days{}
	}
	if r.Overrides == nil {
		r.Overrides = days{}
	}
	for date, users := range r.Overrides {
		r.Overrides[date] = append([]string{}, users...)
	}
	return r
}

// A zone that only the calendar knows: its changes of clocks hold.
func TestAZoneThatTheCalendarDescribes(t *testing.T) {
	t.Parallel()
	zone := "BEGIN:VTIMEZONE\nTZID:Our Office\nBEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\n" +
		"BEGIN:DAYLIGHT\nDTSTART:16010101T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\nEND:DAYLIGHT\nEND:VTIMEZONE\n"
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC); at.Year() == 2026; at = at.Add(7 * time.Hour) {
		local := at.In(berlin).Format("20060102T150405")
		text := "BEGIN:VCALENDAR\n" + zone + "BEGIN:VEVENT\nDTSTART;TZID=\"Our Office\":" + local + "\nSUMMARY:li.na\nEND:VEVENT\nEND:VCALENDAR"
		got, problems := read(t, text, func(o *ical.Options) { o.Zone = "UTC" })
		if _, there := got.Overrides[at.Format(time.DateOnly)]; !there && local[:8]+local[9:11] != "2026102502" { // which is there twice
			t.Fatalf("%s is %v, %v, want it on %s", local, got.Overrides, problems, at.Format(time.DateOnly))
		}
	}
}

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	event := func(lines string) string { return calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:li.na\n" + lines) }
	many := func(n int, each string) string { return calendar(slices.Repeat([]string{each}, n)...) }
	for name, c := range map[string]struct{ text, path, want string }{
		"nothing":                 {"", "file", "it is empty"},
		"no calendar":             {"<html>", "line 1", "a line of a calendar is NAME:VALUE"},
		"another component":       {"BEGIN:VCARD\nEND:VCARD", "line 1", "a calendar begins with BEGIN:VCALENDAR"},
		"no end":                  {"BEGIN:VCALENDAR\nBEGIN:VEVENT", "file", "it ends without END:VEVENT"},
		"another end":             {"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR", "line 3", "is END:VCALENDAR where END:VEVENT is expected"},
		"no event":                {"BEGIN:VCALENDAR\nEND:VCALENDAR", "file", "it has no event"},
		"not UTF-8":               {event("X-A:\xff"), "line 6", "is not UTF-8"},
		"deep":                    {"BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:A\n", 9), "line 9", "stands within 8 others"},
		"long":                    {strings.Repeat("X", ical.MaxText+1), "file", "it has more than 1048576 bytes"},
		"no beginning":            {calendar("SUMMARY:li.na"), "line 3", "an event without DTSTART"},
		"a wrong date":            {calendar("DTSTART:20261324\nSUMMARY:li.na"), "line 4", `is "20261324": want a date such as 20261125`},
		"year 9999":               {calendar("DTSTART;VALUE=DATE:99991231\nSUMMARY:li.na"), "line 4", "is of no year from 1970 to 2999"},
		"an end in the year 9999": {event("DTEND;VALUE=DATE:99991231"), "line 6", "is of no year"},
		"a long event":            {event("DTEND;VALUE=DATE:20291231"), "line 6", "the event lasts more than 366 days"},
		"an end before":           {event("DTEND;VALUE=DATE:20261101"), "line 6", "the event ends before it begins"},
		"an end of another kind":  {event("DTEND:20261125T080000"), "line 6", "is a date where DTSTART is a time"},
		"a wrong length":          {event("DURATION:P1Y"), "line 6", `is "P1Y": want a length such as PT12H or P1D`},
		"a huge length":           {event("DURATION:P9999W"), "line 6", "the event lasts more than 366 days"},
		"a zone that is not":      {calendar("DTSTART;TZID=Mars/Crater:20261124T080000\nSUMMARY:li.na"), "line 4", `is in the time zone "Mars/Crater", which there is not`},
		"a zone of the machine":   {calendar("DTSTART;TZID=Local:20261124T080000\nSUMMARY:li.na"), "line 4", `is in the time zone "Local"`},
		"a path for a zone":       {calendar("DTSTART;TZID=../../etc/passwd:20261124T080000\nSUMMARY:li.na"), "line 4", "which there is not"},
		"each second":             {event("RRULE:FREQ=SECONDLY"), "line 6", "repeats SECONDLY: what repeats DAILY or WEEKLY is read"},
		"no frequency":            {event("RRULE:COUNT=2"), "line 6", "says not how often it repeats"},
		"a rule of hours":         {event("RRULE:FREQ=DAILY;BYHOUR=1,2,3"), "line 6", `repeats by "BYHOUR", which is not read`},
		"an interval of none":     {event("RRULE:FREQ=DAILY;INTERVAL=0"), "line 6", "has INTERVAL=0: want a whole number from 1 to 10000"},
		"a huge count":            {event("RRULE:FREQ=DAILY;COUNT=99999999999999999999"), "line 6", "has COUNT=99999999999999999999"},
		"the first Monday":        {event("RRULE:FREQ=WEEKLY;BYDAY=1MO"), "line 6", `repeats by the day "1MO": want MO to SU`},
		"left out by a rule":      {event("EXRULE:FREQ=DAILY"), "line 6", "is not read: leave dates out by EXDATE"},
		"all that follows":        {event("RECURRENCE-ID;RANGE=THISANDFUTURE;VALUE=DATE:20261201"), "line 6", "changes all that follows"},
		"a period":                {event("RDATE;VALUE=PERIOD:20261201T080000Z/PT5H"), "line 6", "want a date such as"},
		"nobody":                  {calendar("DTSTART;VALUE=DATE:20261124\nSUMMARY:on call: "), "line 3", "the event names nobody: want users in its attendees or its summary"},
		"somebody unknown":        {calendar("DTSTART;VALUE=DATE:20261124\nX-A:1\nSUMMARY:李娜\\, 某人"), "line 6", `"某人" is nobody of the directory, neither by id nor by name or address: say who it is`},
		"a name of two":           {calendar("DTSTART;VALUE=DATE:20261124\nATTENDEE;CN=王伟:mailto:w@example.com"), "line 5", `"王伟" may be wang.wei.1 or wang.wei.2: say who it is`},
		"a user twice on a date":  {calendar("DTSTART;VALUE=DATE:20261124\nDURATION:P3D\nSUMMARY:li.na", "DTSTART:20261125T080000\nSUMMARY:李娜"), "line 8", "\"li.na\" is on duty on 2026-11-25 by line 3 too"},
		"a user twice each week":  {calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nSUMMARY:li.na", "DTSTART;VALUE=DATE:20200108\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE\nSUMMARY:李娜"), "line 8", "\"li.na\" is on duty on Monday by line 3 too"},
		"many events":             {many(5001, "DTSTART:20261124"), "file", "it has 5001 events: at most 5000 are read"},
		"many that repeat":        {many(501, "DTSTART:20261124\nRRULE:FREQ=WEEKLY;COUNT=1\nSUMMARY:li.na"), "file", "501 of its events repeat: at most 500 are read"},
		"many duties":             {many(400, "DTSTART:20261124\nDURATION:P300D\nX-POSTHOUSE-USERS:a"), "line 333", "more than 20000 duties of single dates"},
		"many people":             {peopleOf(501), "file", "it names more than 500 different people"},
		"many changes of clocks":  {"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\n" + strings.Repeat("BEGIN:STANDARD\nEND:STANDARD\n", 201) + "END:VTIMEZONE\n" + event("")[17:], "file", "its time zones change clocks in 201 ways"},
		"a zone of seconds":       {"BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nBEGIN:STANDARD\nRRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\nEND:VCALENDAR", "line 4", "is not read in a time zone"},
		"a hand-over of ours":     {"BEGIN:VCALENDAR\nX-POSTHOUSE-HAND-OVER:late\nEND:VCALENDAR", "hand_over", "is not a time of day"},
		"a zone of ours":          {"BEGIN:VCALENDAR\nX-POSTHOUSE-TIME-ZONE:Mars\nEND:VCALENDAR", "time_zone", "is not a time zone"},
		"a user of ours":          {calendar("DTSTART:20261124\nX-POSTHOUSE-USERS: a"), "line 5", "begins or ends with a space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := posthouse.Roster{Days: days{"1": {"before"}}}
			got, problems := read(t, c.text, func(o *ical.Options) { o.Roster = before })
			if !slices.ContainsFunc(problems, func(p posthouse.Problem) bool { return p.Path == c.path && strings.Contains(p.Message, c.want) }) {
				t.Errorf("got %v, want %s: %s", problems, c.path, c.want)
			}
			if diff := cmp.Diff(before, got); diff != "" || len(problems) > 100 {
				t.Errorf("%d problems, and the roster was changed:\n%s", len(problems), diff)
			}
		})
	}
}

// peopleOf is a calendar of n people.
func peopleOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\\, p%d", i)
	}
	return calendar("DTSTART:20261124\nSUMMARY:" + b.String())
}

// What Write writes, Read reads as the same roster, over whatever other one.
func TestARosterGoesThroughACalendarUnchanged(t *testing.T) {
	t.Parallel()
	user := rapid.OneOf(rapid.SampledFrom([]string{"li.na", "wang.fang", `a,b;c\`, "王芳: 夜班", "x\\n", strings.Repeat("张三", 20)}), rapid.StringMatching(`[a-zA-Z0-9一-三,;:\\"=]{1,20}`))
	users := rapid.SliceOfNDistinct(user, 0, 4, func(s string) string { return s })
	date := rapid.Custom(func(t *rapid.T) string {
		return monday.AddDate(0, 0, rapid.IntRange(-900, 900).Draw(t, "day")).Format(time.DateOnly)
	})
	rapid.Check(t, func(t *rapid.T) {
		want := posthouse.Roster{
			Name: rapid.SampledFrom([]string{"duty", "夜班; 总行"}).Draw(t, "name"), UpdatedAt: monday,
			Days:      rapid.MapOfN(rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", "7"}), users, 0, 7).Draw(t, "days"),
			Overrides: rapid.MapOfN(date, users, 0, 30).Draw(t, "overrides"),
			HandOver:  rapid.SampledFrom([]string{"", "00:00", "08:30", "02:30", "23:59"}).Draw(t, "hand-over"),
			TimeZone:  rapid.SampledFrom([]string{"", "UTC", "Asia/Shanghai", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe"}).Draw(t, "zone"),
		}
		now := monday.Add(time.Duration(rapid.IntRange(-365*24, 365*24).Draw(t, "now")) * time.Hour)
		text := written(t, want, now)
		got, problems, err := ical.Read(context.Background(), text, ical.Options{
			Roster: posthouse.Roster{Name: want.Name, UpdatedAt: monday, HandOver: "12:00", TimeZone: "Asia/Tokyo"}, Zone: "Asia/Shanghai", Now: now, People: book{},
		})
		if diff := cmp.Diff(whole(want), whole(got)); err != nil || diff != "" {
			t.Fatalf("%v, %v\n%s\n-want +got:\n%s", err, problems, text, diff)
		}
	})
}

// failer is what a test and a property share.
type failer interface{ Fatalf(string, ...any) }

func written(t failer, roster posthouse.Roster, now time.Time) []byte {
	zone, err := rule.Zone(roster, "Asia/Shanghai")
	if err != nil {
		t.Fatalf("%v", err)
	}
	var b bytes.Buffer
	if err := ical.Write(&b, roster, zone, now); err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes()
}

// The calendar has an event for each day of the week and each date, and no line that is too long or cuts a character.
func TestWrite(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("张三李四", 30)
	roster := posthouse.Roster{Name: "duty", UpdatedAt: monday, Days: days{"1": {"a;b", long}, "3": {"x"}}, Overrides: days{"2026-11-25": {"c"}, "2026-11-26": {}}}
	text := string(written(t, roster, monday))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !strings.Contains(strings.ToValidUTF8(line, "?"), line) {
			t.Errorf("the line %q has %d bytes", line, len(line))
		}
	}
	unfolded := strings.ReplaceAll(text, "\r\n ", "")
	for _, want := range []string{
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", "METHOD:PUBLISH\r\nX-WR-CALNAME:duty\r\n",
		"UID:day-1-duty@posthouse\r\nDTSTAMP:20261123T040000Z\r\nDTSTART;VALUE=DATE:20261005\r\nDTEND;VALUE=DATE:20261006\r\nRRULE:FREQ=WEEKLY\r\nSUMMARY:duty: a\\;b\\, " + long + "\r\nX-POSTHOUSE-USERS:a\\;b," + long + "\r\n",
		"UID:day-3-duty@posthouse\r\nDTSTAMP:20261123T040000Z\r\nDTSTART;VALUE=DATE:20261007\r\nDTEND;VALUE=DATE:20261008\r\nRRULE:FREQ=WEEKLY\r\nEXDATE;VALUE=DATE:20261125\r\n",
		"UID:2026-11-25-duty@posthouse\r\n", "SUMMARY:duty: c\r\n", "SUMMARY:duty: —\r\nX-POSTHOUSE-USERS:\r\n", "END:VCALENDAR\r\n",
	} {
		if !strings.Contains(unfolded, want) {
			t.Errorf("the calendar lacks %q:\n%s", want, unfolded)
		}
	}
	if n := strings.Count(text, "BEGIN:VEVENT"); n != 4 || strings.Contains(text, "VTIMEZONE") {
		t.Errorf("%d events, want 4 of whole days:\n%s", n, text)
	}
	roster.HandOver, roster.TimeZone = "08:30", "America/New_York"
	text = string(written(t, roster, monday))
	for _, want := range []string{
		"DTSTART;TZID=America/New_York:20261125T083000\r\nDTEND;TZID=America/New_York:20261126T083000\r\n", "EXDATE;TZID=America/New_York:20261125T083000\r\n",
		"BEGIN:VTIMEZONE\r\nTZID:America/New_York\r\nBEGIN:DAYLIGHT\r\nDTSTART:20260930T200000\r\nTZOFFSETFROM:-0400\r\nTZOFFSETTO:-0400\r\nTZNAME:EDT\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\nDTSTART:20261101T020000\r\nTZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("with a hand-over the calendar lacks %q:\n%s", want, text)
		}
	}
}

// Whatever a file holds, it is read to its end: as a roster that holds what it says, or with problems.
func FuzzRead(f *testing.F) {
	f.Add(calendar("DTSTART;VALUE=DATE:20200106\nRRULE:FREQ=WEEKLY\nEXDATE;VALUE=DATE:20261130\nSUMMARY:li.na", "DTSTART:20261124T170000Z\nDURATION:PT8H\nATTENDEE;CN=李娜:mailto:li.na@example.com"))
	f.Add("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:z\nBEGIN:STANDARD\nDTSTART:16010101T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nRRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\nDTSTART;TZID=z:20261124T080000\nSUMMARY:li.na\nEND:VEVENT\nEND:VCALENDAR")
	f.Add(strings.Repeat("A;B=", 50) + "\x00\r\r\n \n")
	f.Fuzz(func(t *testing.T, text string) {
		roster, problems := read(t, text, func(o *ical.Options) { o.Keep = true })
		if wrong := rule.Validate(roster); len(wrong) > 0 {
			t.Errorf("%v\n%q", wrong, text)
		}
		if len(problems) > 100 {
			t.Errorf("%d problems", len(problems))
		}
	})
}
