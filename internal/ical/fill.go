package ical

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// fill gives the roster the days and dates of the events.
func (r *reader) fill(list []*duty) {
	repeating := 0
	for _, d := range list {
		if d.repeat != nil {
			repeating++
		}
	}
	if repeating > maxRepeating {
		r.wrong(0, "%d of its events repeat: at most %d are read", repeating, maxRepeating)
		return
	}
	r.roster.Days, r.roster.Overrides = map[string][]string{}, map[string][]string{}
	on := map[int][]*duty{} // by duty day, for those that have events or none where the week has some
	duties := 0
	for _, d := range list {
		r.place(d)
		for _, day := range d.dates(r) {
			if _, known := on[day]; !known {
				on[day] = nil
			}
			if !d.standing {
				on[day] = append(on[day], d)
				duties += len(d.users)
			}
		}
		if duties > maxDuties || len(on) > maxDuties {
			r.wrong(d.at, "up to here the calendar has more than %d duties of single dates", maxDuties)
			return
		}
	}
	meets := meetings{r: r, told: map[[2]int]bool{}}
	for weekday := range 7 {
		var there []*duty
		for _, d := range list {
			if d.standing && d.on[weekday] {
				there = append(there, d)
			}
		}
		if users := meets.usersOf(there, time.Weekday((weekday+1)%7).String()); len(users) > 0 {
			r.roster.Days[strconv.Itoa(weekday+1)] = users
		}
	}
	for _, day := range slices.Sorted(maps.Keys(on)) {
		there := on[day]
		for _, d := range list {
			if d.standing && d.covers(day) {
				there = append(there, d)
			}
		}
		slices.SortStableFunc(there, func(a, b *duty) int { return a.at - b.at })
		r.roster.Overrides[dateOf(day)] = meets.usersOf(there, dateOf(day))
	}
}

// dates are the days that differ from the week by an event: all of one that is not standing, of a standing one those that are left
// out, and those from today on before it begins.
func (d *duty) dates(r *reader) []int {
	if !d.standing {
		return d.days
	}
	var list []int
	for at := range d.except {
		begin := dayOf(time.Unix(at, 0))
		if first := dayOf(d.start.wall); begin < first || !d.repeat.falls(begin, first) {
			continue // nothing begins there
		}
		for by := d.least; by <= d.most; by++ {
			list = append(list, begin+by)
		}
	}
	for day := max(r.today, d.since-Ahead); day < d.since; day++ {
		if d.on[weekdayOf(day)] {
			list = append(list, day)
		}
	}
	return list
}

// meetings finds users who are on duty by two events on one day.
type meetings struct {
	r    *reader
	told map[[2]int]bool // by the lines of the events
}

// usersOf are the users of events in their order.
func (m meetings) usersOf(there []*duty, day string) []string {
	users, by := []string{}, map[string]*duty{}
	for _, d := range there {
		for _, user := range d.users {
			before, twice := by[user]
			if pair := [2]int{d.at, before.line()}; twice && !m.told[pair] {
				m.told[pair] = true
				m.r.wrong(d.at, "%.80q is on duty on %s by line %d too", user, day, before.line())
			}
			if !twice {
				by[user] = d
				users = append(users, user)
			}
		}
	}
	return users
}

// line is where an event begins, 0 of none.
func (d *duty) line() int {
	if d == nil {
		return 0
	}
	return d.at
}
