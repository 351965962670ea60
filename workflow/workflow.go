// Package workflow is the vocabulary of what happens to the tasks of workflows, as the systems that run them tell it
// with client.Tasks.Tell, Box.Report of package outbox or POST /v1/workflow/events. Its words are those of the
// document that many of these systems follow, orbits among them. Posthouse is no workflow engine: from these
// events it finds out who is told what, and when.
package workflow

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
)

// Event tells what happened to a task of a workflow. Events may come twice and in any order: each
// adds to what is known of the task, and who is told follows from all that is known.
type Event struct {
	Type EventType `json:"event"`
	// Task is the task's id in the sender's system.
	Task string `json:"task_id"`
	// At is when it happened, by the sender's clock; of two events that say different things of the same
	// matter the later one holds. Defaults to when it is received.
	At time.Time `json:"at,omitzero"`
	// Node is the node's id, with node.activated and node.done.
	Node string `json:"node_id,omitempty"`
	// Round counts how often the node was begun, where a task can go back to it. Defaults to 1.
	Round int `json:"round,omitempty"`
	// Created describes the task, with task.created.
	Created *Task `json:"task,omitempty"`
	// WorkItems are all of the node's, with node.activated: who has to act on it now.
	WorkItems []WorkItem `json:"work_items,omitempty"`
	// Orbits are all passes there are now, with orbit_plan.changed.
	Orbits []Orbit `json:"orbits,omitempty"`
	// Reason is why, with task.aborted and task.cancelled.
	Reason string `json:"reason,omitempty"`
	// Payload adds to what templates are filled with for the messages that follow from this event.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// EventType says what happened.
type EventType string

// The events.
const (
	TaskCreated      EventType = "task.created"
	NodeActivated    EventType = "node.activated"
	NodeDone         EventType = "node.done"
	TaskFinished     EventType = "task.finished"
	TaskAborted      EventType = "task.aborted"
	TaskCancelled    EventType = "task.cancelled"
	OrbitPlanChanged EventType = "orbit_plan.changed"
)

// Task is a run of a workflow.
type Task struct {
	Name    string `json:"name"`
	Code    string `json:"code,omitempty"`
	Creator string `json:"create_by"` // the initiator's user id
	// CreatorName is what templates call the initiator. Defaults to the directory's name.
	CreatorName string    `json:"creator_name,omitempty"`
	CreatedAt   time.Time `json:"create_time,omitzero"` // Defaults to the event's time.
	Nodes       []Node    `json:"nodes"`
	// Channels are told. Defaults to those of oa and dingtalk that are configured.
	Channels []string `json:"channels,omitempty"`
}

// Node is a step of a task.
type Node struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Roles []string `json:"handler_role_ids,omitempty"`
	Users []string `json:"handler_user_ids,omitempty"` // handlers beside those of the roles
	Next  []string `json:"next_node_ids,omitempty"`
	// MaxDuration and TimeoutRemind are minutes: when handlers are first told that the node takes too
	// long, and how often again. 0 is never.
	MaxDuration   int `json:"max_duration,omitempty"`
	TimeoutRemind int `json:"timeout_remind,omitempty"`
}

// WorkItem is a node's task for one person. PhaseStatus 1 is open.
type WorkItem struct {
	ID          string `json:"id,omitempty"`
	Assignee    string `json:"assignee_id"`
	PhaseStatus int    `json:"phase_status"`
}

// Orbit is a pass of a satellite.
type Orbit struct {
	ID     string    `json:"orbit_id,omitempty"`
	Number int       `json:"orbit_no"`
	InTime time.Time `json:"in_time"`
}

// Question asks who the handlers of nodes are.
type Question struct {
	Tenant string
	Task   string
	// Purpose is the kind of the notice that they are told, such as node_done.
	Purpose string
	// Nodes are the nodes it is about. Roles and Users are those that the task names for them; Users holds
	// the initiator too where he is told, and the assignees of work items where these are asked for.
	Nodes, Roles, Users []string
}

// Audience answers a Question: these people are told.
type Audience struct {
	// To are the recipients. One without an address is looked up in the directory.
	To []posthouse.Recipient
	// Vacant are roles of the question that nobody has. Defaults to none.
	Vacant []string
}
