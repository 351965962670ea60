package wire

import (
	"time"

	"github.com/posthouse/posthouse/workflow"
)

// TaskOutcomes answers a list of events.
type TaskOutcomes struct {
	Outcomes []TaskOutcome `json:"outcomes"`
}

// TaskOutcome says what followed from one event of a task.
type TaskOutcome struct {
	Task  string             `json:"task_id"`
	Event workflow.EventType `json:"event"`
	// Changed says that the event told something new.
	Changed bool `json:"changed"`
	// Told are the notices that followed, and Withdrawn the keys of those that no longer do.
	Told      []Told        `json:"told"`
	Withdrawn []string      `json:"withdrawn,omitempty"`
	Warnings  []TaskWarning `json:"warnings,omitempty"`
}

// Told is one notice that was handed in: as messages, or as a reminder that becomes some.
type Told struct {
	Key      string   `json:"key"`
	Kind     string   `json:"kind"`
	Channel  string   `json:"channel"`
	Messages []string `json:"messages,omitempty"`
	Reminder string   `json:"reminder,omitempty"`
	// NotBefore is when it comes; none means at once.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// TaskWarning says what of a task cannot be as it was meant.
type TaskWarning struct {
	Code   WarningCode `json:"code"`
	Detail string      `json:"detail"`
	At     time.Time   `json:"at"`
}

// WarningCode is the stable word of a TaskWarning.
type WarningCode string

// TaskStatus is what is known of a task, and who was told what of it.
type TaskStatus struct {
	Task string `json:"task_id"`
	// State is unknown until the task is described, then running, finished, aborted or cancelled.
	State  string         `json:"state"`
	Reason string         `json:"reason,omitempty"`
	Ended  time.Time      `json:"ended_at,omitzero"`
	About  *workflow.Task `json:"task,omitempty"`
	// Nodes are the times that nodes were begun.
	Nodes    []TaskNode       `json:"nodes"`
	Orbits   []workflow.Orbit `json:"orbits"`
	Notices  []TaskNotice     `json:"notices"`
	Warnings []TaskWarning    `json:"warnings"`
	// Error is why notices cannot be made into messages, as of the last try, and NextAt is the next one.
	Error     string    `json:"last_error,omitempty"`
	NextAt    time.Time `json:"next_at,omitzero"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// TaskNode is one time that a node was begun.
type TaskNode struct {
	Node      string              `json:"node_id"`
	Name      string              `json:"name,omitempty"`
	Round     int                 `json:"round"`
	Started   time.Time           `json:"started_at,omitzero"`
	Done      time.Time           `json:"done_at,omitzero"`
	WorkItems []workflow.WorkItem `json:"work_items,omitempty"`
}

// TaskNotice is one notice: what was made of it, and whether it still stands.
type TaskNotice struct {
	Told
	Ref string    `json:"ref"`
	At  time.Time `json:"told_at"`
	// Withdrawn are those that do not follow any more. What of them had not started was cancelled.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// TaskReport is a task with how its messages and reminders stand.
type TaskReport struct {
	TaskStatus
	Messages  []TaskMessage `json:"messages" doc:"The messages of its notices, and the last one of each reminder."`
	Reminders []Reminder    `json:"reminders" doc:"The reminders of its time-outs."`
}

// TaskMessage is how a message of a task stands.
type TaskMessage struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Channel string `json:"channel"`
	Counts  Counts `json:"counts" doc:"How many deliveries there are in each state."`
}

// TaskSummary is a task in a list.
type TaskSummary struct {
	Task      string    `json:"task_id"`
	Name      string    `json:"name,omitempty"`
	State     string    `json:"state"`
	Notices   int       `json:"notices"`
	Warnings  int       `json:"warnings"`
	UpdatedAt time.Time `json:"updated_at"`
}
