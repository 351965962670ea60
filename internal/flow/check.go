package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/workflow"
)

// Bounds of an event. A task's document holds all that its events said, and stays a matter of some 100 KiB.
const (
	maxID        = 100 // bytes of a task's or node's id: dedup keys of 255 bytes hold two
	maxText      = 255
	maxReason    = 1000
	maxNodes     = 500
	maxHandlers  = 1000 // roles, users and next nodes of a node, each
	maxWorkItems = 1000
	maxOrbits    = 200
	maxRound     = 999
	maxMinutes   = 366 * 24 * 60
	maxPayload   = 64 << 10
	maxChannels  = 10
)

// Check names everything that is wrong with an event as far as the event alone can tell. at stands before
// each field's name, such as "events[2].".
func Check(e workflow.Event, at string) []posthouse.Problem {
	p := &draft.Problems{Path: at}
	required(p, "task_id", e.Task, maxID)
	p.Word("reason", e.Reason, maxReason)
	p.Time("at", e.At)
	switch e.Type {
	case workflow.TaskCreated:
		if e.Created == nil {
			p.Add("task", "is required with %s", e.Type)
		} else {
			checkTask(e.Created, p)
		}
	case workflow.NodeActivated, workflow.NodeDone:
		required(p, "node_id", e.Node, maxID)
	case workflow.TaskFinished, workflow.TaskAborted, workflow.TaskCancelled:
	case workflow.OrbitPlanChanged:
		checkOrbits(e.Orbits, p)
	default:
		p.Add("event", "%s", channel.Want(e.Type, Events()))
		return p.List
	}
	checkBelongings(e, p)
	checkItems(e.WorkItems, p)
	p.Payload(e.Payload, maxPayload)
	return p.List
}

// Events lists the types of events.
func Events() []workflow.EventType {
	return []workflow.EventType{
		workflow.TaskCreated, workflow.NodeActivated, workflow.NodeDone, workflow.TaskFinished,
		workflow.TaskAborted, workflow.TaskCancelled, workflow.OrbitPlanChanged,
	}
}

// checkBelongings refuses fields that the event has no use for: what they say would be lost in silence.
func checkBelongings(e workflow.Event, p *draft.Problems) {
	node := []workflow.EventType{workflow.NodeActivated, workflow.NodeDone}
	for _, f := range []struct {
		name  string
		given bool
		with  []workflow.EventType
	}{
		{"task", e.Created != nil, []workflow.EventType{workflow.TaskCreated}},
		{"node_id", e.Node != "", node},
		{"round", e.Round != 0, node},
		{"work_items", e.WorkItems != nil, node[:1]},
		{"orbits", e.Orbits != nil, []workflow.EventType{workflow.OrbitPlanChanged}},
		{"reason", e.Reason != "", []workflow.EventType{workflow.TaskAborted, workflow.TaskCancelled}},
	} {
		if f.given && !slices.Contains(f.with, e.Type) {
			p.Add(f.name, "does not go with %s", e.Type)
		}
	}
	if e.Round < 0 || e.Round > maxRound {
		p.Add("round", "is %d: want 1 to %d", e.Round, maxRound)
	}
}

func checkTask(t *workflow.Task, p *draft.Problems) {
	p.Word("task.name", t.Name, maxText)
	if t.Name == "" {
		p.Add("task.name", "is required")
	}
	p.Word("task.code", t.Code, maxText)
	required(p, "task.create_by", t.Creator, maxText)
	p.Word("task.creator_name", t.CreatorName, maxText)
	p.Time("task.create_time", t.CreatedAt)
	checkNames("task.channels", t.Channels, maxChannels, draft.MaxWord, p)
	if n := len(t.Nodes); n == 0 || n > maxNodes {
		p.Add("task.nodes", "has %d nodes: want 1 to %d", n, maxNodes)
		return
	}
	ids := map[string]bool{}
	for i := range t.Nodes {
		if ids[t.Nodes[i].ID] {
			p.Add(fmt.Sprintf("task.nodes[%d].id", i), "is %q, which another node of the task has", t.Nodes[i].ID)
		}
		ids[t.Nodes[i].ID] = true
	}
	for i := range t.Nodes {
		checkNode(fmt.Sprintf("task.nodes[%d].", i), &t.Nodes[i], ids, p)
	}
}

func checkNode(at string, n *workflow.Node, ids map[string]bool, p *draft.Problems) {
	required(p, at+"id", n.ID, maxID)
	p.Word(at+"name", n.Name, maxText)
	checkNames(at+"handler_role_ids", n.Roles, maxHandlers, maxText, p)
	checkNames(at+"handler_user_ids", n.Users, maxHandlers, maxText, p)
	checkNames(at+"next_node_ids", n.Next, maxHandlers, maxID, p)
	for i, next := range n.Next {
		if next != "" && !ids[next] {
			p.Add(fmt.Sprintf("%snext_node_ids[%d]", at, i), "is %.60q, which is no node of the task", next)
		}
	}
	for _, m := range []struct {
		name    string
		minutes int
	}{{"max_duration", n.MaxDuration}, {"timeout_remind", n.TimeoutRemind}} {
		if m.minutes < 0 || m.minutes > maxMinutes {
			p.Add(at+m.name, "is %d: want 0 to %d minutes", m.minutes, maxMinutes)
		}
	}
}

func checkNames(field string, names []string, most, length int, p *draft.Problems) {
	if len(names) > most {
		p.Add(field, "has %d entries: at most %d are allowed", len(names), most)
		return
	}
	for i, name := range names {
		required(p, fmt.Sprintf("%s[%d]", field, i), name, length)
	}
}

func checkItems(items []workflow.WorkItem, p *draft.Problems) {
	if len(items) > maxWorkItems {
		p.Add("work_items", "has %d entries: at most %d are allowed", len(items), maxWorkItems)
		return
	}
	for i, item := range items {
		at := fmt.Sprintf("work_items[%d].", i)
		p.Word(at+"id", item.ID, maxText)
		required(p, at+"assignee_id", item.Assignee, maxText)
	}
}

func checkOrbits(orbits []workflow.Orbit, p *draft.Problems) {
	if len(orbits) > maxOrbits {
		p.Add("orbits", "has %d passes: at most %d are allowed", len(orbits), maxOrbits)
		return
	}
	numbers := map[int]bool{}
	for i, o := range orbits {
		at := fmt.Sprintf("orbits[%d].", i)
		p.Word(at+"orbit_id", o.ID, maxText)
		if o.InTime.IsZero() {
			p.Add(at+"in_time", "is required: when the pass begins")
		}
		p.Time(at+"in_time", o.InTime)
		if numbers[o.Number] {
			p.Add(at+"orbit_no", "is %d, which another pass of the plan has", o.Number)
		}
		numbers[o.Number] = true
	}
}

// required checks a text of one line that must be given.
func required(p *draft.Problems, field, value string, most int) {
	if value == "" {
		p.Add(field, "is required")
	}
	p.Word(field, value, most)
}

// checkChannels refuses channels that are not configured.
func checkChannels(named, configured []string, at string) []posthouse.Problem {
	p := &draft.Problems{Path: at}
	for i, name := range named {
		if name != "" && !slices.Contains(configured, name) {
			p.Add(fmt.Sprintf("task.channels[%d]", i), "there is no channel %.60q; the channels are %s", name, strings.Join(configured, ", "))
		}
	}
	return p.List
}
