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
	// Warnings say what is stored and may not be meant.
	Warnings []string `json:"warnings,omitempty" doc:"What is stored and may not be meant: managers whom the directory does not know, and managers in a circle; at most 20."`
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
	// Gained and Lost are of users who stay.
	Gained map[string]int `json:"gained,omitempty" doc:"By channel, how many users who stay get an address there and have none now."`
	Lost   map[string]int `json:"lost,omitempty" doc:"By channel, how many users who stay have an address there and would have none."`
	Tag    string         `json:"tag" doc:"The state of the directory that was compared. PUT /v1/users with it as If-Match, in quotes, changes this directory and no other."`
}

// UserChange changes a user. What it does not name stays.
type UserChange struct {
	Name      *string            `json:"name,omitempty" doc:"The name people know."`
	Type      *string            `json:"type,omitempty" doc:"What rules look at, such as head_office."`
	Addresses map[string]*string `json:"addresses,omitempty" doc:"Where each channel named here reaches the user; null forgets that address."`
	Roles     *[]string          `json:"roles,omitempty" doc:"All roles of the user, by which workflows name who handles a node."`
	TimeZone  *string            `json:"time_zone,omitempty" doc:"The IANA zone in which the user lives, such as Asia/Shanghai; empty for none."`
	Language  *string            `json:"language,omitempty" doc:"The language the user reads, as a BCP 47 tag such as zh or en; empty for the tenant's."`
	Manager   *string            `json:"manager,omitempty" doc:"The id of the user's manager, another user; empty for none."`
}

// PutPreferences are what a user wants of messages. What is not named is wanted.
type PutPreferences struct {
	Nothing bool                 `json:"nothing,omitempty" doc:"The user wants no message at all. Critical ones and mandatory kinds come all the same. Defaults to false."`
	Off     []posthouse.Unwanted `json:"off,omitempty" doc:"What the user does not want: a kind, a channel, or a kind on a channel. Defaults to none." maxItems:"200"`
	Prefer  []string             `json:"prefer,omitempty" doc:"In which order the user's channels are tried by steps of routes that take one of each person's own. Defaults to the step's order." maxItems:"50"`
}

// EffectivePreferences are what holds for a user of messages: what the user has chosen, what the tenant says, and when the user is left alone.
type EffectivePreferences struct {
	Preferences    posthouse.Preferences `json:"preferences" doc:"What the user has chosen."`
	MandatoryKinds []string              `json:"mandatory_kinds" doc:"Kinds that come all the same, by the tenant's settings, as critical messages do."`
	OptionalKinds  []string              `json:"optional_kinds" doc:"Kinds that the tenant offers on the user's page."`
	Channels       []string              `json:"channels" doc:"The tenant's open channels."`
	QuietHours     []EffectiveQuietHours `json:"quiet_hours" doc:"The quiet hours that hold for the user: the tenant's, and those of channels."`
}

// EffectiveQuietHours are quiet hours as they hold for a user.
type EffectiveQuietHours struct {
	posthouse.QuietHours
	Channel string `json:"channel,omitempty" doc:"The channel whose they are. Missing where they are the tenant's, for all of its channels."`
	Zone    string `json:"zone,omitempty" doc:"The zone of the user's clock. Missing where it is each channel's own."`
	ZoneBy  ZoneBy `json:"zone_by" doc:"Who says so: user, the user's entry of the directory; hours, the quiet hours; channel, the channel or else the server."`
	Named   bool   `json:"named" doc:"They name the user, or an address of the user. Else they hold for everybody."`
}

// ZoneBy is what says in which zone a user's clock is.
type ZoneBy string

// What says so, the first that says something.
const (
	ZoneByUser    ZoneBy = "user"
	ZoneByHours   ZoneBy = "hours"
	ZoneByChannel ZoneBy = "channel"
)

// PreferencesLink opens the page on which a user chooses.
type PreferencesLink struct {
	URL       string    `json:"url" doc:"The page's address. It is for this user alone."`
	ExpiresAt time.Time `json:"expires_at" doc:"When the link opens nothing any more."`
}

// RosterCheck is what an operator should look at.
type RosterCheck struct {
	Name      string              `json:"name"`
	EmptyDays []string            `json:"empty_days" doc:"Days of the week, and dates, with nobody on duty."`
	Overlaps  map[string][]string `json:"overlaps" doc:"Users on several days, with those days."`
	Past      []string            `json:"past_overrides" doc:"Overrides of dates that are over."`
}

// Override changes who is on duty on single dates.
type Override struct {
	Dates  map[string][]string `json:"dates,omitempty" doc:"Users by date, such as 2030-10-01, in place of those of its day of the week; none of them is nobody."`
	Clear  []string            `json:"clear,omitempty" doc:"Dates that have the users of their day of the week again."`
	Swap   *DutySwap           `json:"swap,omitempty" doc:"Two users who take each other's duty, once dates and clear are in force."`
	DryRun bool                `json:"dry_run,omitempty" doc:"Only says what would change."`
}

// DutySwap has two users take each other's duty.
type DutySwap struct {
	User     string `json:"user" doc:"Who gives the duty of date."`
	Date     string `json:"date" doc:"The date on which user is on duty."`
	With     string `json:"with" doc:"Who takes it."`
	WithDate string `json:"with_date" doc:"The date on which with is on duty, and user is then."`
}

// Overridden says what a change of dates makes of a roster.
type Overridden struct {
	Roster  string       `json:"roster" doc:"The roster."`
	DryRun  bool         `json:"dry_run" doc:"Nothing was changed."`
	Changed []DutyChange `json:"changed" doc:"The dates whose users are others now."`
	Now     DutyTurn     `json:"now" doc:"Who is on duty now, by the changed roster."`
	Next    DutyTurn     `json:"next" doc:"Who is on duty after that."`
	Tag     string       `json:"tag" doc:"The state of the roster, as its ETag says it."`
}

// DutyChange is a date whose users are others.
type DutyChange struct {
	Date   string   `json:"date" doc:"The date."`
	Before []string `json:"before" doc:"Who was on duty."`
	After  []string `json:"after" doc:"Who is on duty then."`
}

// DutyTurn is a duty day with its users.
type DutyTurn struct {
	Date  string    `json:"date" doc:"The duty day."`
	From  time.Time `json:"from" doc:"When it begins."`
	Until time.Time `json:"until" doc:"When the next one begins."`
	Users []string  `json:"users" doc:"Who is on duty; nobody where it is empty."`
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
