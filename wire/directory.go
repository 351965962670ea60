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

// UsersStored says what became of the directory.
type UsersStored struct {
	Stored int `json:"stored" doc:"How many users were stored, or would be."`
	// Replaced is set where all of the directory was replaced.
	Replaced *UsersReplaced `json:"replaced,omitempty" doc:"What that changes, where the call replaces all of the directory (prune)."`
}

// UsersReplaced says what replacing all of the directory changes.
type UsersReplaced struct {
	DryRun    bool     `json:"dry_run" doc:"Nothing was changed."`
	Added     []string `json:"added" doc:"The ids of users who were not there."`
	Changed   []string `json:"changed" doc:"The ids of users of whom something differs."`
	Unchanged int      `json:"unchanged" doc:"How many users stay as they are."`
	Removed   []string `json:"removed" doc:"The ids of users who are not named, and are deleted."`
}

// UserChange changes a user. What it does not name stays.
type UserChange struct {
	Name      *string            `json:"name,omitempty" doc:"The name people know."`
	Type      *string            `json:"type,omitempty" doc:"What rules look at, such as head_office."`
	Addresses map[string]*string `json:"addresses,omitempty" doc:"Where each channel named here reaches the user; null forgets that address."`
	Roles     *[]string          `json:"roles,omitempty" doc:"All roles of the user, by which workflows name who handles a node."`
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
