package ical

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// repeat is an RRULE of days or weeks.
type repeat struct {
	weekly bool
	every  int
	count  int       // 0 for no end by it
	until  time.Time // a wall time of the event's clocks, zero for no end by it
	on     [7]bool   // days of the week from Monday on; none of a daily one for all
	begins int       // the day on which a week begins, 0 for Monday
}

// endless reports whether it goes on.
func (p repeat) endless() bool { return p.count == 0 && p.until.IsZero() }

// weekdayNamed is the day of the week of MO to SU, from 0 on, -1 for none.
func weekdayNamed(name string) int {
	return slices.Index([]string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, name)
}

// repeatOf reads an RRULE; first is when its event begins.
func (r *reader) repeatOf(l line, first moment) (p repeat, ok bool) {
	p.every = 1
	for part := range strings.SplitSeq(strings.ToUpper(l.value), ";") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		switch name {
		case "FREQ":
			if ok = value == "DAILY" || value == "WEEKLY"; !ok {
				r.wrong(l.at, "repeats %.20s: what repeats DAILY or WEEKLY is read", value)
				return p, false
			}
			p.weekly = value == "WEEKLY"
		case "INTERVAL", "COUNT":
			if err != nil || n < 1 || n > maxCount {
				r.wrong(l.at, "has %s=%.20s: want a whole number from 1 to %d", name, value, maxCount)
				return p, false
			}
			if name == "COUNT" {
				p.count = n
			} else {
				p.every = n
			}
		case "UNTIL":
			m, read := r.momentOf(line{at: l.at}, value)
			if !read {
				return p, false
			}
			switch {
			case m.date:
				p.until = m.wall.Add(24*time.Hour - time.Second)
			case !strings.HasSuffix(value, "Z"):
				p.until = m.wall
			case first.date:
				p.until = m.in(r.home)
			default:
				p.until = m.in(first.clock)
			}
		case "BYDAY":
			for name := range strings.SplitSeq(value, ",") {
				day := weekdayNamed(name)
				if day < 0 {
					r.wrong(l.at, "repeats by the day %.20q: want MO to SU", name)
					return p, false
				}
				p.on[day] = true
			}
		case "WKST":
			p.begins = max(weekdayNamed(value), 0)
		default:
			r.wrong(l.at, "repeats by %.20q, which is not read", name)
			return p, false
		}
	}
	if !ok {
		r.wrong(l.at, "says not how often it repeats: FREQ=WEEKLY or FREQ=DAILY")
	}
	return p, ok
}

// days are those on which it begins from one day to another, which is the first that it can be; clock is the time of day.
func (p repeat) days(first, from, to int, clock time.Duration) (list []int) {
	n := 0
	take := func(day int) (goesOn bool) {
		if day < first || !p.falls(day, first) {
			return true
		}
		n++
		ended := p.count > 0 && n > p.count || !p.until.IsZero() && wallOf(day, clock).After(p.until)
		if !ended && day >= from && day <= to {
			list = append(list, day)
		}
		return !ended && day <= to
	}
	step, begin, width := p.every, first, 1
	if p.weekly {
		step, begin, width = 7*p.every, first-(weekdayOf(first)-p.begins+7)%7, 7
	}
	if p.count == 0 && from > begin { // nothing has to be counted
		begin += (from - begin) / step * step
	}
	for ; begin <= to; begin += step {
		for day := begin; day < begin+width; day++ {
			if !take(day) {
				return list
			}
		}
	}
	return list
}

// falls reports whether a day that the interval allows is one of the days of the week.
func (p repeat) falls(day, first int) bool {
	if p.on == [7]bool{} {
		return !p.weekly || weekdayOf(day) == weekdayOf(first)
	}
	return p.on[weekdayOf(day)]
}

// wallOf is a time of a day.
func wallOf(day int, clock time.Duration) time.Time {
	return time.Unix(int64(day)*24*60*60, 0).UTC().Add(clock)
}
