package flow

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/workflow"
)

// Orbit reminders come from an hour before a pass enters, each quarter of an hour, until it does
// (sections 0 and 3.3 of the document).
const (
	orbitBefore = time.Hour
	orbitEvery  = 15 * time.Minute
	orbitLast   = 15 * time.Minute // how long the one at the entry is worth being sent
)

// unlimited is the remainMin of a node that may take as long as it takes.
const unlimited = "不限"

// notice is one message to be sent over one channel, as it follows from what is known.
type notice struct {
	// id tells it from all others of the task: its key, and a moment where another moment makes it another
	// notice, such as that of a pass. words tells what it says, and to whom, from what it would say otherwise.
	id, words string
	// key is the document's (section 3); later rounds of a node add #2, #3, …
	key       string
	kind, ref string
	channel   string
	to        audience
	payload   map[string]any
	extra     json.RawMessage // the event's payload, which adds to ours
	notBefore time.Time
	deadline  time.Time
	clock     *posthouse.Clock
	repeat    *posthouse.Repeat // of a time-out, which is a reminder
	next      []following       // of a node that is done: each handler reads of his own
}

// following is a node that follows one that is done.
type following struct {
	ID    string
	Name  string
	Until time.Time // zero for one that may take as long as it takes
}

// audience says who is told, in the task's own terms.
type audience struct {
	nodes   []string // whose handlers
	roles   []string
	users   []string
	without string // a user who is not told
}

// deriver goes from what is known of a task to the notices there are. It looks at no clock: what is past
// is the planner's concern.
type deriver struct {
	id       string // the task's
	known    *known
	task     *workflow.Task
	channels []string
	zone     *time.Location
	creator  string // as texts call the initiator
	out      []notice
}

// derive lists the notices that follow from what is known. Nobody is told anything before the task is
// described, and nothing of a task that was cancelled.
func derive(id string, k *known, channels []string, creator string, zone *time.Location) []notice {
	if k.Task == nil || k.cancelled() {
		return nil
	}
	d := deriver{id: id, known: k, task: &k.Task.Value, channels: channels, zone: zone, creator: creator}
	d.created()
	for i := range d.task.Nodes {
		d.done(&d.task.Nodes[i])
	}
	d.end()
	if k.End == nil {
		d.orbits()
		d.timeouts()
	}
	return d.out
}

// add makes a notice on each channel. key makes its key there.
func (d *deriver) add(n notice, key func(channel string) string) {
	for _, channel := range d.channels {
		on := n
		on.channel, on.key = channel, key(channel)
		on.id = on.key + n.id
		on.words = on.digest()
		d.out = append(d.out, on)
	}
}

// mark tells a notice from all others of the task, and from itself in other words.
func (n *notice) mark() string { return n.id + n.words }

// digest stands for all that a notice says.
func (n *notice) digest() string {
	h := fnv.New128a()
	h.Write(canonical([]any{n.to.roles, n.to.users, n.to.without, n.payload, n.extra, n.notBefore, n.deadline, n.clock, n.repeat, n.next}))
	return hex.EncodeToString(h.Sum(nil))
}

// created tells everyone who handles a node, without the initiator (section 3.1).
func (d *deriver) created() {
	n := notice{kind: KindTaskCreated, ref: d.id, to: d.handlers(d.all()), payload: d.payload(), extra: d.known.Task.Payload}
	n.to.without = d.task.Creator
	d.add(n, func(channel string) string { return TaskCreatedKey(d.id, channel) })
}

// done tells the handlers of all next nodes of a node, each time it was done (section 3.2).
func (d *deriver) done(node *workflow.Node) {
	if len(node.Next) == 0 {
		return
	}
	rounds := d.known.Nodes[node.ID]
	for _, number := range slices.Sorted(maps.Keys(rounds)) {
		done := rounds[number].Done
		if done == nil {
			continue
		}
		n := notice{kind: KindNodeDone, ref: node.ID, to: d.handlers(node.Next), payload: d.payload(), extra: done.Payload}
		n.payload["nodeInstId"], n.payload["nodeName"] = identifier(node.ID), node.Name
		d.next(&n, node, done.At)
		d.add(n, func(channel string) string { return NodeDoneKey(d.id, node.ID, channel) + roundMark(number) })
	}
}

// next names the nodes that follow, and how long the most urgent of them may take.
func (d *deriver) next(n *notice, node *workflow.Node, done time.Time) {
	for _, id := range node.Next {
		f := following{ID: id, Name: d.node(id).Name}
		if most := d.node(id).MaxDuration; most > 0 {
			f.Until = done.Add(minutes(most))
		}
		n.next = append(n.next, f)
	}
	n.payload["nextNodeNames"] = namesOf(n.next)
	n.follows(n.next)
}

// follows lets a notice say of some of the nodes that follow what they are and how long the most urgent of them may take.
func (n *notice) follows(next []following) {
	n.clock = nil
	delete(n.payload, "remainMin")
	for _, f := range next {
		if !f.Until.IsZero() && (n.clock == nil || f.Until.Before(n.clock.Until)) {
			n.clock = &posthouse.Clock{Until: f.Until}
		}
	}
	n.payload["nextNodeName"] = namesOf(next)
	if n.clock == nil {
		n.payload["remainMin"] = unlimited // a strict template names it
	}
}

// namesOf lists the names of nodes.
func namesOf(next []following) string {
	var names []string
	for _, f := range next {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// end tells everyone, the initiator too, that the task is over (section 3.4).
func (d *deriver) end() {
	end := d.known.End
	if end == nil {
		return
	}
	n := notice{kind: KindTaskFinished, ref: d.id, to: d.everyone(), payload: d.payload(), extra: end.Payload}
	key := TaskFinishedKey
	if end.Value.Event == workflow.TaskAborted {
		n.kind, key = KindTaskAbnormal, TaskAbnormalKey
	}
	n.payload["finishTime"], n.payload["reason"] = d.local(end.At), end.Value.Reason
	d.add(n, func(channel string) string { return key(d.id, channel) })
}

// orbits reminds everyone of each pass of a satellite (section 3.3). A reminder is worth nothing any more
// when the next one comes.
func (d *deriver) orbits() {
	if d.known.Orbits == nil {
		return
	}
	for _, o := range d.known.Orbits.Value {
		for left := orbitBefore; left >= 0; left -= orbitEvery {
			slot := o.InTime.Add(-left)
			n := notice{
				id:   "@" + moment(o.InTime),
				kind: KindOrbitRemind, ref: d.id, to: d.everyone(), payload: d.payload(), extra: d.known.Orbits.Payload,
				notBefore: slot, deadline: slot.Add(orbitEvery), clock: &posthouse.Clock{Until: o.InTime},
			}
			if left == 0 {
				n.deadline = slot.Add(orbitLast)
			}
			remain := int(left / time.Minute)
			n.payload["orbitId"], n.payload["orbitNo"], n.payload["inTime"], n.payload["remainMin"] = o.ID, o.Number, d.local(o.InTime), remain
			d.add(n, func(channel string) string { return OrbitRemindKey(d.id, o.Number, remain, channel) })
		}
	}
}

// timeouts reminds the people who have to act on a node that takes too long, again and again (section 3.5).
func (d *deriver) timeouts() {
	for i := range d.task.Nodes {
		node := &d.task.Nodes[i]
		number, r := d.known.open(node.ID)
		if r == nil || node.MaxDuration == 0 {
			continue
		}
		due := r.Start.At.Add(minutes(node.MaxDuration))
		n := notice{
			id:   "@" + moment(due),
			kind: KindNodeTimeout, ref: node.ID, payload: d.payload(), extra: r.Start.Payload,
			clock: &posthouse.Clock{Since: due}, repeat: &posthouse.Repeat{From: due, Every: posthouse.Duration(minutes(node.TimeoutRemind))},
		}
		if node.TimeoutRemind == 0 {
			n.repeat.Every, n.repeat.Max = posthouse.Duration(minutes(node.MaxDuration)), 1
		}
		n.payload["nodeInstId"], n.payload["nodeName"] = identifier(node.ID), node.Name
		n.payload["maxDuration"], n.payload["timeoutRemind"] = node.MaxDuration, node.TimeoutRemind
		d.add(n, func(channel string) string { return NodeTimeoutKey(node.ID, channel) + roundMark(number) })
	}
}

// assignees are those who have to act on a node now: of its open work items, or its handlers where none
// are known (section 9). over says that nobody has to any more.
func (k *known) assignees(node string) (to audience, over bool) {
	_, r := k.open(node)
	if r == nil || k.Task == nil || k.End != nil {
		return audience{}, true
	}
	to.nodes = []string{node}
	if r.Items == nil || len(r.Items.Value) == 0 {
		return (&deriver{task: &k.Task.Value}).handlers(to.nodes), false
	}
	for _, item := range r.Items.Value {
		if item.PhaseStatus == 1 {
			to.users = append(to.users, item.Assignee)
		}
	}
	return to, false
}

// node is the task's node of an id. A task that was checked has all that it names.
func (d *deriver) node(id string) *workflow.Node {
	i := slices.IndexFunc(d.task.Nodes, func(n workflow.Node) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &d.task.Nodes[i]
}

// all are the ids of the task's nodes.
func (d *deriver) all() []string {
	var ids []string
	for i := range d.task.Nodes {
		ids = append(ids, d.task.Nodes[i].ID)
	}
	return ids
}

// handlers are those who handle nodes, each named once.
func (d *deriver) handlers(nodes []string) audience {
	to := audience{nodes: nodes}
	for _, id := range nodes {
		if node := d.node(id); node != nil {
			to.roles, to.users = append(to.roles, node.Roles...), append(to.users, node.Users...)
		}
	}
	to.roles, to.users = distinct(to.roles), distinct(to.users)
	return to
}

// everyone are all handlers and the initiator.
func (d *deriver) everyone() audience {
	to := d.handlers(d.all())
	to.users = distinct(append(to.users, d.task.Creator))
	return to
}

// distinct sorts names and drops those that stand twice.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// roundMark tells the rounds of a node apart; the first is the document's own key.
func roundMark(number int) string {
	if number < 2 {
		return ""
	}
	return "#" + strconv.Itoa(number)
}

func moment(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 36) }

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }
