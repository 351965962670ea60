// Package taskbody is what senders write about tasks, in calls and in rows of the outbox, before it is read. It is not what is told about a
// task: that is package workflow.
package taskbody

import (
	"encoding/json"

	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// NewEvent is a workflow.Event as senders write it: ids as numbers or texts, and times with their zone or in the
// server's.
type NewEvent struct {
	Type      workflow.EventType `json:"event"`
	Task      wire.Ident         `json:"task_id" doc:"The task's id in the sender's system."`
	At        string             `json:"at,omitempty" doc:"When it happened, by the sender's clock, as 2025-08-02T13:15:00+08:00, or as 2025-08-02 13:15:00 in the server's time zone. Defaults to when it is received."`
	Node      wire.Ident         `json:"node_id,omitempty" doc:"The node's id, with node.activated and node.done."`
	Round     int                `json:"round,omitempty" doc:"How often the node was begun. Defaults to 1."`
	Created   *NewTask           `json:"task,omitempty" doc:"Describes the task, with task.created."`
	WorkItems []NewWorkItem      `json:"work_items,omitempty" doc:"All of the node's, with node.activated."`
	Orbits    []NewOrbit         `json:"orbits,omitempty" doc:"All passes there are now, with orbit_plan.changed."`
	Reason    string             `json:"reason,omitempty" doc:"Why, with task.aborted and task.cancelled."`
	Payload   json.RawMessage    `json:"payload,omitempty" doc:"Adds to what templates are filled with for the messages that follow."`
}

// NewTask is a workflow.Task.
type NewTask struct {
	Name        string     `json:"name"`
	Code        string     `json:"code,omitempty"`
	Creator     wire.Ident `json:"create_by" doc:"The initiator's user id."`
	CreatorName string     `json:"creator_name,omitempty" doc:"Defaults to the directory's name."`
	CreatedAt   string     `json:"create_time,omitempty" doc:"As at. Defaults to the event's time."`
	Nodes       []NewNode  `json:"nodes"`
	Channels    []string   `json:"channels,omitempty" doc:"Where it is told. Defaults to those of oa and dingtalk that are configured."`
}

// NewNode is a workflow.Node.
type NewNode struct {
	ID            wire.Ident   `json:"id"`
	Name          string       `json:"name"`
	Roles         []wire.Ident `json:"handler_role_ids,omitempty"`
	Users         []wire.Ident `json:"handler_user_ids,omitempty" doc:"Handlers beside those of the roles."`
	Next          []wire.Ident `json:"next_node_ids,omitempty"`
	MaxDuration   int          `json:"max_duration,omitempty" doc:"Minutes until handlers are told that the node takes too long. 0 is never."`
	TimeoutRemind int          `json:"timeout_remind,omitempty" doc:"Minutes after which they are told again. 0 is never."`
}

// NewWorkItem is a workflow.WorkItem.
type NewWorkItem struct {
	ID          wire.Ident `json:"id,omitempty"`
	Assignee    wire.Ident `json:"assignee_id"`
	PhaseStatus int        `json:"phase_status" doc:"1 is open."`
}

// NewOrbit is a workflow.Orbit.
type NewOrbit struct {
	ID     wire.Ident `json:"orbit_id,omitempty"`
	Number int        `json:"orbit_no"`
	InTime string     `json:"in_time" doc:"As at."`
}

// TaskEvents is one event of a task, or a list of them.
type TaskEvents struct {
	NewEvent
	Events []NewEvent `json:"events,omitempty"`
}
