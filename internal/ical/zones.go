package ical

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// clock says what clocks somewhere show. A wall time is what they show, written as a time in UTC.
type clock interface {
	at(wall time.Time) time.Time  // the moment at which they show it
	shows(at time.Time) time.Time // the wall time of a moment
}

// place is a zone of the zone database.
type place struct{ *time.Location }

// is reports whether it is the zone of a name.
func (p place) is(name string) bool { return p.String() == name }

func (p place) at(wall time.Time) time.Time {
	year, month, day := wall.Date()
	return time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), 0, p.Location)
}

func (p place) shows(at time.Time) time.Time {
	_, offset := at.In(p.Location).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// ownZone is one that the calendar describes (RFC 5545, 3.6.5).
type ownZone struct {
	name, place string
	shifts      []*clockChange
	onsets      []onset       // of all of them, in order
	before      time.Duration // the offset before the first
}

// clockChange is when clocks are set, and by how much they differ from UTC then.
type clockChange struct {
	at   int
	from time.Time // the wall time of the first
	was  time.Duration
	is   time.Duration
	yearly
	dates []time.Time
}

// yearly is a day of each year: of a month the nth of a day of the week, from its end where n is below 0, or a day by its number.
type yearly struct {
	each    bool
	month   time.Month
	weekday int // 0 for Monday
	nth     int // 0 for a day by its number
	day     int
	until   time.Time
}

// take takes a line of a change of clocks, and says what is wrong with it.
func (c *clockChange) take(l line) (wrong string) {
	var ok bool
	switch l.name {
	case "DTSTART":
		t, err := time.Parse(wallTime, l.value)
		c.from, ok = t, err == nil
	case "TZOFFSETFROM":
		c.was, ok = offsetOf(l.value)
	case "TZOFFSETTO":
		c.is, ok = offsetOf(l.value)
	case "RDATE":
		for value := range strings.SplitSeq(l.value, ",") {
			t, err := time.Parse(wallTime, value)
			if c.dates = append(c.dates, t); err != nil {
				return "is " + strconv.Quote(value) + ": want a time such as 20261025T030000"
			}
		}
		return ""
	case "RRULE":
		c.yearly, ok = yearlyOf(l.value)
	default:
		return ""
	}
	if !ok {
		return "is " + strconv.Quote(l.value) + ", which is not read in a time zone: name the zone by its IANA name"
	}
	return ""
}

// offsetOf reads +0800 or -033015.
func offsetOf(text string) (time.Duration, bool) {
	for _, layout := range []string{"-0700", "-070000"} {
		if t, err := time.Parse(layout, text); err == nil {
			_, seconds := t.Zone()
			return time.Duration(seconds) * time.Second, true
		}
	}
	return 0, false
}

// yearlyOf reads FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU, or with BYMONTHDAY.
func yearlyOf(text string) (y yearly, ok bool) {
	y.each = true
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.ToUpper(part), "=")
		n, err := strconv.Atoi(value)
		switch name {
		case "FREQ":
			ok = value == "YEARLY"
		case "INTERVAL":
			ok = ok && n == 1
		case "BYMONTH":
			y.month = time.Month(n)
			ok = ok && err == nil && n >= 1 && n <= 12
		case "BYMONTHDAY":
			y.day = n
			ok = ok && err == nil && n >= 1 && n <= 31
		case "BYDAY":
			day := max(len(value)-2, 0)
			y.nth, err = strconv.Atoi(value[:day])
			y.weekday = weekdayNamed(value[day:])
			ok = ok && err == nil && y.nth != 0 && y.nth >= -5 && y.nth <= 5 && y.weekday >= 0
		case "UNTIL":
			y.until, err = time.Parse(utcTime, value)
			ok = ok && err == nil
		case "WKST":
		default:
			return y, false
		}
	}
	return y, ok && (y.day == 0 || y.nth == 0)
}

// in is the day in a year.
func (y yearly) in(year int, first time.Time) time.Time {
	month := y.month
	if month == 0 {
		month = first.Month()
	}
	clock := first.Sub(first.Truncate(24 * time.Hour))
	switch {
	case y.nth > 0:
		day := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		return day.AddDate(0, 0, (y.weekday-weekdayOf(dayOf(day))+7)%7+7*(y.nth-1)).Add(clock)
	case y.nth < 0:
		day := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
		return day.AddDate(0, 0, -((weekdayOf(dayOf(day))-y.weekday+7)%7)+7*(y.nth+1)).Add(clock)
	case y.day > 0:
		return time.Date(year, month, y.day, 0, 0, 0, 0, time.UTC).Add(clock)
	}
	return time.Date(year, month, first.Day(), 0, 0, 0, 0, time.UTC).Add(clock)
}

// onset is a wall time at which clocks are set, and by how much they differ from UTC from then on.
type onset struct {
	wall time.Time
	is   time.Duration
}

// onsets are those of a change of clocks, in the years of moments that are read.
func (c *clockChange) onsets() []onset {
	list := []onset{{c.from, c.is}}
	for _, t := range c.dates {
		list = append(list, onset{t, c.is})
	}
	for year := posthouse.FirstYear - 1; c.each && year <= posthouse.LastYear; year++ {
		t := c.in(year, c.from)
		if !c.until.IsZero() && t.Add(-c.was).After(c.until) {
			break
		}
		if !t.Before(c.from) {
			list = append(list, onset{t, c.is})
		}
	}
	return list
}

// offset is by how much clocks that show a wall time differ from UTC.
func (z *ownZone) offset(wall time.Time) time.Duration {
	if z.onsets == nil { // looked up for each event, and each time that it repeats
		for _, c := range z.shifts {
			z.onsets = append(z.onsets, c.onsets()...)
		}
		slices.SortStableFunc(z.onsets, func(a, b onset) int { return a.wall.Compare(b.wall) })
		z.before = slices.MinFunc(z.shifts, func(a, b *clockChange) int { return a.from.Compare(b.from) }).was
	}
	i, _ := slices.BinarySearchFunc(z.onsets, wall, func(o onset, wall time.Time) int {
		if o.wall.After(wall) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return z.before
	}
	return z.onsets[i-1].is
}

func (z *ownZone) at(wall time.Time) time.Time { return wall.Add(-z.offset(wall)) }

func (z *ownZone) shows(at time.Time) time.Time {
	wall := at.UTC().Add(z.offset(at.UTC()))
	return at.UTC().Add(z.offset(wall))
}

// zoneOf is the clock of a TZID: a zone by its IANA name, also behind a prefix, else the one that the calendar describes. Times
// without a TZID are of the roster's zone.
func (r *reader) zoneOf(l line) (clock, bool) {
	id, given := l.params["TZID"]
	if !given {
		return r.home, true
	}
	if c, known := r.clocks[id]; known {
		return c, c != nil
	}
	c := r.newClock(id)
	r.clocks[id] = c
	return c, c != nil
}

func (r *reader) newClock(id string) clock {
	own := r.zones[id]
	names := []string{id}
	if parts := strings.Split(id, "/"); len(parts) > 2 { // such as /example.com/2026a/Europe/Berlin
		names = append(names, strings.Join(parts[len(parts)-3:], "/"), strings.Join(parts[len(parts)-2:], "/"))
	}
	if own != nil && own.place != "" {
		names = append(names, own.place)
	}
	for _, name := range names {
		if r.home.is(name) {
			return r.home
		}
		if zone, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
			return place{zone}
		}
	}
	if own != nil && len(own.shifts) > 0 {
		return own
	}
	return nil
}
