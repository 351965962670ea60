package flow

import (
	"github.com/posthouse/posthouse/internal/taskbody"
	"strconv"

	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Event reads an event of a task, whose problems begin with at. Whether it makes sense is for Check.
func (r *Reader) Event(at string, in *taskbody.NewEvent) workflow.Event {
	e := workflow.Event{
		Type: in.Type, Task: r.written(at+"task_id", in.Task), At: r.Time(at+"at", in.At), Node: r.written(at+"node_id", in.Node),
		Round: in.Round, Reason: in.Reason, Payload: in.Payload,
	}
	if in.Created != nil {
		task := r.task(at+"task.", in.Created)
		e.Created = &task
	}
	for i, w := range in.WorkItems {
		path := at + "work_items[" + strconv.Itoa(i) + "]."
		e.WorkItems = append(e.WorkItems, workflow.WorkItem{
			ID: r.written(path+"id", w.ID), Assignee: r.written(path+"assignee_id", w.Assignee), PhaseStatus: w.PhaseStatus,
		})
	}
	if in.Orbits != nil {
		e.Orbits = []workflow.Orbit{} // none is another word than nothing
	}
	for i, o := range in.Orbits {
		path := at + "orbits[" + strconv.Itoa(i) + "]."
		e.Orbits = append(e.Orbits, workflow.Orbit{ID: r.written(path+"orbit_id", o.ID), Number: o.Number, InTime: r.Time(path+"in_time", o.InTime)})
	}
	return e
}

func (r *Reader) task(at string, in *taskbody.NewTask) workflow.Task {
	t := workflow.Task{
		Name: in.Name, Code: in.Code, Creator: r.written(at+"create_by", in.Creator), CreatorName: in.CreatorName,
		CreatedAt: r.Time(at+"create_time", in.CreatedAt), Channels: in.Channels,
	}
	for i := range in.Nodes {
		n, path := &in.Nodes[i], at+"nodes["+strconv.Itoa(i)+"]."
		t.Nodes = append(t.Nodes, workflow.Node{
			ID: r.written(path+"id", n.ID), Name: n.Name, Roles: r.allWritten(path+"handler_role_ids", n.Roles),
			Users: r.allWritten(path+"handler_user_ids", n.Users), Next: r.allWritten(path+"next_node_ids", n.Next),
			MaxDuration: n.MaxDuration, TimeoutRemind: n.TimeoutRemind,
		})
	}
	return t
}

func (r *Reader) allWritten(path string, list []wire.Ident) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = r.written(path+"["+strconv.Itoa(i)+"]", list[i])
	}
	return out
}
