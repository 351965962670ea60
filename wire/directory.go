package wire

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Users is a part of the directory.
type Users struct {
	Users []posthouse.User `json:"users"`
}

// Imported says how many were stored.
type Imported struct {
	Stored int `json:"stored"`
}

// RosterCheck is what an operator should look at.
type RosterCheck struct {
	Name      string              `json:"name"`
	EmptyDays []string            `json:"empty_days" doc:"Days of the week, and dates, with nobody on duty."`
	Overlaps  map[string][]string `json:"overlaps" doc:"Users on several days, with those days."`
	Past      []string            `json:"past_overrides" doc:"Overrides of dates that are over."`
}

// Duty is who is on duty at a moment.
type Duty struct {
	Roster     string    `json:"roster"`
	Date       string    `json:"date" doc:"The duty day: before the hand-over it is yesterday's."`
	Weekday    int       `json:"weekday" doc:"1 (Monday) to 7."`
	Configured bool      `json:"configured" doc:"False where the roster says nothing of that day."`
	Users      []string  `json:"users"`
	At         time.Time `json:"at"`
}
