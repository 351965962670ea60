package client

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// Tasks are the tasks of workflows, of which events are told.
type Tasks struct{ api *caller }

// TaskOutcome says what followed from one event of a task.
type TaskOutcome struct {
	Task  string                  `json:"task_id"`
	Event posthouse.TaskEventType `json:"event"`
	// Changed says that the event told something new.
	Changed bool `json:"changed"`
	// Told are the notices that followed, and Withdrawn the keys of those that no longer do.
	Told      []TaskNotice  `json:"told"`
	Withdrawn []string      `json:"withdrawn,omitempty"`
	Warnings  []TaskWarning `json:"warnings,omitempty"`
}

// TaskNotice is one thing that people are told of a task: as messages, or as a reminder that becomes some.
type TaskNotice struct {
	Key      string   `json:"key"`
	Kind     string   `json:"kind"`
	Channel  string   `json:"channel"`
	Messages []string `json:"messages,omitempty"`
	Reminder string   `json:"reminder,omitempty"`
	// The rest is told of a task only, not of an outcome.
	Ref       string    `json:"ref,omitempty"`
	At        time.Time `json:"told_at,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Withdrawn bool      `json:"withdrawn,omitempty"`
}

// TaskWarning says what of a task can not be as it was meant.
type TaskWarning struct {
	Code   string    `json:"code"`
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
}

// Task is what is known of a task, and who was told what of it.
type Task struct {
	ID string `json:"task_id"`
	// State is unknown until the task is described, then running, finished, aborted or cancelled.
	State     string               `json:"state"`
	Reason    string               `json:"reason,omitempty"`
	Ended     time.Time            `json:"ended_at,omitzero"`
	About     *posthouse.Task      `json:"task,omitempty"`
	Nodes     []TaskNode           `json:"nodes"`
	Orbits    []posthouse.Orbit    `json:"orbits"`
	Notices   []TaskNotice         `json:"notices"`
	Messages  []TaskMessage        `json:"messages"`
	Reminders []posthouse.Reminder `json:"reminders"`
	Warnings  []TaskWarning        `json:"warnings"`
	// Error is why notices can not be made into messages, as of the last try, and NextAt is the next one.
	Error     string    `json:"last_error,omitempty"`
	NextAt    time.Time `json:"next_at,omitzero"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// TaskNode is one time that a node was begun.
type TaskNode struct {
	Node      string               `json:"node_id"`
	Name      string               `json:"name,omitempty"`
	Round     int                  `json:"round"`
	Started   time.Time            `json:"started_at,omitzero"`
	Done      time.Time            `json:"done_at,omitzero"`
	WorkItems []posthouse.WorkItem `json:"work_items,omitempty"`
}

// TaskMessage is how a message of a task stands.
type TaskMessage struct {
	ID      string                  `json:"id"`
	Kind    string                  `json:"kind"`
	Channel string                  `json:"channel"`
	Counts  map[posthouse.State]int `json:"counts"`
}

// TaskSummary is a task in a list.
type TaskSummary struct {
	ID        string    `json:"task_id"`
	Name      string    `json:"name,omitempty"`
	State     string    `json:"state"`
	Notices   int       `json:"notices"`
	Warnings  int       `json:"warnings"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Tell hands in events of tasks, 1 to 1000. They may come twice and in any order, so the call is
// repeated where its answer is lost.
func (c Tasks) Tell(ctx context.Context, events ...posthouse.TaskEvent) ([]TaskOutcome, error) {
	r, err := withBody(http.MethodPost, path("workflow", "events"), map[string][]posthouse.TaskEvent{"events": events})
	if err != nil {
		return nil, err
	}
	r.key = posthouse.NewID()
	body, err := call[struct {
		Outcomes []TaskOutcome `json:"outcomes"`
	}](ctx, c.api, r)
	return body.Outcomes, err
}

// Get reads what is known of a task.
func (c Tasks) Get(ctx context.Context, id string) (Task, error) {
	return get[Task](ctx, c.api, path("workflow", "tasks", id), nil)
}

// List lists the tasks that events have named, by id. Of the filter only Cursor and Limit are looked at.
func (c Tasks) List(ctx context.Context, f Filter) (wire.Page[TaskSummary], error) {
	return get[wire.Page[TaskSummary]](ctx, c.api, path("workflow", "tasks"), Filter{Cursor: f.Cursor, Limit: f.Limit}.query())
}

// TellJSON hands in a body as it is: one event, or {"events": […]}. An empty key makes one.
func (c Tasks) TellJSON(ctx context.Context, key string, body []byte) ([]TaskOutcome, error) {
	if key == "" {
		key = posthouse.NewID()
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	out, err := call[struct {
		TaskOutcome
		Outcomes []TaskOutcome `json:"outcomes"`
	}](ctx, c.api, request{method: http.MethodPost, path: path("workflow", "events"), key: key, kind: "application/json", body: body})
	if out.Outcomes == nil && err == nil {
		out.Outcomes = []TaskOutcome{out.TaskOutcome}
	}
	return out.Outcomes, err
}
