package flow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse/workflow"
)

// known is all that events have told of a task. Two that are merged know what both knew, whichever was
// first and however often: events may come twice and in any order.
type known struct {
	Task   *fact[workflow.Task]      `json:"task,omitempty"`
	Made   *fact[nothing]            `json:"made,omitempty"` // when it was first described
	Orbits *fact[[]workflow.Orbit]   `json:"orbits,omitempty"`
	End    *fact[ending]             `json:"end,omitempty"`
	Nodes  map[string]map[int]*round `json:"nodes,omitempty"` // by id, then by round
}

// round is one time that a node was begun.
type round struct {
	Start *fact[nothing]             `json:"start,omitempty"`
	Items *fact[[]workflow.WorkItem] `json:"work_items,omitempty"`
	Done  *fact[nothing]             `json:"done,omitempty"`
}

// ending is how a task ended.
type ending struct {
	Event  workflow.EventType `json:"event"`
	Reason string             `json:"reason,omitempty"`
}

// nothing is what an event says that only has happened.
type nothing struct{}

// fact is one matter as an event told it. Payload is the event's.
type fact[T any] struct {
	At      time.Time       `json:"at"`
	Value   T               `json:"value"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// order compares facts of one matter: by time, and at one time by what they say, so that it does not
// matter which of two was heard first. A missing one comes before all.
func (f *fact[T]) order(other *fact[T]) int {
	switch {
	case f == nil && other == nil:
		return 0
	case f == nil:
		return -1
	case other == nil:
		return 1
	}
	if c := f.At.Compare(other.At); c != 0 {
		return c
	}
	return bytes.Compare(canonical(f), canonical(other))
}

// canonical is a value as text.
func canonical(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("workflow: an event that was checked cannot be written as JSON: " + err.Error())
	}
	return text
}

// latest is the fact that holds where the last word counts.
func latest[T any](a, b *fact[T]) *fact[T] {
	if a.order(b) < 0 {
		return b
	}
	return a
}

// first is the fact that holds where a thing happens once.
func first[T any](a, b *fact[T]) *fact[T] {
	if a == nil || b != nil && b.order(a) < 0 {
		return b
	}
	return a
}

// merge is what two know together.
func merge(a, b known) known {
	out := known{Task: latest(a.Task, b.Task), Made: first(a.Made, b.Made), Orbits: latest(a.Orbits, b.Orbits), End: first(a.End, b.End)}
	for _, from := range []known{a, b} {
		for node, rounds := range from.Nodes {
			for number, r := range rounds {
				out.at(node, number).add(r)
			}
		}
	}
	return out
}

// at is a round of a node, made where it is not known yet.
func (k *known) at(node string, number int) *round {
	if k.Nodes == nil {
		k.Nodes = map[string]map[int]*round{}
	}
	if k.Nodes[node] == nil {
		k.Nodes[node] = map[int]*round{}
	}
	if k.Nodes[node][number] == nil {
		k.Nodes[node][number] = &round{}
	}
	return k.Nodes[node][number]
}

func (r *round) add(other *round) {
	r.Start, r.Items, r.Done = first(r.Start, other.Start), latest(r.Items, other.Items), first(r.Done, other.Done)
}

// knownFrom is what one event tells. It has been checked, and has a time.
func knownFrom(e workflow.Event) known {
	var k known
	happened := &fact[nothing]{At: e.At, Payload: e.Payload}
	switch e.Type {
	case workflow.TaskCreated:
		k.Task, k.Made = &fact[workflow.Task]{e.At, *e.Created, e.Payload}, &fact[nothing]{At: e.At}
	case workflow.NodeActivated:
		r := k.at(e.Node, max(e.Round, 1))
		r.Start = happened
		if e.WorkItems != nil {
			r.Items = &fact[[]workflow.WorkItem]{e.At, e.WorkItems, e.Payload}
		}
	case workflow.NodeDone:
		k.at(e.Node, max(e.Round, 1)).Done = happened
	case workflow.OrbitPlanChanged:
		k.Orbits = &fact[[]workflow.Orbit]{e.At, e.Orbits, e.Payload}
	case workflow.TaskFinished, workflow.TaskAborted, workflow.TaskCancelled:
		k.End = &fact[ending]{e.At, ending{e.Type, e.Reason}, e.Payload}
	}
	return k
}

// plain gives an event the form in which it is kept: equal events are equal texts then.
func plain(e workflow.Event, received time.Time) workflow.Event {
	if e.At.IsZero() {
		e.At = received
	}
	e.At = e.At.UTC().Round(0) // without the monotonic clock
	if e.Created != nil {
		task := *e.Created
		task.CreatedAt = task.CreatedAt.UTC()
		e.Created = &task
	}
	var compact bytes.Buffer
	if len(e.Payload) > 0 && json.Compact(&compact, e.Payload) == nil && compact.String() != "null" {
		e.Payload = compact.Bytes()
	} else {
		e.Payload = nil
	}
	return e
}

// createdAt is when the task was created.
func (k *known) createdAt() time.Time {
	if at := k.Task.Value.CreatedAt; !at.IsZero() {
		return at
	}
	return k.Made.At
}

// open is the round of a node that is under way: the last that was begun, unless it or a later one is done. One that no
// event has named began when those before it were done.
func (k *known) open(node string) (number int, r *round) {
	if at := k.implied(node); !at.IsZero() {
		return 1, &round{Start: &fact[nothing]{At: at}}
	}
	for n, other := range k.Nodes[node] {
		if n > number {
			number, r = n, other
		}
	}
	if r == nil || r.Start == nil || r.Done != nil {
		return 0, nil
	}
	return number, r
}

// implied is when a node began that no event has named: when the last of its predecessors was done, and of a first node when
// the task was described (section 3.5 of the document). It is zero where that has not come. A node without links among
// others is not known to be a first one.
func (k *known) implied(node string) time.Time {
	if k.Task == nil || len(k.Nodes[node]) > 0 {
		return time.Time{}
	}
	nodes := k.Task.Value.Nodes
	first, linked := true, len(nodes) == 1
	var at time.Time
	for i := range nodes {
		if nodes[i].ID == node {
			linked = linked || len(nodes[i].Next) > 0
		}
		if !slices.Contains(nodes[i].Next, node) {
			continue
		}
		done := k.doneAt(nodes[i].ID)
		if done.IsZero() {
			return time.Time{}
		}
		first, at = false, later(at, done)
	}
	if first && linked {
		return k.Made.At
	}
	return at
}

// follows reports whether a node comes right after another.
func (k *known) follows(node, next string) bool {
	return k.Task != nil && slices.ContainsFunc(k.Task.Value.Nodes, func(n workflow.Node) bool {
		return n.ID == node && slices.Contains(n.Next, next)
	})
}

// doneAt is when the last round of a node was done, zero where it is not.
func (k *known) doneAt(node string) time.Time {
	rounds := k.Nodes[node]
	if len(rounds) == 0 {
		return time.Time{}
	}
	if last := rounds[slices.Max(slices.Collect(maps.Keys(rounds)))]; last.Done != nil {
		return last.Done.At
	}
	return time.Time{}
}

// cancelled reports whether the task ended in that nobody need know of it any more.
func (k *known) cancelled() bool {
	return k.End != nil && k.End.Value.Event == workflow.TaskCancelled
}
