package ical

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// Lines of ours. Calendars pass over those that they do not know.
const (
	titleLine    = "X-WR-CALNAME"
	handOverLine = "X-POSTHOUSE-HAND-OVER"
	timeZoneLine = "X-POSTHOUSE-TIME-ZONE"
	usersLine    = "X-POSTHOUSE-USERS" // ids with commas between; none for nobody
)

// Write writes a roster as an iCalendar that calendars subscribe to, and that Read reads as the same roster: an event that repeats
// each week for each day of the week, without the dates that have users of their own, and an event for each of those. Duty that
// begins at midnight is of whole days, other duty of the times at which it begins and ends in the roster's zone. The week begins
// with the month before now.
func Write(w io.Writer, roster posthouse.Roster, zone *time.Location, now time.Time) error {
	out := writer{w: bufio.NewWriter(w), roster: roster, zone: zone}
	local := now.In(zone)
	first := time.Date(local.Year(), local.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	out.line("BEGIN:VCALENDAR")
	out.line("VERSION:2.0")
	out.line("PRODID:-//Posthouse//Roster//EN")
	out.line("METHOD:PUBLISH")
	out.line(titleLine + ":" + escaped(roster.Name))
	out.line(handOverLine + ":" + escaped(roster.HandOver))
	out.line(timeZoneLine + ":" + escaped(roster.TimeZone))
	out.line("REFRESH-INTERVAL;VALUE=DURATION:PT1H")
	out.line("X-PUBLISHED-TTL:PT1H")
	if out.timed() && zone != time.UTC {
		out.timeZone(first)
	}
	for i := range 7 {
		day := first.AddDate(0, 0, i)
		if name := strconv.Itoa(weekdayOf(dayOf(day)) + 1); len(roster.Days[name]) > 0 {
			out.event("day-"+name, day, roster.Days[name], true)
		}
	}
	for _, date := range slices.Sorted(maps.Keys(roster.Overrides)) {
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return fmt.Errorf("write the roster as a calendar: override %.40q: %w", date, err)
		}
		out.event(date, day, roster.Overrides[date], false)
	}
	out.line("END:VCALENDAR")
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("write the roster as a calendar: %w", err)
	}
	return nil
}

// writer writes lines; the buffer keeps the first error.
type writer struct {
	w      *bufio.Writer
	roster posthouse.Roster
	zone   *time.Location
}

// timed reports whether duty begins at another time than midnight.
func (o writer) timed() bool { return o.roster.HandOver != "" && o.roster.HandOver != "00:00" }

func (o writer) event(id string, day time.Time, users []string, weekly bool) {
	o.line("BEGIN:VEVENT")
	o.line("UID:" + id + "-" + escaped(o.roster.Name) + "@posthouse")
	o.line("DTSTAMP:" + o.roster.UpdatedAt.UTC().Format(utcTime))
	o.line("DTSTART" + o.begin(day))
	o.line("DTEND" + o.begin(day.AddDate(0, 0, 1)))
	if weekly {
		o.line("RRULE:FREQ=WEEKLY")
		for _, date := range slices.Sorted(maps.Keys(o.roster.Overrides)) {
			if own, err := time.Parse(time.DateOnly, date); err == nil && own.Weekday() == day.Weekday() && !own.Before(day) {
				o.line("EXDATE" + o.begin(own))
			}
		}
	}
	said := strings.Join(users, ", ")
	if len(users) == 0 {
		said = "—"
	}
	o.line("SUMMARY:" + escaped(o.roster.Name+": "+said))
	ids := make([]string, len(users))
	for i, user := range users {
		ids[i] = escaped(user)
	}
	o.line(usersLine + ":" + strings.Join(ids, ","))
	o.line("TRANSP:TRANSPARENT")
	o.line("END:VEVENT")
}

// begin is when the duty of a day begins, as the value of a line with its parameters.
func (o writer) begin(day time.Time) string {
	switch {
	case !o.timed():
		return ";VALUE=DATE:" + day.Format(dateForm)
	case o.zone == time.UTC:
		return ":" + day.Format(dateForm) + "T" + strings.Replace(o.roster.HandOver, ":", "", 1) + "00Z"
	}
	return ";TZID=" + o.zone.String() + ":" + day.Format(dateForm) + "T" + strings.Replace(o.roster.HandOver, ":", "", 1) + "00"
}

// zoneYears is how long ahead the calendar says when clocks change; programs know most zones by their names.
const zoneYears = 10

// timeZone describes the zone: by how much it differs from UTC at first, and each change from then on.
func (o writer) timeZone(first time.Time) {
	o.line("BEGIN:VTIMEZONE")
	o.line("TZID:" + o.zone.String())
	at := first.In(o.zone)
	_, was := at.Zone()
	o.change(at, was)
	for {
		_, next := at.ZoneBounds()
		if next.IsZero() || next.Year() > first.Year()+zoneYears {
			break
		}
		o.change(next, was)
		_, was = next.Zone()
		at = next
	}
	o.line("END:VTIMEZONE")
}

// change is the moment from which clocks differ from UTC as they do then; before it they differed by was seconds.
func (o writer) change(at time.Time, was int) {
	kind := "STANDARD"
	if at.IsDST() {
		kind = "DAYLIGHT"
	}
	name, is := at.Zone()
	o.line("BEGIN:" + kind)
	o.line("DTSTART:" + at.UTC().Add(time.Duration(was)*time.Second).Format(wallTime))
	o.line("TZOFFSETFROM:" + offsetText(was))
	o.line("TZOFFSETTO:" + offsetText(is))
	o.line("TZNAME:" + name)
	o.line("END:" + kind)
}

// offsetText writes seconds as +0800.
func offsetText(seconds int) string {
	layout := "-0700"
	if seconds%60 != 0 {
		layout = "-070000"
	}
	return time.Unix(0, 0).In(time.FixedZone("", seconds)).Format(layout)
}

// maxLine is how many bytes a line may have before it is folded (RFC 5545, 3.1).
const maxLine = 75

// line writes a line, folded between characters where it is long.
func (o writer) line(text string) {
	room := maxLine
	for len(text) > room {
		cut := room
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		_, _ = o.w.WriteString(text[:cut] + "\r\n ")
		text, room = text[cut:], maxLine-1
	}
	_, _ = o.w.WriteString(text + "\r\n")
}

// escaped escapes a text (RFC 5545, 3.3.11). Users and names hold no control characters.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r", "", "\n", `\n`).Replace(text)
}
