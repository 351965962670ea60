package ical

import "time"

// duty is an event as it was understood.
type duty struct {
	at     int
	uid    string
	start  moment
	length time.Duration
	repeat *repeat
	adds   []moment
	except map[int64]bool // wall times of beginnings, in seconds since 1970
	// replaces is the beginning of another event of this UID in whose place it stands, nil for none.
	replaces  *moment
	cancelled bool
	who       []who
	users     []string

	standing bool // each week without an end
	on       [7]bool
	since    int // its first duty day, where it is standing
	least    int // how many days before its own day its duty begins, and how many after it ends, where it is standing
	most     int
	days     []int // of one that is not standing
}

// dutyOf understands an event; what is wrong with it is noted.
func (r *reader) dutyOf(e *event) (*duty, bool) {
	d := &duty{at: e.at, uid: e.has["UID"].value, cancelled: e.has["STATUS"].value == "CANCELLED", except: map[int64]bool{}}
	if l, given := e.has["RECURRENCE-ID"]; given {
		m, ok := r.momentOf(l, l.value)
		if l.is("RANGE", "THISANDFUTURE") {
			r.wrong(l.at, "changes all that follows (RANGE=THISANDFUTURE), which is not read: let the calendar split the events")
			return nil, false
		}
		if d.replaces = &m; !ok {
			return nil, false
		}
	}
	if d.cancelled {
		return d, true
	}
	l, given := e.has["DTSTART"]
	if !given {
		r.wrong(e.at, "an event without DTSTART")
		return nil, false
	}
	var ok bool
	if d.start, ok = r.momentOf(l, l.value); !ok {
		return nil, false
	}
	if d.length, ok = r.lengthOf(e, d.start); !ok {
		return nil, false
	}
	if l, given := e.has["EXRULE"]; given {
		r.wrong(l.at, "is not read: leave dates out by EXDATE")
		return nil, false
	}
	if l, given := e.has["RRULE"]; given {
		p, ok := r.repeatOf(l, d.start)
		if d.repeat = &p; !ok {
			return nil, false
		}
	}
	for _, m := range r.momentsOf(e.exes) {
		d.leaveOut(m)
	}
	d.adds = r.momentsOf(e.adds)
	d.who = r.whoOf(e)
	return d, true
}

// lengthOf is how long an event lasts: until DTEND or for DURATION, and without either a day or no time.
func (r *reader) lengthOf(e *event, start moment) (length time.Duration, ok bool) {
	l, given := e.has["DTEND"]
	switch lasts, also := e.has["DURATION"]; {
	case given:
		end, ok := r.momentOf(l, l.value)
		if !ok {
			return 0, false
		}
		if end.date != start.date {
			r.wrong(l.at, "is a date where DTSTART is a time, or the other way round")
			return 0, false
		}
		length = end.in(start.clock).Sub(start.wall)
	case also:
		l = lasts
		if length, ok = lengthOf(l.value); !ok {
			r.wrong(l.at, "is %.40q: want a length such as PT12H or P1D", l.value)
			return 0, false
		}
	case start.date:
		return 24 * time.Hour, true
	}
	switch {
	case length < 0 || length == 0 && start.date:
		r.wrong(l.at, "the event ends before it begins")
		return 0, false
	case length > maxSpan*24*time.Hour:
		r.wrong(l.at, "the event lasts more than %d days", maxSpan)
		return 0, false
	}
	return length, true
}

// leaveOut leaves the beginning at a moment out; one that is named by its date alone, whenever it is on that day.
func (d *duty) leaveOut(m moment) {
	wall := m.in(d.start.clock)
	if m.date || d.start.date {
		wall = wallOf(dayOf(wall), clockOf(d.start.wall))
	}
	d.except[wall.Unix()] = true
}

// clockOf is the time of day.
func clockOf(wall time.Time) time.Duration {
	return wall.Sub(wallOf(dayOf(wall), 0))
}

// replaced lets events that stand in the place of others leave those out, and drops what is cancelled.
func (r *reader) replaced(list []*duty) (kept []*duty) {
	of := map[string][]*duty{}
	for _, d := range list {
		if d.replaces == nil && d.uid != "" {
			of[d.uid] = append(of[d.uid], d)
		}
	}
	for _, d := range list {
		if d.replaces != nil {
			for _, whole := range of[d.uid] {
				whole.leaveOut(*d.replaces)
			}
		}
		if !d.cancelled {
			kept = append(kept, d)
		}
	}
	return kept
}

// span are the first and the last duty day of an event that begins at a wall time of its clocks.
func (r *reader) span(d *duty, wall time.Time) (first, last int) {
	if d.start.date {
		first = dayOf(wall)
		return first, first + max(int(d.length/(24*time.Hour))-1, 0)
	}
	first = r.dutyDay(moment{wall: wall, clock: d.start.clock}.in(r.home))
	end := moment{wall: wall.Add(d.length), clock: d.start.clock}.in(r.home)
	return first, max(first, r.dutyDay(end)-1) // of the day in which it ends it covers a part alone
}

// begins are the wall times at which an event begins that are not left out: of what repeats, those around today.
func (r *reader) begins(d *duty) (list []time.Time) {
	clock := clockOf(d.start.wall)
	take := func(wall time.Time) {
		if !d.except[wall.Unix()] {
			list = append(list, wall)
		}
	}
	if d.repeat == nil {
		take(d.start.wall)
	} else {
		for _, day := range d.repeat.days(dayOf(d.start.wall), r.today-Back-int(d.length/(24*time.Hour)), r.today+Ahead, clock) {
			take(wallOf(day, clock))
		}
	}
	for _, m := range d.adds {
		take(m.in(d.start.clock))
	}
	return list
}

// longestWeekly bounds what can be a day of the week: longer, it would meet itself.
const longestWeekly = 7 * 24 * time.Hour

// place finds the days of an event: of the week where it repeats each week without an end and always alike, else dates.
func (r *reader) place(d *duty) {
	p := d.repeat
	d.standing = p != nil && p.endless() && p.every == 1 && d.length <= longestWeekly && len(d.adds) == 0
	days := map[int]bool{}
	for i, wall := range r.begins(d) {
		first, last := r.span(d, wall)
		own := dayOf(wall)
		if i == 0 {
			d.least, d.most = first-own, last-own
		}
		d.standing = d.standing && d.least == first-own && d.most == last-own
		for day := first; day <= last; day++ {
			if !days[day] {
				days[day] = true
				d.days = append(d.days, day)
			}
		}
	}
	if d.standing = d.standing && len(d.days) > 0; !d.standing {
		return
	}
	first := dayOf(d.start.wall)
	for !p.falls(first, dayOf(d.start.wall)) {
		first++
	}
	d.since = first + d.least
	for day := range 7 {
		if p.falls(first+day, dayOf(d.start.wall)) {
			for by := d.least; by <= d.most; by++ {
				d.on[weekdayOf(first+day+by)] = true
			}
		}
	}
}

// covers reports whether a standing event gives duty on a day.
func (d *duty) covers(day int) bool {
	for by := d.least; by <= d.most; by++ {
		begin := day - by
		if first := dayOf(d.start.wall); begin >= first && d.repeat.falls(begin, first) && !d.except[wallOf(begin, clockOf(d.start.wall)).Unix()] {
			return true
		}
	}
	return false
}
