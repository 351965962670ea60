package rule

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// DefaultTimeZone is the zone of rosters where neither they nor the server name one.
const DefaultTimeZone = "Asia/Shanghai"

// Source says where a shift comes from.
type Source string

// The sources.
const (
	SourceNone     Source = ""         // the roster says nothing about the day
	SourceWeekday  Source = "weekday"  // the day of the week
	SourceOverride Source = "override" // the date
)

// Shift is who is on duty at one moment.
type Shift struct {
	// Date is the day whose duty it is, 2026-10-01. Before the hand-over that is
	// the day before.
	Date string `json:"date"`
	// Weekday is 1 (Monday) to 7.
	Weekday int `json:"weekday"`
	// Users are on duty. An override may name nobody.
	Users  []string `json:"users"`
	Source Source   `json:"source"`
}

func (s Shift) day() string { return fmt.Sprintf("%s, day %d of the week", s.Date, s.Weekday) }

// ShiftAt is who is on duty by a roster at a moment, which must be in the
// roster's zone (see Zone). A date's override wins over its day of the week, also
// where it names nobody; a day of the week without users is not configured. The
// error says that the hand-over is not a time of day.
func ShiftAt(roster posthouse.Roster, local time.Time) (Shift, error) {
	handOver, err := parseClock(roster.HandOver)
	if err != nil {
		return Shift{}, fmt.Errorf("roster %q: hand_over: %w", roster.Name, err)
	}
	year, month, day := local.Date()
	if !handedOver(local, handOver) {
		day--
	}
	return shiftOn(roster, time.Date(year, month, day, 0, 0, 0, 0, time.UTC)), nil
}

// shiftOn is who is on duty on a calendar day, which is in UTC: a zone without gaps.
func shiftOn(roster posthouse.Roster, date time.Time) Shift {
	s := Shift{Date: date.Format(time.DateOnly), Weekday: (int(date.Weekday())+6)%7 + 1}
	if users, ok := roster.Overrides[s.Date]; ok {
		s.Users, s.Source = users, SourceOverride
	} else if users := roster.Days[strconv.Itoa(s.Weekday)]; len(users) > 0 {
		s.Users, s.Source = users, SourceWeekday
	}
	return s
}

// Zone is the zone of a roster: its own, else the fallback, else DefaultTimeZone.
func Zone(roster posthouse.Roster, fallback string) (*time.Location, error) {
	zone, err := loadZone(cmp.Or(roster.TimeZone, fallback, DefaultTimeZone))
	if err != nil {
		return nil, fmt.Errorf("roster %q: time_zone: %w", roster.Name, err)
	}
	return zone, nil
}

func loadZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // Local is another zone on each machine
		return nil, fmt.Errorf("%q is not a time zone such as Asia/Shanghai or UTC", name)
	}
	return zone, nil
}

// clock is a time of day in minutes since midnight.
type clock int

func clockOf(t time.Time) clock { return clock(t.Hour()*60 + t.Minute()) }

// parseClock reads HH:MM, empty for midnight.
func parseClock(s string) (clock, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, errors.New(strconv.Quote(s) + " is not a time of day such as 08:30, from 00:00 to 23:59")
	}
	return clockOf(t), nil
}

// handedOver reports whether the duty of t's own day has begun. On a day when
// clocks are set back it begins once, the first time the hand-over is reached;
// where they are set forward over it, it begins with the first moment after.
func handedOver(t time.Time, at clock) bool {
	if clockOf(t) >= at {
		return true
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return false
	}
	before := start.Add(-1) // the last moment before clocks changed, as they showed it then
	return before.YearDay() == t.YearDay() && before.Year() == t.Year() && clockOf(before) >= at
}

// EndOfDay is when t's day ends in t's zone: at midnight, at the first of two, or with the first
// moment after a gap that swallows it. The library's own midnight may lie an hour before.
func EndOfDay(t time.Time) time.Time {
	year, month, day := t.Date()
	return showing(t, time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC))
}

// showing is the first moment after t at which clocks in t's zone show a time, or one behind it where they skip it.
func showing(t, want time.Time) time.Time {
	for {
		_, offset := t.Zone()
		_, change := t.ZoneBounds()
		then := want.Add(-time.Duration(offset) * time.Second).In(t.Location())
		if change.IsZero() || then.Before(change) {
			return then
		}
		if t = change; !wall(t).Before(want) {
			return t
		}
	}
}

// wall is what clocks show at t, as a moment in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
