package ical

import (
	"slices"
	"strings"
)

// event is a VEVENT with the lines that count.
type event struct {
	at   int
	has  map[string]line
	exes []line // EXDATE
	adds []line // RDATE
	asks []line // ATTENDEE
}

// counted are the lines of an event of which there is one.
func counted(name string) bool {
	return slices.Contains([]string{"UID", "DTSTART", "DTEND", "DURATION", "RRULE", "EXRULE", "RECURRENCE-ID", "SUMMARY", "STATUS", usersLine}, name)
}

func (e *event) take(l line) {
	switch l.name {
	case "EXDATE":
		e.exes = append(e.exes, l)
	case "RDATE":
		e.adds = append(e.adds, l)
	case "ATTENDEE":
		e.asks = append(e.asks, l)
	default:
		if _, twice := e.has[l.name]; counted(l.name) && !twice {
			e.has[l.name] = l
		}
	}
}

// split sorts lines by the components that they stand in; what says nothing of duty is passed over.
func (r *reader) split(lines []line) {
	var within []string
	var e *event
	var z *ownZone
	for _, l := range lines {
		value := strings.ToUpper(strings.TrimSpace(l.value))
		switch {
		case l.name == "BEGIN" && (len(within) == 0) != (value == "VCALENDAR"), l.name != "BEGIN" && len(within) == 0:
			r.wrong(l.at, "a calendar begins with BEGIN:VCALENDAR")
			return
		case l.name == "BEGIN" && len(within) == maxDepth:
			r.wrong(l.at, "stands within %d others", maxDepth)
			return
		case l.name == "BEGIN":
			within = append(within, value)
			switch path := strings.Join(within, "/"); path {
			case "VCALENDAR/VEVENT":
				e = &event{at: l.at, has: map[string]line{}}
				r.events = append(r.events, e)
			case "VCALENDAR/VTIMEZONE":
				z = &ownZone{}
			case "VCALENDAR/VTIMEZONE/STANDARD", "VCALENDAR/VTIMEZONE/DAYLIGHT":
				z.shifts = append(z.shifts, &clockChange{at: l.at})
				r.shifts++
			}
		case l.name == "END":
			if value != within[len(within)-1] {
				r.wrong(l.at, "is END:%.40s where END:%s is expected", value, within[len(within)-1])
				return
			}
			if strings.Join(within, "/") == "VCALENDAR/VTIMEZONE" {
				r.zones[z.name] = z
			}
			within = within[:len(within)-1]
		default:
			r.takeIn(strings.Join(within, "/"), l, e, z)
		}
	}
	switch {
	case len(within) > 0:
		r.wrong(0, "it ends without END:%s", within[len(within)-1])
	case len(lines) == 0:
		r.wrong(0, "it is empty")
	case len(r.events) == 0 && !r.ours:
		r.wrong(0, "it has no event")
	case len(r.events) > maxEvents:
		r.wrong(0, "it has %d events: at most %d are read", len(r.events), maxEvents)
	case r.shifts > maxShifts:
		r.wrong(0, "its time zones change clocks in %d ways: at most %d are read", r.shifts, maxShifts)
	}
}

// takeIn takes a line of a component.
func (r *reader) takeIn(within string, l line, e *event, z *ownZone) {
	switch within {
	case "VCALENDAR":
		switch l.name {
		case handOverLine:
			r.ours, r.roster.HandOver = true, plain(l.value)
		case timeZoneLine:
			r.ours, r.roster.TimeZone = true, plain(l.value)
		}
	case "VCALENDAR/VEVENT":
		e.take(l)
	case "VCALENDAR/VTIMEZONE":
		switch l.name {
		case "TZID":
			z.name = l.value
		case "X-LIC-LOCATION":
			z.place = l.value
		}
	case "VCALENDAR/VTIMEZONE/STANDARD", "VCALENDAR/VTIMEZONE/DAYLIGHT":
		if wrong := z.shifts[len(z.shifts)-1].take(l); wrong != "" {
			r.wrong(l.at, "%s", wrong)
		}
	}
}
