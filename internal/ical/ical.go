// Package ical writes duty rosters as iCalendar (RFC 5545) and reads them from calendars, its own and those of others. It stores
// nothing, and asks who somebody is through a small interface. What a roster means is package rule's.
//
// # What is read
//
// An event gives duty to its users: on each of its days where it is of whole days, else on the duty day in which it begins and on
// those after it that it covers to their end. What repeats each week or each day without an end becomes a day of the week;
// everything else becomes dates. What repeats in another rhythm is taken from Back days ago until Ahead days from now. Dates that
// are left out of what repeats, and no event of their own has, have nobody.
package ical

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/rule"
)

// Bounds of a calendar that is read.
const (
	// MaxText is the longest, in bytes.
	MaxText = 1 << 20

	maxEvents    = 5000
	maxRepeating = 500    // events
	maxDuties    = 20_000 // users of dates
	maxNames     = 500    // different people
	maxSpan      = 366    // days of an event
	maxCount     = 10_000 // repeats of an event, and the longest interval
	maxShifts    = 200    // changes of clocks that the calendar's own zones describe
	maxDepth     = 8      // components within each other
	maxProblems  = 100
)

// What repeats is taken from Back days ago until Ahead days from now.
const (
	Back  = 31
	Ahead = 366
)

// By is where the users of an event stand.
type By string

// The places. Without one, users are the attendees of an event, and its summary where it has none.
const (
	ByAttendee By = "attendee"
	BySummary  By = "summary"
)

// People find users of the directory.
type People interface {
	// Called are the ids of those whose id, name or address a text is.
	Called(ctx context.Context, text string) ([]string, error)
}

// Options say how a calendar is read.
type Options struct {
	// Roster is what it is read over: its hand-over and its zone hold where the calendar names none.
	Roster posthouse.Roster
	// HandOver and TimeZone hold whatever the calendar and the roster say. Default to what these say.
	HandOver, TimeZone string
	// Zone is of rosters that name none. Defaults to rule.DefaultTimeZone.
	Zone string
	// Now is when it is read. Required.
	Now time.Time
	// By is where users stand. Defaults to attendees, and the summary of an event without any.
	By By
	// As are users by what the calendar calls them.
	As map[string]string
	// Keep takes as a user's id what is no user of the directory. Defaults to false: that is a problem.
	Keep bool
	// People find users. Required.
	People People
}

// Read reads a roster from a calendar. Everything that is wrong with it is reported, with the path "line 3"; with any problem the
// roster is as it was, so that nothing is imported by halves. The error is one of the directory.
func Read(ctx context.Context, text []byte, o Options) (posthouse.Roster, []posthouse.Problem, error) {
	r := reader{o: o, roster: o.Roster, zones: map[string]*ownZone{}, clocks: map[string]clock{}}
	if len(text) > MaxText {
		r.wrong(0, "it has more than %d bytes", MaxText)
		return o.Roster, r.problems, nil
	}
	r.split(linesOf(text, r.wrong))
	if len(r.problems) > 0 || !r.settle() {
		return o.Roster, r.problems, nil
	}
	var list []*duty
	for _, e := range r.events {
		if d, ok := r.dutyOf(e); ok {
			list = append(list, d)
		}
	}
	list = r.replaced(list)
	if len(r.problems) == 0 {
		if err := r.name(ctx, list); err != nil {
			return o.Roster, nil, err
		}
	}
	if len(r.problems) == 0 {
		r.fill(list)
	}
	if len(r.problems) > 0 {
		return o.Roster, r.problems, nil
	}
	return r.roster, nil, nil
}

// reader is a calendar that is being read.
type reader struct {
	o        Options
	roster   posthouse.Roster
	problems []posthouse.Problem
	events   []*event
	zones    map[string]*ownZone // that the calendar describes
	shifts   int                 // changes of clocks in them
	ours     bool                // Write wrote it
	clocks   map[string]clock    // by TZID
	home     place               // of the roster
	handOver time.Duration       // since midnight
	today    int
}

// wrong adds a problem of a line, 0 for the file.
func (r *reader) wrong(line int, format string, args ...any) {
	path := "file"
	if line > 0 {
		path = fmt.Sprintf("line %d", line)
	}
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

// settle finds out by which clock the roster goes.
func (r *reader) settle() bool {
	r.roster.HandOver = cmp.Or(r.o.HandOver, r.roster.HandOver)
	r.roster.TimeZone = cmp.Or(r.o.TimeZone, r.roster.TimeZone)
	if r.problems = rule.Validate(posthouse.Roster{HandOver: r.roster.HandOver, TimeZone: r.roster.TimeZone}); len(r.problems) > 0 {
		return false
	}
	zone, err := rule.Zone(r.roster, r.o.Zone)
	if err != nil {
		r.wrong(0, "%v", err)
		return false
	}
	if at, err := time.Parse("15:04", r.roster.HandOver); err == nil { // else midnight
		r.handOver = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	r.home = place{zone}
	r.today = r.dutyDay(r.home.shows(r.o.Now))
	return true
}

// dutyDay is the day whose duty it is when clocks of the roster show a time.
func (r *reader) dutyDay(wall time.Time) int { return dayOf(wall.Add(-r.handOver)) }

// dayOf counts the days of a wall clock's time since 1970.
func dayOf(wall time.Time) int {
	const day = 24 * 60 * 60
	at := wall.Unix()
	if at < 0 {
		at -= day - 1
	}
	return int(at / day)
}

// dateOf is such a day as it is written.
func dateOf(day int) string { return time.Unix(int64(day)*24*60*60, 0).UTC().Format(time.DateOnly) }

// weekdayOf is its day of the week, 0 for Monday.
func weekdayOf(day int) int { return ((day+3)%7 + 7) % 7 }
