package posthouse

import "time"

// Reminder sends a draft at several moments: in a countdown to a moment, or again and again until
// something ends it. Each moment is a slot; each slot that comes is a message of its own. One that
// repeats by cron is a schedule.
type Reminder struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	// Draft is what each slot sends. Its not_before, deadline and clock are the reminder's to set.
	// Its dedup_key names the reminder: while one with it is open, a second is not made.
	// Beside a Campaign it has a kind and a ref alone.
	Draft Draft `json:"draft,omitzero"`
	// Campaign is what each slot starts in place of a message. Defaults to none.
	Campaign *ScheduledCampaign `json:"campaign,omitempty"`
	// Countdown or Repeat says when. Exactly one of both.
	Countdown *Countdown `json:"countdown,omitempty"`
	Repeat    *Repeat    `json:"repeat,omitempty"`
	// Missed says what becomes of slots that passed while nothing could be sent. Defaults to collapse.
	Missed Missed `json:"missed,omitempty"`
	// Task and Node are the step of a workflow whose assignees are told: who they are is asked at each slot.
	// The draft then names nobody.
	Task string `json:"task_id,omitempty"`
	Node string `json:"node_id,omitempty"`
	// MentionAll is set where whoever made the reminder may call everybody, and its messages do. Without it none of them may, whatever
	// becomes of its template and its recipients.
	MentionAll bool `json:"mention_all,omitempty"`
	// Paused is set while nothing comes of it. Slots that pass meanwhile are not made up for.
	Paused bool `json:"paused,omitempty"`
	// Preparing is the slot whose campaign is being made, and has not begun.
	Preparing *Slot `json:"preparing,omitempty"`
	// Epoch is the epoch of the database in which it starts campaigns. In another one, it waits until a person resumes it.
	Epoch int64 `json:"epoch,omitempty"`

	State     ReminderState `json:"state"`
	Reason    string        `json:"reason,omitempty"` // why it has ended or is paused, a stable word: epoch_hold where a new epoch holds it
	Error     string        `json:"last_error,omitempty"`
	NextAt    time.Time     `json:"next_at,omitzero"` // the next slot; of one that a new epoch holds, the slot that may have been sent
	Slots     int           `json:"slots"`            // how many have come, the missed ones too
	Fired     int           `json:"fired"`            // how many of them have become messages
	Message   string        `json:"last_message,omitempty"`
	Last      []Slot        `json:"last_slots,omitempty"` // those that came last, the latest first, at most 10
	Version   int64         `json:"version"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`

	// Warnings say what its first slot needs that is not there now, such as somebody on duty. They are only shown when it is stored.
	Warnings []Problem `json:"warnings,omitempty"`
}

// Slot is one that has come, with those that were missed before it.
type Slot struct {
	At time.Time `json:"at"`
	// Message is what became of it, empty where nothing did.
	Message string `json:"message,omitempty"`
	// Campaign is the name of the one that was made of it, empty where none was.
	Campaign string `json:"campaign,omitempty"`
	// Missed is how many slots passed for which there is no message: those before it that could not be sent,
	// and itself if it could not be sent either.
	Missed int `json:"missed,omitempty"`
}

// ScheduledCampaign is what a schedule starts at each of its slots: a campaign like another one, with the name SCHEDULE-20261130T010000Z.
type ScheduledCampaign struct {
	// Like names the campaign that each is like: its channel, template or content, payload and rules. It is one that is never started.
	Like string `json:"like"`
	// Audience is the stored list that each is sent to, as it is when the slot comes. Defaults to the people of Like.
	Audience string `json:"audience,omitempty"`
	// Query reads the people of each from another program's database when the slot comes. Defaults to none.
	Query *ScheduledQuery `json:"query,omitempty"`
	// Within is how long after its slot each may send: who is left then has expired. Defaults to no bound.
	Within Duration `json:"within,omitempty"`
	// Force starts it although records lack a variable of the template, or the deadline comes early.
	Force bool `json:"force,omitempty"`
}

// ScheduledQuery reads people from another program's database.
type ScheduledQuery struct {
	// Database is its name in the server's setting databases.
	Database string `json:"database"`
	// Query is in its SQL. One column is the address, all others are variables.
	Query string `json:"query"`
	// Address is the column of the address. Defaults to the one whose name says so.
	Address string `json:"address,omitempty"`
}

// Countdown has its slots before a moment and at it: To - Before, and each Every after that up to To.
// {to 14:00, before 60m, every 15m} is 13:00, 13:15, 13:30, 13:45 and 14:00.
type Countdown struct {
	To     time.Time `json:"to"`
	Before Duration  `json:"before,omitempty"` // Defaults to 0: one slot, at To.
	Every  Duration  `json:"every,omitempty"`  // Defaults to Before: one slot before, and one at To.
}

// Repeat has a slot at From and then each Every, or from From on at the local times that Daily or Cron
// name, until the reminder is ended, Max slots have come, or Until has passed.
type Repeat struct {
	From  time.Time `json:"from,omitzero"` // Defaults to now.
	Every Duration  `json:"every,omitempty"`
	// Daily are local times of day, "09:00". One that a change of clocks leaves out comes at the first
	// moment after the gap; one that comes twice counts once, the first time.
	Daily []string `json:"daily,omitempty"`
	// Cron has five fields: minute, hour, day of the month, month and day of the week. "0 9 * * 1-5" is 09:00
	// from Monday to Friday. Changes of clocks are as with Daily; where the hour is *, a slot comes each time
	// that clocks show what Cron names.
	Cron     string    `json:"cron,omitempty"`
	TimeZone string    `json:"time_zone,omitempty"` // IANA zone of Daily and Cron. Defaults to the server's.
	Max      int       `json:"max,omitempty"`       // Defaults to 0: no bound.
	Until    time.Time `json:"until,omitzero"`      // Defaults to none.
}

// Missed says what becomes of slots that passed while nothing could be sent.
type Missed string

// The two ways.
const (
	// MissedExpire drops a slot that could not start within a minute.
	MissedExpire Missed = "expire"
	// MissedCollapse makes one message of all that were missed, with the numbers of the moment it is
	// sent at. A slot is missed for good when the next one comes.
	MissedCollapse Missed = "collapse"
)

// ReminderState says whether slots are still to come.
type ReminderState string

// The states.
const (
	ReminderOpen  ReminderState = "open"
	ReminderEnded ReminderState = "ended"
)

// Clock adds to a message's payload, at the moment of sending, how much time is left or has passed.
// A repeat of an attempt is filled anew.
type Clock struct {
	// Until is counted down to: remainMin is the whole minutes left, rounded up, 0 once it has passed.
	Until time.Time `json:"until,omitzero"`
	// Since is counted up from: overtime is the whole minutes that have passed. A maxDuration in the
	// payload is overwritten by it; what it was is in originalMaxDuration.
	Since time.Time `json:"since,omitzero"`
}
