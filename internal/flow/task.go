package flow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
	"github.com/posthouse/posthouse/workflow"
)

// Task says what is known of a task. An error of code not_found says that no event has named it.
func (f *Flow) Task(ctx context.Context, tenant, id string) (wire.TaskStatus, error) {
	l, p, err := f.ledger(ctx, tenant, id)
	if err != nil {
		return wire.TaskStatus{}, err
	}
	return l.status(p), nil
}

// Tasks lists the tasks of a tenant by id, a page at a time.
func (f *Flow) Tasks(ctx context.Context, tenant, cursor string, limit int) ([]wire.TaskSummary, string, error) {
	plans, next, err := f.o.Book.Plans(ctx, tenant, work.PlanTask, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	out := make([]wire.TaskSummary, len(plans))
	for i, p := range plans {
		var l ledger
		if err := l.decode(p); err != nil {
			return nil, "", err
		}
		s := l.status(p)
		out[i] = wire.TaskSummary{Task: s.Task, State: s.State, Notices: len(s.Notices), Warnings: len(s.Warnings), UpdatedAt: s.UpdatedAt}
		if s.About != nil {
			out[i].Name = s.About.Name
		}
	}
	return out, next, nil
}

func (f *Flow) ledger(ctx context.Context, tenant, id string) (l ledger, p work.Plan, err error) {
	p, found, err := f.o.Book.Plan(ctx, tenant, work.PlanTask, id)
	if err == nil && !found {
		err = posthouse.Errorf(posthouse.CodeNotFound, "there is no task %q: no event has named it", id)
	}
	if err != nil {
		return l, p, err
	}
	return l, p, l.decode(p)
}

func (l *ledger) status(p work.Plan) wire.TaskStatus {
	s := wire.TaskStatus{
		Task: p.ID, State: l.Known.state(), Nodes: l.Known.nodes(), Orbits: []workflow.Orbit{}, Notices: []wire.TaskNotice{},
		Warnings: append(l.Known.notActivated(), l.Warnings...), Error: p.Error, NextAt: p.NextAt, Version: p.Version, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	if end := l.Known.End; end != nil {
		s.Ended, s.Reason = end.At, end.Value.Reason
	}
	if l.Known.Task != nil {
		task := l.Known.Task.Value
		if len(task.Channels) == 0 {
			task.Channels = l.Channels
		}
		s.About = &task
	}
	if l.Known.Orbits != nil {
		s.Orbits = append(s.Orbits, l.Known.Orbits.Value...)
	}
	for _, t := range l.Told {
		s.Notices = append(s.Notices, wire.TaskNotice{
			Told: wire.Told{Key: t.Key, Kind: t.Kind, Channel: t.Channel, Messages: t.Messages, Reminder: t.Reminder, NotBefore: t.NotBefore},
			Ref:  t.Ref, At: t.At, Withdrawn: t.Withdrawn,
		})
	}
	return s
}

// notActivated warns of the nodes that no event has said to begin and whose time-outs are planned nevertheless. It is no part
// of the ledger: an event that comes late ends it.
func (k *known) notActivated() []wire.TaskWarning {
	out := []wire.TaskWarning{}
	if k.Task == nil || k.End != nil {
		return out
	}
	for i := range k.Task.Value.Nodes {
		node := &k.Task.Value.Nodes[i]
		if at := k.implied(node.ID); node.MaxDuration > 0 && !at.IsZero() {
			out = append(out, wire.TaskWarning{Code: NotActivated, Detail: fmt.Sprintf("node %q was not activated: its time-out counts from %s", node.ID, at.UTC().Format(time.RFC3339)), At: at})
		}
	}
	return out
}

// state is a task's state in a word.
func (k *known) state() string {
	switch {
	case k.End != nil && k.End.Value.Event == workflow.TaskFinished:
		return "finished"
	case k.End != nil && k.End.Value.Event == workflow.TaskAborted:
		return "aborted"
	case k.End != nil:
		return "cancelled"
	case k.Task == nil:
		return "unknown"
	}
	return "running"
}

// nodes are the rounds of all nodes, by id.
func (k *known) nodes() []wire.TaskNode {
	names := map[string]string{}
	if k.Task != nil {
		for _, n := range k.Task.Value.Nodes {
			names[n.ID] = n.Name
		}
	}
	out := []wire.TaskNode{}
	for _, id := range slices.Sorted(maps.Keys(k.Nodes)) {
		for _, number := range slices.Sorted(maps.Keys(k.Nodes[id])) {
			r := k.Nodes[id][number]
			s := wire.TaskNode{Node: id, Name: names[id], Round: number}
			if r.Start != nil {
				s.Started = r.Start.At
			}
			if r.Done != nil {
				s.Done = r.Done.At
			}
			if r.Items != nil {
				s.WorkItems = r.Items.Value
			}
			out = append(out, s)
		}
	}
	return out
}

// Recipients are those whom a reminder of a node is for now: who has to act on it. False says that nobody
// has to any more, and the reminder is to end. It satisfies remind.Audience.
func (f *Flow) Recipients(ctx context.Context, r posthouse.Reminder) (to []posthouse.Recipient, goesOn bool, err error) {
	l, _, err := f.ledger(ctx, r.Tenant, r.Task)
	if posthouse.CodeOf(err) == posthouse.CodeNotFound {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	who, over := l.Known.assignees(r.Node)
	if over {
		return nil, false, nil
	}
	if !l.Known.implied(r.Node).IsZero() {
		f.warnings.WithLabelValues(string(NotActivated)).Inc()
		f.o.Log.Warn("a node takes too long of which no event said that it has begun", "code", NotActivated, "tenant", r.Tenant, "task", r.Task, "node", r.Node)
	}
	found, err := resolve(ctx, f.o.Resolver, r.Tenant, r.Task, r.Draft.Kind, who)
	if err != nil {
		return nil, false, err
	}
	to, err = f.addressed(ctx, r.Tenant, r.Draft.Channel, found.To, func(why string) {
		f.warnings.WithLabelValues(string(NoAddress)).Inc()
		f.o.Log.Warn("a node takes too long and somebody who has to act on it cannot be told: "+why, "code", NoAddress, "tenant", r.Tenant, "task", r.Task, "node", r.Node)
	})
	if err != nil {
		return nil, false, err
	}
	if len(found.To) == 0 {
		f.warnings.WithLabelValues(string(NobodyToTell)).Inc()
		f.o.Log.Warn("a node takes too long and nobody has to act on it", "code", NobodyToTell, "tenant", r.Tenant, "task", r.Task, "node", r.Node)
	}
	return to, true, nil
}
