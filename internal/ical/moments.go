package ical

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// How dates and times are written.
const (
	dateForm = "20060102"
	wallTime = "20060102T150405"
	utcTime  = "20060102T150405Z"
)

// moment is a date, or a time as clocks show it.
type moment struct {
	wall  time.Time
	date  bool
	clock clock // nil of a date
}

// in is the wall time of a moment by other clocks; a date has the same everywhere.
func (m moment) in(other clock) time.Time {
	if m.date || other == nil || m.clock == other {
		return m.wall
	}
	return other.shows(m.clock.at(m.wall))
}

// momentOf reads a value of a line.
func (r *reader) momentOf(l line, value string) (m moment, ok bool) {
	var err error
	form := wallTime
	switch {
	case len(value) == len(dateForm):
		form, m.date = dateForm, true
	case strings.HasSuffix(value, "Z"):
		form, m.clock = utcTime, place{time.UTC}
	default:
		if m.clock, ok = r.zoneOf(l); !ok {
			r.wrong(l.at, "is in the time zone %.60q, which there is not, nor does the calendar describe it", l.params["TZID"])
			return m, false
		}
	}
	if m.wall, err = time.Parse(form, value); err != nil {
		r.wrong(l.at, "is %.40q: want a date such as 20261125, or a time such as 20261125T083000", value)
		return m, false
	}
	if !posthouse.ValidTime(m.wall) {
		r.wrong(l.at, "is of no year from %d to %d", posthouse.FirstYear, posthouse.LastYear)
		return m, false
	}
	return m, true
}

// momentsOf reads the values of lines such as EXDATE.
func (r *reader) momentsOf(lines []line) (list []moment) {
	for _, l := range lines {
		for value := range strings.SplitSeq(l.value, ",") {
			if m, ok := r.momentOf(l, value); ok {
				list = append(list, m)
			}
		}
	}
	return list
}

// lengths are P1W, P2D, PT8H30M and the like (RFC 5545, 3.3.6).
var lengths = regexp.MustCompile(`^\+?P(?:(\d{1,4})W|(?:(\d{1,4})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?)?)$`)

// lengthOf reads a DURATION.
func lengthOf(text string) (length time.Duration, ok bool) {
	found := lengths.FindStringSubmatch(strings.ToUpper(text))
	if found == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(found[i+1]) // at most seven digits, or none
		length += time.Duration(n) * unit
	}
	return length, true
}
